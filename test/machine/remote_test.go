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

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestRemoteLife follows a machine whose host is in another cluster, from its claim
// there to the release.
func TestRemoteLife(t *testing.T) {
	tn, s := newTenantOfSite(t)
	tn.makeBootstrap("value", "#cloud-config")
	tn.infrastructure(withEndpoint, withHosts)
	tn.ready(metav1.ConditionTrue, "Ready")
	tn.machine(withTemplate)
	tn.template()

	claim := s.only()
	m := tn.identity("True/Connected")
	origin := m.Annotations[infrav1.OriginKey]
	tn.G.Expect(claim.Labels).To(gomega.HaveKeyWithValue(infrav1.OriginKey, origin))
	tn.G.Expect(claim.OwnerReferences).To(gomega.BeEmpty())
	tn.G.Expect(claim.Spec.ConsumerRef).To(gomega.Equal(&corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: machineName, UID: m.UID,
	}))
	tn.G.Expect(tn.recorded(m).Namespace).To(gomega.Equal(s.Namespace))
	tn.noLocalClaim()

	hostUID := s.bind()
	s.provision()
	m = tn.provisioned()
	tn.G.Expect(m.Spec.ProviderID).To(gomega.Equal("metal3://" + tn.Namespace + "/" + hostName + "/" + machineName))
	tn.G.Expect(m.Status.FailureDomain).To(gomega.Equal("row-1"))
	tn.G.Expect(m.Status.UserData.Name).To(gomega.Equal(bootSecret))
	claim = s.only()
	s.copied(claim.Spec.UserData, claim.UID, "userData", "#cloud-config")
	meta := s.copied(claim.Spec.MetaData, claim.UID, "metaData", "")
	tn.G.Expect(string(meta)).To(gomega.And(
		gomega.ContainSubstring("local-hostname: "+machineName), gomega.ContainSubstring("metal3-namespace: "+tn.Namespace)))

	tn.kubeconfig()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-" + tn.Namespace, Labels: map[string]string{infrav1.NodeUUIDLabel: hostUID}}}
	tn.G.Expect(tn.Create(tn.Ctx, node)).To(gomega.Succeed())
	tn.G.Eventually(func(g gomega.Gomega) {
		g.Expect(tn.Get(tn.Ctx, types.NamespacedName{Name: node.Name}, node)).To(gomega.Succeed())
		g.Expect(node.Spec.ProviderID).To(gomega.Equal(m.Spec.ProviderID))
	}).Should(gomega.Succeed())

	tn.leaves(s.tenant, m)
	tn.noLocalClaim()
}

// TestRemoteSecretsFollow shows that copies are kept up to date and made again.
func TestRemoteSecretsFollow(t *testing.T) {
	tn, s, claim := remoteClaim(t)
	tn.runs(s.tenant)
	copied := s.claim + "-userdata"
	secret := &corev1.Secret{}
	tn.Edit(tn.Named(bootSecret, secret), func() { secret.Data = map[string][]byte{"value": []byte("two")} })
	s.Await(s.Named(copied, secret), func(g gomega.Gomega) { g.Expect(string(secret.Data["userData"])).To(gomega.Equal("two")) })
	tn.G.Expect(s.Delete(s.Ctx, secret)).To(gomega.Succeed())
	s.Await(s.Named(copied, secret), func(g gomega.Gomega) { g.Expect(secret.OwnerReferences[0].UID).To(gomega.Equal(claim.UID)) })
}

// TestRemoteForeignSecret shows that a foreign secret is neither taken over
// nor given to the host, until it is out of the way.
func TestRemoteForeignSecret(t *testing.T) {
	tn, s, _ := remoteClaim(t)
	s.MakeSecret(s.Namespace, s.claim+"-userdata", "userData", "evil")
	s.bind()
	tn.waits("Metal3DataReady", "SecretNotCopied", "-userdata", s.Namespace)
	tn.G.Expect(s.only().Spec.Image).To(gomega.BeNil())
	foreign := &corev1.Secret{}
	tn.G.Expect(s.Find(s.claim+"-userdata", foreign)).To(gomega.Succeed())
	tn.G.Expect(string(foreign.Data["userData"])).To(gomega.Equal("evil"))
	tn.G.Expect(s.Delete(s.Ctx, foreign)).To(gomega.Succeed())
	s.provision()
	tn.provisioned()
}

// copied expects the copy that the claim names to be its own, and returns what it holds.
func (s *site) copied(ref *corev1.SecretReference, owner types.UID, key, want string) []byte {
	secret := &corev1.Secret{}
	s.G.Expect(ref).NotTo(gomega.BeNil())
	s.G.Expect(s.Find(ref.Name, secret)).To(gomega.Succeed())
	s.G.Expect(secret.OwnerReferences).To(gomega.HaveLen(1))
	s.G.Expect(secret.OwnerReferences[0].UID).To(gomega.Equal(owner))
	if want != "" {
		s.G.Expect(string(secret.Data[key])).To(gomega.Equal(want))
	}
	return secret.Data[key]
}

// withTemplate has the metadata of the machine rendered.
func withTemplate(m *infrav1.Metal3Machine) {
	m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: "template"}
}

// template renders one key.
func (tn *tenant) template() {
	tn.Add(&infrav1.Metal3DataTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "template"},
		Spec: infrav1.Metal3DataTemplateSpec{
			ClusterName: ptr.To(clusterName),
			MetaData:    &infrav1.MetaData{Strings: []infrav1.MetaDataString{{Key: "greeting", Value: "hello"}}},
		},
	})
}
