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

package tenant

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const aliceSecret = "#cloud-config of alice"

// The name of a secret of another tenant gets an attacker nothing, neither with the
// namespace, which is refused, nor without, which is one's own.
func TestTenantCannotReadAnotherTenantsSecretByReference(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	w.MakeSecret(w.alice, "boot", "value", aliceSecret)
	w.MakeSecret(w.infra, "bmc", "value", "password of the BMC")
	for _, target := range []corev1.SecretReference{{Namespace: w.alice, Name: "boot"}, {Namespace: w.infra, Name: "bmc"}} {
		for field, set := range map[string]func(*bmov1alpha1.HostClaimSpec){
			"userData":    func(s *bmov1alpha1.HostClaimSpec) { s.UserData = &target },
			"metaData":    func(s *bmov1alpha1.HostClaimSpec) { s.MetaData = &target },
			"networkData": func(s *bmov1alpha1.HostClaimSpec) { s.NetworkData = &target },
		} {
			w.refused(mallory.Create(w.Ctx, builder.Claim(client.ObjectKey{Namespace: w.mallory, Name: "thief"}, func(c *bmov1alpha1.HostClaim) { set(&c.Spec) })),
				"spec."+field+".namespace is \""+target.Namespace+"\"", "leave namespace out")
		}
		w.forbidden(mallory.Get(w.Ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, &corev1.Secret{}))
	}
	thief := w.attack("thief", withImage(goodURL, "boot"))
	w.bound(thief)
	w.expect(thief, synchronized, "False/"+bmov1alpha1.BadUserDataSecretReason)
	w.refused(change(w, mallory, thief, func(c *bmov1alpha1.HostClaim) { c.Spec.UserData.Namespace = w.alice }), "spec.userData.namespace")
	w.untold(host)
	w.G.Expect(w.copies()).To(gomega.BeEmpty())
}

// Nor does a path in the name, be it of a secret of the infrastructure.
func TestTenantCannotReachASecretByAPathInItsName(t *testing.T) {
	w := newPool(t, nil)
	w.MakeSecret(w.alice, "boot", "value", aliceSecret)
	names := []string{"../" + w.alice + "/boot", "..", ".", "../../" + w.alice + "/secrets/boot", "boot?x=y", "boot%2f", "BOOT"}
	thieves, keys := make([]*bmov1alpha1.HostClaim, len(names)), make([]client.ObjectKey, len(names))
	for i, name := range names {
		keys[i] = w.host(fmt.Sprintf("host-%d", i))
		thieves[i] = w.attack(fmt.Sprintf("thief-%d", i), withImage(goodURL, name))
	}
	for i, thief := range thieves {
		w.bound(thief)
		w.expect(thief, synchronized, "False/"+bmov1alpha1.BadUserDataSecretReason, fmt.Sprintf("no secret can be named %q", names[i]))
	}
	w.untold(keys...)
	w.G.Expect(w.copies()).To(gomega.BeEmpty())
}

func TestTenantCannotUseAnotherTenantsPullSecretByOCIAuthSecretName(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	for _, namespace := range []string{w.alice, w.infra} {
		w.OK(server.Client.Create(w.Ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pull"},
			Type:       corev1.SecretTypeDockerConfigJson,
			Data:       map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"secret.example":{}}}`)},
		}))
	}
	name := "pull"
	thief := w.attack("thief", func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: "oci://good.example/os:1", OCIAuthSecretName: &name}
	})
	w.bound(thief)
	w.expect(thief, synchronized, "False/OCIAuthSecretSyncFailure")
	w.untold(host)
	w.G.Expect(w.copies()).To(gomega.BeEmpty())
}

// The network data that the infrastructure keeps for a host has its addresses, and
// passwords at times. It would reach a server that is given none.
func TestPreprovisioningNetworkDataIsNotLeakedToTheServerOfATenant(t *testing.T) {
	w := newPool(t, nil)
	w.MakeSecret(w.infra, "nic", "networkData", "network of the infrastructure")
	host := w.host("host-0", func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "nic" })
	spy := w.attack("spy", withImage(goodURL, ""))
	w.ready(spy)
	w.G.Expect(hosts.booted(host)).To(gomega.Equal([]harness.Drive{{URL: goodURL, UserData: "none", MetaData: "none"}}))
	w.end(mallory, spy)

	spy = w.attack("spy", withImage(goodURL, ""), func(c *bmov1alpha1.HostClaim) {
		c.Spec.NetworkData = &corev1.SecretReference{Name: "nic"}
	})
	w.bound(spy)
	w.expect(spy, synchronized, "False/"+bmov1alpha1.BadNetworkDataSecretReason)
	w.G.Expect(hosts.booted(host)).To(gomega.HaveLen(1))
}

// Copies next to hosts are named after the UID of their claim, which a tenant
// cannot choose. One that names its own objects like them hits nothing.
func TestTenantNamingItsObjectsLikeAnothersCopiesOverwritesNothing(t *testing.T) {
	w := newPool(t, nil, "host-0", "host-1")
	w.MakeSecret(w.alice, "boot", "value", aliceSecret)
	victim := w.defend("machine", withImage(goodURL, "boot"))
	w.ready(victim)
	name := binding.CopyName(victim.UID, binding.UserData)
	w.G.Expect(w.copies()).To(gomega.HaveKeyWithValue(name, aliceSecret))

	w.OK(mallory.Create(w.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.mallory, Name: name,
			Labels: map[string]string{uidLabel: string(victim.UID), "hostclaim.metal3.io/secret-kind": "userdata"},
		},
		Data: map[string][]byte{"value": []byte("of mallory")},
	}))
	twin := w.attack(name, withImage(goodURL, name), func(c *bmov1alpha1.HostClaim) {
		c.UID = victim.UID
		c.Labels = map[string]string{uidLabel: string(victim.UID)}
	})
	w.ready(twin)
	w.G.Expect(twin.UID).NotTo(gomega.Equal(victim.UID))
	w.G.Expect(w.copies()).To(gomega.Equal(map[string]string{
		name: aliceSecret, binding.CopyName(twin.UID, binding.UserData): "of mallory",
	}))
	w.end(mallory, twin)
	w.G.Expect(w.copies()).To(gomega.Equal(map[string]string{name: aliceSecret}))
	w.ready(victim)
}

// What lies next to the hosts is out of reach, for reading and for writing.
func TestTenantCannotTouchWhatLiesNextToTheHosts(t *testing.T) {
	w, host := newPoolWithHost(t, nil)
	w.MakeSecret(w.mallory, "boot", "value", "of mallory")
	claim := w.attack("machine", withImage(goodURL, "boot"))
	w.ready(claim)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: binding.CopyName(claim.UID, binding.UserData)}}
	merge := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
	for _, target := range []client.Object{
		own, &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: host.Namespace, Name: host.Name}},
		&bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "policy"}},
	} {
		w.forbidden(mallory.Get(w.Ctx, client.ObjectKeyFromObject(target), target))
		w.forbidden(mallory.Patch(w.Ctx, target, merge))
		w.forbidden(mallory.Delete(w.Ctx, target))
	}
	w.forbidden(mallory.List(w.Ctx, &corev1.EventList{}, client.InNamespace(w.infra)))
	w.G.Expect(slices.Collect(maps.Keys(w.copies()))).To(gomega.Equal([]string{own.Name}))
	w.ownedBy(host, claim)
}
