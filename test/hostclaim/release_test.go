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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// copies returns what was copied next to the hosts, by kind.
func (w *world) copies() map[string]map[string][]byte {
	list := &corev1.SecretList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(w.infra)))
	out := map[string]map[string][]byte{}
	for _, secret := range list.Items {
		out[secret.Labels["hostclaim.metal3.io/secret-kind"]] = secret.Data
	}
	return out
}

func TestSecretsAreCopiedOnlyAsFarAsNeeded(t *testing.T) {
	w := newWorld(t).withRights().withHosts()
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "infra-network" })
	w.OK(w.Create(w.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "boot"},
		Data:       map[string][]byte{"value": []byte("#cloud-config"), "format": []byte("cloud-config"), "other": []byte("private")},
	}))
	// A secret of the same name in the infrastructure namespace, which the
	// claim names on purpose.
	w.OK(w.Create(w.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "boot"}, Data: map[string][]byte{"value": []byte("of the infrastructure")},
	}))
	w.manager()
	claim := w.claim("machine", withImage("boot"), func(c *bmov1alpha1.HostClaim) { c.Spec.UserData.Namespace = w.infra })
	w.G.Expect(w.nextDrive()).To(gomega.Equal(drive{harness.Drive{URL: osImage, UserData: "#cloud-config", MetaData: "none"}, "host-0"}))
	w.expect("machine", "Ready", "True/Provisioned")

	host, found := w.readHost("host-0"), &corev1.Secret{}
	w.G.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: host.Spec.UserData.Name}, found))
	w.G.Expect(found.Data).To(gomega.Equal(map[string][]byte{"userData": []byte("#cloud-config")}))
	w.G.Expect(found.Labels).To(gomega.Equal(map[string]string{
		"hostclaim.metal3.io/claim-uid": string(claim.UID), "hostclaim.metal3.io/secret-kind": "userdata",
		"hostclaim.metal3.io/host-uid": string(host.UID), "environment.metal3.io": "baremetal",
	}))
	w.G.Expect(found.OwnerReferences).To(gomega.Equal([]metav1.OwnerReference{{
		APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: host.Name, UID: host.UID,
	}}))

	source := &corev1.Secret{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "boot"}, source))
	harness.Change(w.Story, source, func(s *corev1.Secret) { s.Data["value"] = []byte("rotated") })
	w.says(synchronized, "after provisioning had started")
	w.G.Expect(string(w.copies()["userdata"]["userData"])).To(gomega.Equal("#cloud-config"))
}

func TestMissingRightsAreNamedAndAwaited(t *testing.T) {
	w := newWorld(t).withHosts("host-0").withBoot()
	w.manager()
	w.claim("machine", withImage("boot"))
	says := func(parts ...string) {
		w.T.Helper()
		for _, part := range parts {
			w.says(synchronized, part)
		}
	}
	says("may not get secrets in namespace "+w.tenant, "ClusterRole "+sourceSecretsRole)
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), w.tenant, sourceSecretsRole))
	says("secrets in namespace "+w.infra, "ClusterRole "+hostSecretsRole)
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), w.infra, hostSecretsRole))
	w.expect("machine", "Ready", "True/Provisioned")
}

func TestForeignSecretOfTheSameNameIsNotAdopted(t *testing.T) {
	w := newWorld(t).withRights().withHosts().withBoot()
	w.manager()
	// The claim waits for a host, so that the name of the copy can be taken.
	claim := w.claim("machine", withImage("boot"))
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = bmov1alpha1.StateInspecting })
	w.expect("machine", associated, noHost)
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: copyName(claim, "userdata")}, Data: map[string][]byte{"keep": []byte("me")},
	}
	w.OK(w.Create(w.Ctx, foreign))
	w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { s.Provisioning.State = bmov1alpha1.StateAvailable })
	w.says(synchronized, "not ours")
	w.G.Expect(w.readHost("host-0").Spec.Image).To(gomega.BeNil())
	w.OK(w.Get(w.Ctx, client.ObjectKeyFromObject(foreign), foreign))
	w.G.Expect(foreign.Data).To(gomega.Equal(map[string][]byte{"keep": []byte("me")}))
	w.OK(w.Delete(w.Ctx, foreign))
	w.expect("machine", "Ready", "True/Provisioned")
}

