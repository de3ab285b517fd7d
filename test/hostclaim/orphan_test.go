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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	orphanedSince = "hostclaim.metal3.io/orphaned-since"
	releaseNow    = "hostclaim.metal3.io/release"
)

// provisioned makes a claim that has its server, and returns it.
func (w *world) provisioned() *bmov1alpha1.HostClaim {
	w.T.Helper()
	w.policy(nil, w.tenant)
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "infra-network" })
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	claim := w.served()
	w.G.Eventually(w.facts).ShouldNot(gomega.BeEmpty()) // a pass that still publishes would do so after forceAway
	return claim
}

// forceAway takes a claim away without a release of its host, as an administrator
// with all rights can. The garbage collector, which no test server runs, is played
// besides.
func (w *world) forceAway(name string) {
	w.T.Helper()
	claim := w.readClaim(name)
	harness.Change(w.Story, claim, func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
	})
	w.OK(w.Delete(w.Ctx, claim))
	w.G.Eventually(func() error {
		claim := w.readClaim(name)
		before := claim.DeepCopy()
		claim.Finalizers = nil
		return w.Patch(w.Ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}).Should(gomega.Succeed())
	w.expectGone(name)
	w.OK(w.DeleteAllOf(w.Ctx, &bmov1alpha1.HardwareData{}, client.InNamespace(w.tenant)))
}

// expectEvent waits for an event on a host.
func (w *world) expectEvent(host, reason string, note gomega.OmegaMatcher) {
	w.T.Helper()
	w.expectEventOf("BareMetalHost/"+host, reason, note)
}

// expectEventOf waits for an event on an object of the infrastructure.
func (w *world) expectEventOf(object, reason string, note gomega.OmegaMatcher) {
	w.T.Helper()
	w.G.Eventually(func() []string {
		list, notes := &eventsv1.EventList{}, []string(nil)
		w.OK(w.List(w.Ctx, list, client.InNamespace(w.infra)))
		for _, e := range list.Items {
			if e.Regarding.Kind+"/"+e.Regarding.Name == object && e.Reason == reason {
				notes = append(notes, e.Note)
			}
		}
		return notes
	}).Should(gomega.ConsistOf(note))
}

// expectKept checks that a host keeps what its former claim put there.
func (w *world) expectKept(name string) {
	w.T.Helper()
	w.expectRunning(name)
	w.G.Expect(w.copies()).To(gomega.HaveKey("userdata"))
}

// expectRunning checks that a host keeps what was put on it.
func (w *world) expectRunning(name string) {
	w.T.Helper()
	w.G.Consistently(func() bool {
		host := w.readHost(name)
		return host.Spec.ConsumerRef != nil && host.Spec.Image != nil && host.Status.Provisioning.State == bmov1alpha1.StateProvisioned
	}).Should(gomega.BeTrue())
}

// expectFree waits until a host names no claim, and checks that it is clean.
func (w *world) expectFree(name string) {
	w.T.Helper()
	w.G.Eventually(func() any { return w.readHost(name).Spec.ConsumerRef }).Should(gomega.BeNil())
	w.expectPristine(name)
}

func (w *world) annotateHost(name, key string) {
	w.T.Helper()
	harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) { h.Annotations[key] = "by the administrator" })
}

func TestOrphanIsReportedAndKeptDuringTheGrace(t *testing.T) {
	w := newWorld(t).withRights()
	w.manager()
	w.provisioned()
	w.forceAway("machine")
	w.expectEvent("host-0", "Orphaned", gomega.And(
		gomega.ContainSubstring("HostClaim machine of namespace "+w.tenant),
		gomega.ContainSubstring("after a grace of 1h0m0s"), gomega.ContainSubstring(releaseNow)))
	w.G.Expect(w.readHost("host-0").Annotations).To(gomega.HaveKey(orphanedSince))
	w.expectKept("host-0")

	w.annotateHost("host-0", releaseNow)
	w.expectFree("host-0")
	w.expectEvent("host-0", "Freed", gomega.ContainSubstring("does not exist any more"))
}

func TestOrphanIsReleasedWhenTheGraceIsOver(t *testing.T) {
	w := newWorld(t).withRights()
	w.options.OrphanGrace = time.Second
	w.manager()
	w.provisioned()
	w.forceAway("machine")
	w.expectFree("host-0")
	// The host is as good as any other.
	w.claim("next", withImage("boot"))
	w.expectBound("next")
}

