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

package remote_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// hardware is what is published for a claim.
func (h hosts) hardware(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HardwareData {
	return &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
		Namespace: h.namespace, Name: claim.Name + infrav1.HardwareDataSuffix,
		Labels: map[string]string{infrav1.ClaimUIDLabel: string(claim.UID)},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Name: claim.Name, UID: claim.UID},
		},
	}}
}

func (h hosts) copied(name, origin string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}, Data: map[string][]byte{"value": []byte("x")}}
	if origin != "" {
		secret.Labels = map[string]string{infrav1.OriginKey: origin}
	}
	return secret
}

func TestSiteReads(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	first, other := h.claim("m-0", "origin-0"), h.claim("other", "")
	server.Create(t, first, other, h.claim("m-1", "origin-1"), h.copied("ours", "origin-0"), h.copied("other", ""))
	foreign := &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "host"}}
	server.Create(t, h.hardware(first), foreign)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	site := w.site(t, w.machine("m-0"), w.ref("infra"))

	t.Run("its target", func(t *testing.T) {
		got := site.Target
		expect.That(t, got.CAHash != "", "the authority is not named")
		got.CAHash = ""
		expect.Equal(t, identity.Target{Server: strings.TrimRight(server.Config.Host, "/"), Namespace: h.namespace}, got)
	})
	t.Run("claims by origin", func(t *testing.T) {
		var claims bmov1alpha1.HostClaimList
		expect.NoError(t, site.Client.List(t.Context(), &claims, client.MatchingFields{remote.OriginIndex: "origin-0"}))
		expect.That(t, len(claims.Items) == 1 && claims.Items[0].Name == "m-0", "found %v", claims.Items)
	})
	t.Run("only claims with an origin", func(t *testing.T) {
		var claims bmov1alpha1.HostClaimList
		expect.NoError(t, site.Client.List(t.Context(), &claims))
		expect.Equal(t, 2, len(claims.Items))
		if err := site.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other.DeepCopy()); !apierrors.IsNotFound(err) {
			t.Errorf("the other claim is in the cache: %v", err)
		}
		expect.NoError(t, site.Live.Get(t.Context(), client.ObjectKeyFromObject(other), other.DeepCopy()))
	})
	t.Run("only published facts", func(t *testing.T) {
		var facts bmov1alpha1.HardwareDataList
		expect.NoError(t, site.Client.List(t.Context(), &facts))
		expect.That(t, len(facts.Items) == 1 && facts.Items[0].Name == "m-0-hostclaim", "found %v", facts.Items)
	})
	t.Run("of Secrets only metadata from the cache", func(t *testing.T) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		expect.NoError(t, site.Client.List(t.Context(), list))
		expect.That(t, len(list.Items) == 1 && list.Items[0].Name == "ours", "found %v", list.Items)
		secret := &corev1.Secret{}
		if err := site.Client.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: "other"}, secret); err != nil || len(secret.Data) == 0 {
			t.Errorf("a whole Secret is not read live: %v", err)
		}
	})
	t.Run("nothing of other namespaces", func(t *testing.T) {
		elsewhere := h.claim("m-2", "origin-2")
		elsewhere.Namespace = w.tenant
		expect.That(t, site.Client.Create(t.Context(), elsewhere) != nil, "a claim was written to another namespace")
	})
}

func TestChangesWakeTheUserOfTheOrigin(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	w.secret(t, "elsewhere", newHosts(t, rules()).kubeconfig(t, "t"))
	claim := h.claim("m-0", "origin-0")
	server.Create(t, claim, h.claim("m-1", "origin-1"))
	for _, name := range []string{"m-0", "m-1", "no-origin"} {
		w.site(t, w.machine(name), w.ref("infra"))
	}
	w.Bind(w.machine("m-0"), "origin-0")
	w.Bind(w.machine("m-1"), "forgotten")
	w.Bind(w.machine("m-1"), "origin-1")
	// A machine with the same origin, but not in that cluster.
	w.Bind(w.machine("elsewhere"), "origin-0")
	w.problem(t, w.machine("elsewhere"), w.ref("elsewhere"), infrav1.IdentityUnauthorizedReason)

	hardware, copied := h.hardware(claim), h.copied("ours", "origin-0")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"the claim changes", func() error {
			before := claim.DeepCopy()
			claim.Annotations = map[string]string{"a": "b"}
			return server.Client.Patch(t.Context(), claim, client.MergeFrom(before))
		}},
		{"facts are published", func() error { return server.Client.Create(t.Context(), hardware) }},
		{"a Secret is copied", func() error { return server.Client.Create(t.Context(), copied) }},
		{"the facts go", func() error { return server.Client.Delete(t.Context(), hardware) }},
		{"the Secret goes", func() error { return server.Client.Delete(t.Context(), copied) }},
		{"the claim goes", func() error { return server.Client.Delete(t.Context(), claim) }},
	} {
		w.forget()
		expect.NoError(t, step.do())
		if got := <-w.woken; got.Name != "m-0" {
			t.Errorf("%s: %s was woken", step.name, got.Name)
		}
	}
	w.forget()
	w.Release(w.machine("m-1"))
	server.Create(t, h.claim("late-1", "origin-1"), h.claim("late-0", "origin-0"))
	if got := <-w.woken; got.Name != "m-0" {
		t.Errorf("%s was woken, which had gone", got.Name)
	}
}

