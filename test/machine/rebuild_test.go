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

package machine

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestServerIsWrittenAnew rebuilds the server of a machine, which stays what it is.
func TestServerIsWrittenAnew(t *testing.T) { hereAndThere(t, (*tenant).rebuilds) }

// rebuilds plays the rebuild. The holder is where the claim is.
func (tn *tenant) rebuilds(holder *tenant, change ...func(*infrav1.Metal3Machine)) {
	tn.makeBootstrap("value", "#cloud-config 1")
	tn.cluster()
	tn.machine(change...)
	claim := holder.only()
	m := tn.runs(holder)
	before := m.DeepCopy()

	tn.Edit(tn.Named(machineName, m), func() {
		m.Spec.Image.URL = "http://images.example/next.qcow2"
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.RebuildAnnotation, "next")
	})
	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) {
		g.Expect(claim.Annotations).To(gomega.HaveKeyWithValue(infrav1.RebuildAnnotation, "next"))
		g.Expect(claim.Spec.Image.URL).To(gomega.Equal(m.Spec.Image.URL))
		g.Expect(claim.Spec.PoweredOn).To(gomega.BeFalse())
	})
	tn.waits("HostClaimReady", "Rebuilding")
	tn.waits("Ready", "Rebuilding")
	secret := &corev1.Secret{}
	tn.Edit(tn.Named(bootSecret, secret), func() { secret.Data = map[string][]byte{"value": []byte("#cloud-config 2")} })
	holder.emptied()

	holder.Await(holder.Named(holder.claim, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.PoweredOn).To(gomega.BeTrue()) })
	holder.G.Expect(holder.Find(claim.Spec.UserData.Name, secret)).To(gomega.Succeed())
	holder.G.Expect(secret.Data).To(gomega.ContainElement([]byte("#cloud-config 2")))
	holder.provision()
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) {
		g.Expect(m.Annotations).To(gomega.HaveKeyWithValue(infrav1.RebuiltAnnotation, "next"))
		g.Expect(harness.Condition(m.Status.Conditions, "Ready")).To(gomega.HavePrefix("True"))
	})
	tn.G.Expect(m.Spec.ProviderID).To(gomega.Equal(before.Spec.ProviderID))
	tn.G.Expect(m.Status.Addresses).To(gomega.Equal(before.Status.Addresses))
	tn.G.Expect(holder.only().UID).To(gomega.Equal(claim.UID))
}

// emptied has the host of the claim wiped, to be written anew.
func (tn *tenant) emptied() {
	tn.claimStatus(func(*bmov1alpha1.HostClaim) {},
		metav1.Condition{Type: "Synchronized", Status: metav1.ConditionTrue, Reason: "ConfigurationSynced"},
		metav1.Condition{Type: "AvailableForProvisioning", Status: metav1.ConditionTrue, Reason: "Available"},
		metav1.Condition{Type: "Provisioned", Status: metav1.ConditionFalse, Reason: "NotProvisioned"})
}

// hereAndThere plays a story with the claim in the namespace of its machine, and in another cluster. The
// story is given who holds the claim.
func hereAndThere(t *testing.T, play func(tn, holder *tenant, change ...func(*infrav1.Metal3Machine))) {
	t.Helper()
	t.Run("with hosts in its namespace", func(t *testing.T) {
		tn := newTenant(t)
		play(tn, tn)
	})
	t.Run("with hosts in another cluster", func(t *testing.T) {
		tn, s := newTenantOfSite(t)
		play(tn, s.tenant, withIdentityRef)
	})
}
