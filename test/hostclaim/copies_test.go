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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// pullSecret makes the pull secret of the tenant.
func (w *world) pullSecret(kind corev1.SecretType, key string) *corev1.Secret {
	w.T.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "pull"}, Type: kind, Data: map[string][]byte{key: []byte("{}")},
	}
	w.OK(w.Create(w.Ctx, secret))
	return secret
}

// The type of a secret cannot be changed, so the copy has to be made anew.
func TestPullSecretMayChangeItsType(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
	old := w.pullSecret(corev1.SecretTypeDockercfg, corev1.DockerConfigKey)
	w.manager()
	pull := "pull"
	// Off: the host waits before it writes the image.
	claim := w.claim("machine", withImage("boot"), func(c *bmov1alpha1.HostClaim) {
		c.Spec.PoweredOn = false
		c.Spec.Image.URL, c.Spec.Image.OCIAuthSecretName = "oci://registry.example.com/os", &pull
	})
	kind := func() corev1.SecretType {
		copied := &corev1.Secret{}
		if err := w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: copyName(claim, "ociauth")}, copied); err != nil {
			return ""
		}
		return copied.Type
	}
	w.G.Eventually(kind).Should(gomega.Equal(corev1.SecretTypeDockercfg))
	w.OK(w.Delete(w.Ctx, old))
	w.pullSecret(corev1.SecretTypeDockerConfigJson, corev1.DockerConfigJsonKey)
	w.expect("machine", synchronized, "True/ConfigurationSynced")
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true })
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(kind()).To(gomega.Equal(corev1.SecretTypeDockerConfigJson))
	w.G.Expect(*w.readHost("host-0").Spec.Image.OCIAuthSecretName).To(gomega.Equal(copyName(claim, "ociauth")))
	w.G.Expect(w.copies()).To(gomega.HaveKeyWithValue("ociauth", map[string][]byte{".dockerconfigjson": []byte("{}")}))
}

// A manager that is no leader any more may leave a copy next to a host that has
// gone on to another claim.
func TestCopiesOfFormerClaimsGoWithTheRelease(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0", "host-1")
	w.manager()
	w.claim("machine")
	host := w.readHost(w.expectBound("machine"))
	other := w.readHost(map[string]string{"host-0": "host-1", "host-1": "host-0"}[host.Name])
	leftBehind := func(name string, owner *bmov1alpha1.BareMetalHost, labels map[string]string) *corev1.Secret {
		labels["hostclaim.metal3.io/host-uid"] = string(host.UID)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.infra, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: owner.Name, UID: owner.UID}},
		}}
		w.OK(w.Create(w.Ctx, secret))
		return secret
	}
	marks := func() map[string]string {
		return map[string]string{"hostclaim.metal3.io/claim-uid": "former", "hostclaim.metal3.io/secret-kind": "userdata"}
	}
	stray := leftBehind("stray", host, marks())
	ofAnotherHost := leftBehind("of-another-host", other, marks())
	unmarked := leftBehind("unmarked", host, map[string]string{})
	w.end("machine")
	w.G.Expect(w.Get(w.Ctx, client.ObjectKeyFromObject(stray), stray)).To(gomega.Satisfy(apierrors.IsNotFound))
	w.Read(ofAnotherHost)
	w.Read(unmarked)
}

// A manager that stalled before it created a copy may go on when host and claim
// are long gone, as is the policy that had let the claim in.
func TestCopyOfAClaimThatDoesNotExistIsDeleted(t *testing.T) {
	w := newWorld(t).withRights()
	w.host("host-0", nil)
	left := func(kind binding.SecretKind, claim types.UID) client.Object {
		copied := binding.Copy(&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, UID: claim}},
			w.readHost("host-0"), kind, binding.EmptyNetworkData())
		w.OK(w.Create(w.Ctx, copied))
		return copied
	}
	early := left(binding.UserData, "former")
	w.manager()
	w.AwaitGone(early)

	unbound := w.claim("machine", func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = "other" })
	w.expect("machine", "Associated", "False/NoNamespaceAdmits")
	kept := left(binding.MetaData, unbound.UID)
	late := left(binding.UserData, "former")
	w.AwaitGone(late)
	w.Read(kept)
	w.OK(w.Delete(w.Ctx, unbound))
	w.AwaitGone(kept)
}

// A tenant strips our finalizer of a claim that it holds by its own, and the
// manager dies between freeing the host and tidying up.
func TestNothingIsLeftOfAClaimWhoseHostIsFreeAndFinalizerStripped(t *testing.T) {
	w := newWorld(t).withRights()
	stop := w.manager()
	claim := w.provisioned()
	stop()
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"example.com/keep"} })
	w.OK(w.Delete(w.Ctx, claim))
	// What the last write before the crash left: a host that is free and clean.
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.Image, h.Spec.UserData, h.Spec.NetworkData, h.Spec.Online = nil, nil, nil, false
	})
	w.G.Eventually(func() any { return w.readHost("host-0").Status.Provisioning.State }).Should(gomega.Equal(bmov1alpha1.StateAvailable))
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.ConsumerRef, h.Annotations, h.Labels = nil, nil, nil
		h.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
	})
	w.manager()
	w.G.Eventually(func() int { return len(w.facts()) + len(w.copies()) }).Should(gomega.BeZero())
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Finalizers = nil })
	w.expectGone("machine")
	w.expectPristine("host-0")
}