func TestUsersShareConnections(t *testing.T) {
	w, h, f := newWorld(t), newHosts(t, rules()), newFront(t)
	one, other := h.token(t, "one"), h.token(t, "other")
	w.secret(t, "a", h.kubeconfig(t, one, f.leads))
	w.secret(t, "b", h.kubeconfig(t, one, f.leads))
	w.secret(t, "c", h.kubeconfig(t, other, f.leads))
	each := map[string]int{"hostclaims": 1, "hardwaredata": 1, "secrets": 1}
	twice := map[string]int{"hostclaims": 2, "hardwaredata": 2, "secrets": 2}

	users := map[string]remote.User{}
	for name, secret := range map[string]string{"a1": "a", "a2": "a", "b1": "b", "c1": "c"} {
		users[name] = w.machine(name)
		w.site(t, users[name], w.ref(secret))
	}
	eventually(t, "there are two connections", func() bool { return maps.Equal(f.watches(), twice) })
	expect.Equal(t, map[string]float64{"Connected": 2}, w.gauge(t, "capm3_remote_connections"))
	expect.Equal(t, map[string]float64{machineKind: 4}, w.gauge(t, "capm3_remote_users"))

	w.Release(users["c1"])
	eventually(t, "the connection of the last user is closed", func() bool { return maps.Equal(f.watches(), each) })
	w.Release(users["a1"])
	w.Release(users["a2"])
	w.site(t, users["b1"], w.ref("b"))
	if diff := cmp.Diff(each, f.watches()); diff != "" {
		t.Errorf("b still uses it: %s", diff)
	}
	// A user that goes over to other credentials leaves the former ones.
	w.site(t, users["b1"], w.ref("c"))
	eventually(t, "one connection is left", func() bool { return maps.Equal(f.watches(), each) })
	w.Release(users["b1"])
	w.Release(users["b1"])
	eventually(t, "no connection is left", func() bool { return len(f.watches()) == 0 })
	expect.Equal(t, map[string]float64{}, w.gauge(t, "capm3_remote_connections"))
	for _, asked := range f.requests() {
		expect.Must(t, asked.agent == "test", "asked as %q", asked.agent)
	}
}

// A user that joins an open connection is woken too.
func TestSecondSecretOfAReadyConnection(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	token := h.token(t, "bound")
	w.secret(t, "a", h.kubeconfig(t, token))
	w.secret(t, "b", h.kubeconfig(t, token))
	a := w.site(t, w.machine("a"), w.ref("a"))
	expect.That(t, a.Client == w.site(t, w.machine("b"), w.ref("b")).Client, "they have two connections")
}

// The watch of Secrets in a namespace of tenants ends with its last user, where nothing
// else needs it. Users of other kinds keep it, and do not wake the controller of machines.
func TestTheWatchOfSecretsEndsWithTheLastUser(t *testing.T) {
	secrets := secretsFor(t, server.Config)
	w := newWorld(t, func(o *remote.Options) { o.Secrets = secrets })
	h := newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	machine, cluster := w.machine("m"), w.machine("c")
	cluster.Kind = "Metal3Cluster"
	w.Bind(machine, "o")
	w.Bind(cluster, "o")
	_, err := w.Site(cluster, w.ref("infra"))
	expect.Must(t, err != nil, "it is connected at once")
	w.site(t, machine, w.ref("infra"))
	server.Create(t, h.claim("m", "o"))
	if got := <-w.woken; got.Name != "m" {
		t.Errorf("%s was woken", got.Name)
	}
	watched := func() []string { return secrets.Where("infra") }
	eventually(t, "Secrets of the tenant are watched", func() bool { return slices.Equal(watched(), []string{w.tenant}) })
	w.Release(machine)
	expect.That(t, slices.Equal(watched(), []string{w.tenant}), "the cluster needs the watch still")
	w.Release(cluster)
	if got := watched(); len(got) > 0 {
		t.Errorf("Secrets of %v are watched still", got)
	}
}
