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
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// remoteClaim is a machine of a Cluster that has asked for a host of another cluster.
func remoteClaim(t *testing.T, change ...func(*infrav1.Metal3Machine)) (*tenant, *site, *bmov1alpha1.HostClaim) {
	t.Helper()
	tn, s := newTenantOfSite(t)
	tn.begins(append(change, withIdentityRef)...)
	claim := s.only()
	tn.identity("True/Connected")
	return tn, s, claim
}

// TestIdentityProblems shows a machine and a Metal3Cluster through the troubles of
// their credentials. The machine takes no host of its own cluster meanwhile.
func TestIdentityProblems(t *testing.T) {
	tn := newTenant(t)
	s := newSite(t)
	tn.makeBootstrap("value", "#cloud-config")
	tn.infrastructure(withEndpoint, withHosts)
	tn.machine()
	m := tn.identity("False/SecretNotFound", kubeconfigSecret)
	tn.G.Expect(harness.Condition(m.Status.Conditions, "Ready")).To(gomega.HavePrefix("False"))
	infra := tn.ready(metav1.ConditionFalse, "NotReady")
	tn.G.Expect(infra.Status.Initialization.Provisioned).To(gomega.Equal(ptr.To(true)))
	s.give(tn, func(c *clientcmdapi.Config) {
		c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
			Command: "true", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never",
		}}
	})
	tn.identity("False/ForbiddenKubeconfigFeature")
	s.give(tn, func(c *clientcmdapi.Config) { c.AuthInfos["u"].Token = "wrong" })
	tn.identity("False/Unauthorized")
	tn.noLocalClaim()
	tn.G.Expect(s.claims()).To(gomega.BeEmpty())
	s.give(tn)
	tn.identity("True/Connected")
	tn.ready(metav1.ConditionTrue, "Ready")
	s.only()
}

// TestIdentityMoved shows that a kubeconfig which suddenly leads to another cluster is
// not followed before its owner confirms it.
func TestIdentityMoved(t *testing.T) {
	tn, s, claim := remoteClaim(t)
	other := newSite(t)
	other.give(tn)
	m := tn.identity("False/IdentityMoved", s.Namespace, other.Namespace, infrav1.ConfirmIdentityMoveAnnotation)
	tn.G.Expect(other.claims()).To(gomega.BeEmpty())
	confirm := func(place string) {
		tn.Edit(tn.Named(machineName, m), func() { metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.ConfirmIdentityMoveAnnotation, place) })
	}
	confirm("true")
	tn.identity("False/IdentityMoved")
	s.give(tn)
	tn.identity("True/Connected")
	tn.G.Expect(s.only().UID).To(gomega.Equal(claim.UID))

	other.give(tn)
	tn.identity("False/IdentityMoved")
	confirm(tn.recorded(m).Server + "/" + other.Namespace)
	tn.identity("True/Connected")
	moved := other.only()
	tn.G.Expect(moved.Name).To(gomega.Equal(claim.Name))
	tn.G.Expect(tn.Find(machineName, m)).To(gomega.Succeed())
	tn.G.Expect(tn.recorded(m).Namespace).To(gomega.Equal(other.Namespace))
	tn.G.Expect(m.Annotations[infrav1.OriginKey]).To(gomega.Equal(claim.Labels[infrav1.OriginKey]))
}

// TestIdentityKept shows that a machine keeps the credentials, or the home, that it began with,
// also if its Metal3Cluster has others later.
func TestIdentityKept(t *testing.T) {
	t.Run("in another cluster", func(t *testing.T) {
		tn, s := newTenantOfSite(t)
		tn.makeBootstrap("value", "#cloud-config")
		infra := &infrav1.Metal3Cluster{}
		tn.infrastructure(withEndpoint, withHosts)
		tn.machine()
		s.only()
		tn.deleted(clusterName, infra)
		tn.Edit(tn.Named(clusterName, infra), func() { infra.Finalizers = nil })
		tn.gone(clusterName, infra)
		m := tn.identity("True/Connected", kubeconfigSecret)
		tn.runs(s.tenant)
		tn.leaves(s.tenant, m)
	})
	t.Run("in its own cluster", func(t *testing.T) {
		tn, s := newTenantOfSite(t)
		tn.makeBootstrap("value", "#cloud-config")
		infra := &infrav1.Metal3Cluster{}
		tn.infrastructure(withEndpoint)
		tn.machine()
		tn.claimed()
		tn.Edit(tn.Named(clusterName, infra), func() { infra.Spec.IdentityRef = &infrav1.IdentityReference{Name: kubeconfigSecret} })
		tn.shows(clusterName, infra, "IdentityReady", "True/Connected")
		m := tn.runs(tn)
		tn.G.Expect(harness.Condition(m.Status.Conditions, "IdentityReady")).To(gomega.Equal("True/NotUsed"))
		tn.G.Expect(s.claims()).To(gomega.BeEmpty())
	})
}

// TestIdentityPaused shows that nothing is written to another cluster while the Cluster is
// paused, not even a pause.
func TestIdentityPaused(t *testing.T) {
	tn, s, claim := remoteClaim(t)
	c := &clusterv1.Cluster{}
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = ptr.To(true) })
	m := &infrav1.Metal3Machine{}
	tn.shows(machineName, m, "Paused", "True/Paused")
	s.bind()
	secret := &corev1.Secret{}
	tn.G.Consistently(func() error { return s.Find(s.claim+"-userdata", secret) }, "500ms").ShouldNot(gomega.Succeed())
	now := s.only()
	tn.G.Expect(now.Annotations).NotTo(gomega.HaveKey(clusterv1.PausedAnnotation))
	tn.G.Expect(now.Spec).To(gomega.Equal(claim.Spec))
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = nil })
	s.provision()
	tn.provisioned()
}
