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

package orphan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// setup returns a reconciler with an hour of grace in front of a fake API server.
func setup(t *testing.T, objects ...client.Object) (*Reconciler, *events.FakeRecorder) {
	t.Helper()
	scheme := runtime.NewScheme()
	expect.NoError(t, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	recorder := events.NewFakeRecorder(100)
	releaser := claim.Releaser{Client: c, Live: c, Secrets: unwatched{}, Clock: clocktesting.NewFakePassiveClock(lost)}
	return &Reconciler{Releaser: releaser, Recorder: recorder, Grace: time.Hour}, recorder
}

// unwatched is a watch on Secrets that sees nothing.
type unwatched struct{}

func (unwatched) Ensure(string) {}

// pass reconciles a host and returns the events of that.
func pass(t *testing.T, r *Reconciler, recorder *events.FakeRecorder, of *bmov1alpha1.BareMetalHost) (told []string) {
	t.Helper()
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(of)})
	expect.Must(t, err == nil, "%v", err)
	for len(recorder.Events) > 0 {
		event := <-recorder.Events
		told = append(told, strings.Join(strings.Fields(event)[:2], " "))
	}
	return told
}

func TestEachStepIsToldWhereItHappens(t *testing.T) {
	orphan := host()
	r, recorder := setup(t, orphan)
	at := func(after time.Duration) { r.Clock = clocktesting.NewFakePassiveClock(lost.Add(after)) }
	report := func(change func(*bmov1alpha1.BareMetalHost)) {
		t.Helper()
		now := &bmov1alpha1.BareMetalHost{}
		expect.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(orphan), now))
		before := now.DeepCopy()
		change(now)
		expect.NoError(t, r.Client.Patch(t.Context(), now, client.MergeFrom(before)))
	}
	for _, step := range []struct {
		what   string
		happen func()
		want   []string
	}{
		{"the mark", func() {}, nil},
		{"the grace", func() {}, []string{"Warning Orphaned"}},
		{"the end of the grace", func() { at(time.Hour) }, []string{"Normal ReleasingOrphan"}},
		{"the wait for the host", func() {}, nil},
		{"an obstacle", func() { report(func(h *bmov1alpha1.BareMetalHost) { h.Status.ErrorMessage = "broken" }) }, []string{"Warning HostInError"}},
		{"a host at rest", func() { report(func(h *bmov1alpha1.BareMetalHost) { idle(h); h.Status.ErrorMessage = "" }) }, []string{"Normal Freed"}},
		{"the free host", func() {}, nil},
	} {
		step.happen()
		t.Run(step.what, func(t *testing.T) { expect.Equal(t, step.want, pass(t, r, recorder, orphan)) })
	}
}

func TestOrphansAreCounted(t *testing.T) {
	named := func(namespace, name string, changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
		h := host(changes...)
		h.Namespace, h.Name = namespace, name
		return h
	}
	withClaim := func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.ConsumerRef.Name, h.Spec.ConsumerRef.UID = "kept", "kept-uid"
	}
	kept := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "kept", UID: "kept-uid"}}
	r, _ := setup(t, kept, named("infra", "a"), named("infra", "b", since(lost)), named("infra", "c", withClaim),
		named("other", "d", cleared, unnamed), named("released", "e", cleared))
	want := `
# HELP hostclaim_orphaned_hosts Hosts whose HostClaim does not exist any more.
# TYPE hostclaim_orphaned_hosts gauge
hostclaim_orphaned_hosts{namespace="infra"} 2
hostclaim_orphaned_hosts{namespace="released"} 1
`
	expect.NoError(t, testutil.CollectAndCompare(r, strings.NewReader(want)))

	// Rights on the secrets of a namespace wake the hosts that are being released, a secret wakes none.
	for namespace, want := range map[string]int{"infra": 0, "released": 1} {
		if got := r.SecretToHosts(t.Context(), namespace, ""); len(got) != want {
			t.Errorf("rights in namespace %s wake %v, want %d", namespace, got, want)
		}
	}
	if got := r.SecretToHosts(t.Context(), "released", "boot"); got != nil {
		t.Errorf("a secret wakes %v", got)
	}
}

func TestWhatWakesAHost(t *testing.T) {
	free, taken, stray := &bmov1alpha1.BareMetalHost{}, host(), host(unnamed)
	predicate := ours()
	for name, tt := range map[string]struct {
		before, after *bmov1alpha1.BareMetalHost
		want          bool
	}{
		"a free host is left alone":          {free, free, false},
		"a host that is bound":               {free, taken, true},
		"a host that ceases to name a claim": {taken, free, true},
		"a stray":                            {stray, stray, true},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, predicate.Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}))
		})
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, predicate.Create(event.CreateEvent{Object: tt.after}) || predicate.Delete(event.DeleteEvent{Object: tt.before}))
		})
	}
	for name, tt := range map[string]struct {
		change func(*bmov1alpha1.HostClaim)
		want   bool
	}{
		"a claim that changes":                                 {func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true }, false},
		"a claim that was replaced while the watch was broken": {func(c *bmov1alpha1.HostClaim) { c.UID = "v" }, true},
		"a claim that names another class":                     {func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.ClassLabel: "large"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{UID: "u"}}
			after := before.DeepCopy()
			tt.change(after)
			expect.Equal(t, tt.want, comesOrGoes().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
		})
	}
}

func TestTraces(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{UID: "other-uid"}}
	free := &bmov1alpha1.BareMetalHost{}
	for name, tt := range map[string]struct {
		of   client.Object
		want []string
	}{
		"a free host by nothing":                             {free, nil},
		"a bound host by its claim":                          {host(), []string{"tenant/machine"}},
		"a host that names no claim any more by its label":   {host(unnamed), []string{"claim-uid"}},
		"a host with the traces of two claims by both":       {binding.FencedHost(host(unnamed), claim), []string{"claim-uid", "other-uid"}},
		"a host with a fence by the claim that put it there": {binding.FencedHost(free, claim), []string{"other-uid"}},
		"a claim not as a host":                              {claim, nil},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, watch.Index(traces)(tt.of), cmpopts.EquateEmpty()) })
	}
}