func TestHostOfAForcedAwayNamespaceIsReleased(t *testing.T) {
	w := newWorld(t).withRights()
	w.options.OrphanGrace = 0
	stop := w.manager()
	w.provisioned()
	stop()
	w.forceAway("machine")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.tenant}}
	w.OK(w.Delete(w.Ctx, namespace))
	w.OK(w.Get(w.Ctx, client.ObjectKeyFromObject(namespace), namespace))
	namespace.Spec.Finalizers = nil
	clients, err := kubernetes.NewForConfig(server.Config)
	w.OK(err)
	_, err = clients.CoreV1().Namespaces().Finalize(w.Ctx, namespace, metav1.UpdateOptions{})
	w.OK(err)
	w.manager()
	w.expectFree("host-0")
}

func TestOrphanWithANamesakeWaitsForTheAdministrator(t *testing.T) {
	w := newWorld(t).withRights()
	w.options.OrphanGrace = 0
	stop := w.manager()
	old := w.provisioned()
	stop()
	w.forceAway("machine")
	w.claim("machine", withImage("boot"))
	w.manager()
	w.expectEvent("host-0", "OrphanedByNamesake", gomega.And(
		gomega.ContainSubstring(string(old.UID)), gomega.ContainSubstring(releaseNow)))
	waiting := w.expect("machine", associated, noHost)
	w.G.Expect(harness.Message(waiting.Status.Conditions, associated)).To(gomega.Equal("1 host seen: 1 in use"))
	w.expectKept("host-0")

	w.annotateHost("host-0", releaseNow)
	w.expectBound("machine")
	w.G.Expect(w.readHost("host-0").Spec.ConsumerRef.UID).NotTo(gomega.Equal(old.UID))
	w.expect("machine", "Ready", "True/Provisioned")
}

func TestOrphanWaitsForRightsOnSecrets(t *testing.T) {
	w := newWorld(t)
	w.options.OrphanGrace = 0
	w.withHosts("host-0")
	stop := w.manager()
	w.bound()
	stop()
	w.forceAway("machine")
	w.manager()
	w.expectEvent("host-0", "SecretsForbidden", gomega.ContainSubstring("ClusterRole "+hostSecretsRole))
	w.G.Expect(w.readHost("host-0").Spec.ConsumerRef).NotTo(gomega.BeNil())
	w.withRights()
	w.expectFree("host-0")
}

func TestHostThatAnotherControllerBoundIsLeftAlone(t *testing.T) {
	w := newWorld(t).withRights()
	w.options.OrphanGrace = 0
	w.host("host-0", map[string]string{"hostclaim.metal3.io/claim-uid": "of-an-older-claim"}, func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: w.tenant, Name: "theirs", UID: "their-uid"}
	})
	before := w.readHost("host-0")
	w.manager()
	w.G.Consistently(func() string { return w.readHost("host-0").ResourceVersion }).Should(gomega.Equal(before.ResourceVersion))
}

// The administrator of one pool writes the name of a waiting claim, and all marks of a
// bind, on a host that the claim may not have. It would be sent the tenant's data.
func TestForeignConsumerRefIsNotBelieved(t *testing.T) {
	w := newWorld(t).withRights()
	w.host("host-0", nil)
	w.manager()
	claim := w.claim("machine", withImage("boot"))
	w.expect("machine", associated, notAdmitted)
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		*h = *binding.Bind(h, claim)
	})
	w.expectEvent("host-0", "ForeignConsumer", gomega.ContainSubstring("HostClaim machine of namespace "+w.tenant))
	before := w.readHost("host-0")

	// A policy that admits the namespace gives the claim no right to this host either.
	w.policy(nil, w.tenant)
	waits := w.expect("machine", associated, noHost)
	w.G.Expect(harness.Message(waits.Status.Conditions, associated)).To(gomega.HavePrefix("1 host seen: 1 in use"))
	w.G.Consistently(func() string { return w.readHost("host-0").ResourceVersion }).Should(gomega.Equal(before.ResourceVersion))
	w.G.Expect(w.copies()).To(gomega.BeEmpty())
	w.end("machine")
}

func TestMarksThatStrayOnAFreeHostAreTidied(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0")
	stop := w.manager()
	w.bound()
	stop()
	// An administrator takes the consumerRef away by hand; the claim notices the loss.
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil })
	w.manager()
	w.expect("machine", associated, "False/MissingBareMetalHost")
	w.G.Consistently(func() map[string]string { return w.readHost("host-0").Labels }).Should(gomega.HaveKey("hostclaim.metal3.io/claim-uid"))
	w.end("machine")
	w.G.Eventually(func() map[string]string { return w.readHost("host-0").Labels }).ShouldNot(gomega.HaveKey("hostclaim.metal3.io/claim-uid"))
	w.expectPristine("host-0")
}
