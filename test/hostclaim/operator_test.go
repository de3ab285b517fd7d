/*
Copyright 2026 The Metal3 HostClaim provider authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package hostclaim

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// operator plays baremetal-operator for the hosts of one namespace: it watches
// them and moves their status one state at a time. A paused host stays as it is.
//
// As it sees every version of every host, it also minds what must never happen.
type operator struct {
	t      *testing.T
	client client.WithWatch
	// drives are what the servers got to boot from, as writing began.
	drives chan drive
	// reboots are the values of the one-shot reboots that were carried out, and
	// wipes the cleaning modes of the hosts as they were deprovisioned.
	reboots chan string
	wipes   chan bmov1alpha1.AutomatedCleaningMode
	// consumers are the claims that the hosts name, as last seen.
	consumers map[string]types.UID
	// moved are hosts that were made anew since they were bound, as last seen: their claim
	// has another UID as well.
	moved map[string]bool
	// switched counts the changes of power.
	switched atomic.Int32
}

// heldBack is an annotation of hosts that the operator leaves as they are, so that
// a story can hold them in any state.
const heldBack = "example.com/held-back"

// drive is what a server got to boot from.
type drive struct {
	harness.Drive

	host string
}

func startOperator(t *testing.T, namespace string) *operator {
	t.Helper()
	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	expect.NoError(t, err)
	o := &operator{
		t: t, client: c, drives: make(chan drive, 100), reboots: make(chan string, 100),
		wipes: make(chan bmov1alpha1.AutomatedCleaningMode, 100), consumers: map[string]types.UID{}, moved: map[string]bool{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := harness.FollowHosts(ctx, c, func(event watch.EventType, host *bmov1alpha1.BareMetalHost) error {
		if o.mind(host); event == watch.Deleted {
			delete(o.consumers, host.Name) // one that is made under its name is another host
		}
		return o.step(ctx, host)
	}, client.InNamespace(namespace))
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return o
}

// mind reports two hosts of one claim, a host that goes from one claim to
// another without being free between, and one that is freed before it is clean.
func (o *operator) mind(host *bmov1alpha1.BareMetalHost) {
	before, now := o.consumers[host.Name], types.UID("")
	if host.Spec.ConsumerRef != nil {
		now = host.Spec.ConsumerRef.UID
	}
	delete(o.consumers, host.Name)
	if binding.OfMachine(host) {
		return // CAPM3 has it, still or again
	}
	for other, consumer := range o.consumers {
		expect.That(o.t, now == "" || consumer != now, "claim %s has hosts %s and %s at once", now, host.Name, other)
	}
	o.consumers[host.Name] = now
	defer func() {
		o.moved[host.Name] = host.Annotations[boundAs] != "" && host.Annotations[boundAs] != string(host.UID)
	}()
	status := host.Status.Provisioning
	_, uncleaned := host.Annotations[uncleanedKey]
	switch {
	case before != "" && now == "" && uncleaned:
		o.t.Errorf("host %s was freed without having been cleaned", host.Name)
	case before != "" && now != "" && before != now && !o.moved[host.Name]:
		o.t.Errorf("host %s went from claim %s to %s", host.Name, before, now)
	case before != "" && now == "" && (status.State != bmov1alpha1.StateAvailable || status.Image.URL != "" || host.Spec.Image != nil):
		o.t.Errorf("host %s was freed in state %q with image %q", host.Name, status.State, status.Image.URL)
	}
}

// step moves a host one state on.
func (o *operator) step(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	if _, paused := host.Annotations[bmov1alpha1.PausedAnnotation]; paused {
		return nil
	}
	if _, held := host.Annotations[heldBack]; held {
		return nil
	}
	if !host.DeletionTimestamp.IsZero() {
		o.wipes <- host.Spec.AutomatedCleaningMode
		return nil
	}
	if done, err := o.restore(ctx, host); done {
		return err
	}
	if done, err := o.reboot(ctx, host); done {
		return err
	}
	before := host.DeepCopy()
	harness.Proceed(host, func() { o.drives <- drive{harness.ReadDrive(ctx, o.client, host), host.Name} },
		func() { o.wipes <- host.Spec.AutomatedCleaningMode })
	if on := host.Spec.Online && !heldOff(host); on != host.Status.PoweredOn {
		host.Status.PoweredOn = on
		o.switched.Add(1)
	}
	if !equality.Semantic.DeepEqual(host.Status, before.Status) {
		host.Status.LastUpdated = &metav1.Time{Time: time.Now()}
	}
	return o.client.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// restore brings the status of a host back from its annotation, and takes off an
// annotation that is not needed, as baremetal-operator does when it first sees a host.
func (o *operator) restore(ctx context.Context, host *bmov1alpha1.BareMetalHost) (done bool, err error) {
	text, found := host.Annotations[bmov1alpha1.StatusAnnotation]
	switch before := host.DeepCopy(); {
	case host.Status.Provisioning.State == bmov1alpha1.StateNone && text != "":
		// The hardware comes from baremetal-operator's own HardwareData, which nothing plays here.
		text = strings.TrimSuffix(text, "}") + fmt.Sprintf(`,"hardware":{"hostname":%q,"ramMebibytes":1024}}`, host.Name)
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":%s}`, host.ResourceVersion, text)
		return true, o.client.Status().Patch(ctx, host, client.RawPatch(types.MergePatchType, []byte(patch)))
	case host.Status.Provisioning.State == bmov1alpha1.StateNone && host.Annotations[boundAs] != "":
		o.t.Errorf("host %s is bound, and would be inspected like a new one", host.Name)
		return true, nil
	case found:
		delete(host.Annotations, bmov1alpha1.StatusAnnotation)
		return true, o.client.Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	default:
		return false, nil
	}
}
