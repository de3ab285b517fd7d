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
	"maps"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	oneShotKey  = "reboot.metal3.io"
	heldPrefix  = "reboot.metal3.io/hostclaim."
	requestKey  = "hostclaim.metal3.io/reboot-request"
	rebuildKey  = "hostclaim.metal3.io/rebuild"
	provisioned = "Provisioned"
)

// reboot plays what baremetal-operator 0.13 does with reboot annotations: it
// takes all of them away while it provisions or deprovisions, and a one-shot when
// it has rebooted a provisioned host.
func (o *operator) reboot(ctx context.Context, host *bmov1alpha1.BareMetalHost) (done bool, err error) {
	next := host.DeepCopy()
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioning, bmov1alpha1.StateDeprovisioning:
		maps.DeleteFunc(next.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, oneShotKey) })
	case bmov1alpha1.StateProvisioned:
		delete(next.Annotations, oneShotKey)
	}
	if maps.Equal(next.Annotations, host.Annotations) {
		return false, nil
	}
	before := client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{})
	if err := o.client.Patch(ctx, next, before); err != nil {
		return true, err
	}
	if value, found := host.Annotations[oneShotKey]; found && host.Status.Provisioning.State == bmov1alpha1.StateProvisioned {
		o.reboots <- value
	}
	return true, nil
}

// heldOff reports whether a provisioned host is held off by a reboot annotation.
func heldOff(host *bmov1alpha1.BareMetalHost) bool {
	if host.Status.Provisioning.State != bmov1alpha1.StateProvisioned {
		return false
	}
	for key := range host.Annotations {
		if strings.HasPrefix(key, oneShotKey+"/") {
			return true
		}
	}
	return false
}

// annotate sets an annotation of a claim; an empty object takes it away.
func (w *world) annotate(claim, key, value string) {
	w.T.Helper()
	harness.Change(w.Story, w.readClaim(claim), func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) })
}

func (w *world) unannotate(claim, key string) {
	w.T.Helper()
	harness.Change(w.Story, w.readClaim(claim), func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, key) })
}

// one gets the next of what the operator has done, and none wants that there is
// no other for a while.
func one[T any](w *world, done chan T) T {
	w.T.Helper()
	var got T
	w.G.Eventually(done).Should(gomega.Receive(&got))
	return got
}

func none[T any](w *world, done chan T) {
	w.T.Helper()
	w.G.Consistently(done).ShouldNot(gomega.Receive())
}

// running is a world with a manager and a claim whose host is provisioned.
func running(t *testing.T) *world {
	t.Helper()
	return runningUnder(t, nil)
}

// runningUnder is running with annotations on the policy.
func runningUnder(t *testing.T, annotations map[string]string) *world {
	t.Helper()
	w := newWorld(t).withRights().withBoot()
	w.policy(annotations, w.tenant)
	w.host("host-0", nil)
	w.manager()
	w.served()
	one(w, w.operator.drives)
	return w
}

func TestOneShotRebootWaitsForTheHostAndFiresOnce(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	w.manager()
	w.bound()
	w.annotate("machine", oneShotKey, `{"mode":"hard"}`)
	w.G.Eventually(func() map[string]string { return w.readClaim("machine").Annotations }).Should(gomega.HaveKey(requestKey))
	w.annotate("machine", oneShotKey, "") // a second one waits
	w.says(synchronized, "until the host is provisioned")
	w.expect("machine", synchronized, "True/ConfigurationSynced")
	w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(oneShotKey))

	harness.Change(w.Story, w.readClaim("machine"), withImage("boot"))
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(one(w, w.operator.reboots)).To(gomega.ContainSubstring(`"mode":"hard"`))
	w.G.Expect(one(w, w.operator.reboots)).NotTo(gomega.ContainSubstring("mode"))
	w.G.Eventually(func() map[string]string { return w.readClaim("machine").Annotations }).
		ShouldNot(gomega.Or(gomega.HaveKey(requestKey), gomega.HaveKey(oneShotKey)))
	none(w, w.operator.reboots)
	w.givenBack("host-0")
}

func TestRebootsOfOthersStayAndAreWaitedFor(t *testing.T) {
	w := running(t)
	// The host is kept from rebooting, so that the administrator's one-shot stays.
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations[bmov1alpha1.PausedAnnotation] = ""
	})
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations[oneShotKey], h.Annotations[oneShotKey+"/remediation"] = `{"mode":"soft"}`, ""
	})
	w.annotate("machine", oneShotKey, "")
	w.annotate("machine", oneShotKey+"/fencing", "")
	w.G.Eventually(func() map[string]string { return w.readClaim("machine").Annotations }).Should(gomega.HaveKey(requestKey))
	w.G.Consistently(func() string { return w.readHost("host-0").Annotations[oneShotKey] }).Should(gomega.Equal(`{"mode":"soft"}`))
	w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(heldPrefix + "fencing"))
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, bmov1alpha1.PausedAnnotation) })
	w.G.Expect(one(w, w.operator.reboots)).To(gomega.Equal(`{"mode":"soft"}`))
	w.G.Expect(one(w, w.operator.reboots)).To(gomega.ContainSubstring("hostclaim"))
	none(w, w.operator.reboots)
	w.G.Expect(w.readHost("host-0").Annotations).To(gomega.HaveKey(oneShotKey + "/remediation"))
}

func TestHeldRebootIsMirroredRestoredAndTakenBack(t *testing.T) {
	w := running(t)
	on := func() bool { return w.readClaim("machine").Status.PoweredOn }
	annotations := func() map[string]string { return w.readHost("host-0").Annotations }
	w.annotate("machine", oneShotKey+"/fencing", `{"mode":"hard"}`)
	w.G.Eventually(annotations).Should(gomega.HaveKeyWithValue(heldPrefix+"fencing", `{"mode":"hard"}`))
	w.G.Eventually(on).Should(gomega.BeFalse())

	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		delete(h.Annotations, heldPrefix+"fencing")
		h.Annotations[oneShotKey+"/remediation"] = ""
	})
	w.G.Eventually(annotations).Should(gomega.HaveKey(heldPrefix + "fencing"))

	w.unannotate("machine", oneShotKey+"/fencing")
	w.G.Eventually(annotations).ShouldNot(gomega.HaveKey(heldPrefix + "fencing"))
	w.G.Consistently(annotations).Should(gomega.HaveKey(oneShotKey + "/remediation"))
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, oneShotKey+"/remediation") })
	w.G.Eventually(on).Should(gomega.BeTrue())
}

func TestWhatIsRefusedKeepsNothingElseFromItsWay(t *testing.T) {
	tests := map[string]struct{ key, value, reason, says string }{
		"a reboot that cannot be understood": {oneShotKey, "hard", "InvalidRebootAnnotation", oneShotKey},
		"a token that is too long":           {rebuildKey, strings.Repeat("x", 64), "InvalidRebuildAnnotation", "63"},
		"a detached host":                    {bmov1alpha1.DetachedAnnotation, "", "DetachRefused", "remove it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := running(t)
			w.annotate("machine", tt.key, tt.value)
			refused := w.expect("machine", synchronized, "False/"+tt.reason, tt.says)
			harness.Change(w.Story, refused, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false })
			w.G.Eventually(func() bool { return w.readHost("host-0").Spec.Online }).Should(gomega.BeFalse())
			w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(tt.key + "x"))
			w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(bmov1alpha1.DetachedAnnotation))
			none(w, w.operator.reboots)
			w.unannotate("machine", tt.key)
			w.expect("machine", synchronized, "True/ConfigurationSynced")
		})
	}
}