// A tenant pauses its claim, strips our finalizer while no manager may look, holds
// the claim with a finalizer of its own, and unpauses it.
func TestTenantWhoStripsTheFinalizerWhilePausedDoesNotKeepTheHost(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
	w.manager()
	claim := w.served()
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		c.Finalizers = append(c.Finalizers, "example.com/keep")
	})
	w.OK(w.Delete(w.Ctx, claim))
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"example.com/keep"} })
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Annotations = nil })
	w.G.Eventually(func() any { return w.readHost("host-0").Spec.ConsumerRef }).Should(gomega.BeNil())
	w.expectNoFacts() // which the garbage collector, that does not run here, would remove with the claim
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil })
	w.expectGone("machine")
	w.expectPristine("host-0")
}

// A namespace that is deleted does not end the pause of its claims, since what is paused
// may be on the move. Who ends the pause frees server and namespace, without any right in it.
func TestPausedClaimOfANamespaceThatGoesIsReleasedWhenThePauseEnds(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
	w.manager()
	claim := w.served()
	harness.Change(w.Story, claim, func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.OK(w.DeleteAllOf(w.Ctx, &rbacv1.RoleBinding{}, client.InNamespace(w.tenant)))
	w.OK(w.Delete(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.tenant}}))
	w.OK(w.Delete(w.Ctx, claim)) // the API server of the tests has no controller of namespaces
	w.G.Consistently(func() *bmov1alpha1.Image { return w.readHost("host-0").Spec.Image }).ShouldNot(gomega.BeNil())
	w.OK(w.Patch(w.Ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`))))
	w.expectGone("machine")
	w.expectPristine("host-0")
}

// TestUnhealthyHostIsMarkedWherePolicyPermits releases the host of a claim that calls it unhealthy. A claim that has
// not used it cannot: a pool is not used up by claims that come and go.
func TestUnhealthyHostIsMarkedWherePolicyPermits(t *testing.T) {
	permit := map[string]string{"hostclaim.metal3.io/allow-unhealthy-mark": "true"}
	for name, tt := range map[string]struct {
		options      map[string]string
		used, marked bool
	}{
		"permitted": {options: permit, used: true, marked: true}, "refused": {used: true}, "not used": {options: permit},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withRights().withBoot()
			w.policy(tt.options, w.tenant)
			w.host("host-0", nil)
			w.manager()
			w.bound(func(c *bmov1alpha1.HostClaim) {
				c.Annotations = map[string]string{"hostclaim.metal3.io/unhealthy": "true"}
				if tt.used {
					withImage("boot")(c)
				}
			})
			if tt.used {
				w.expect("machine", "Ready", "True/Provisioned")
			}
			w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey("capm3.metal3.io/unhealthy"))
			w.end("machine")
			_, marked := w.readHost("host-0").Annotations["capm3.metal3.io/unhealthy"]
			w.G.Expect(marked).To(gomega.Equal(tt.marked))
			w.G.Expect(w.readHost("host-0").Spec.ConsumerRef).To(gomega.BeNil())
		})
	}
}

// TestHostOnTheFastTrackStaysOn follows a server that its administrator keeps on from one claim to
// the next: it is cleaned, and switched on once in all that time.
func TestHostOnTheFastTrackStaysOn(t *testing.T) {
	w := newWorld(t).withRights().withHosts()
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations = map[string]string{"hostclaim.metal3.io/fast-track": "true"}
	})
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	w.manager()
	w.claim("first", withImage("boot"))
	w.expect("first", "Ready", "True/Provisioned")
	<-w.operator.drives
	w.end("first")
	w.G.Expect(<-w.operator.wipes).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))

	w.claim("second", func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false })
	waiting := w.expect("second", synchronized, "True/ConfigurationSynced")
	w.G.Consistently(func() bool { return w.readHost("host-0").Spec.Online }).Should(gomega.BeTrue())
	harness.Change(w.Story, waiting, func(c *bmov1alpha1.HostClaim) {
		c.Spec.PoweredOn = true
		withImage("boot")(c)
	})
	w.expect("second", "Ready", "True/Provisioned")
	<-w.operator.drives
	w.expectQuiet()
}
