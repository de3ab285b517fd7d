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

package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

func claim(uid types.UID) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: uid}}
}

// naming returns a host that names the claim with a UID; empty for none.
func naming(uid types.UID) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "host-0", UID: "host-uid"}}
	if uid != "" {
		host.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Namespace: "tenant", Name: "machine", UID: uid,
		}
	}
	return host
}

func TestEnds(t *testing.T) {
	tests := map[string]struct {
		before, after client.Object
		want          bool
	}{
		"a claim that changes":                 {claim("a"), claim("a"), false},
		"a claim that was replaced":            {claim("a"), claim("b"), true},
		"a host that gets a claim":             {naming(""), naming("a"), false},
		"a host that keeps its claim":          {naming("a"), naming("a"), false},
		"a host that ceases to name its claim": {naming("a"), naming(""), true},
		"a host that was moved with its claim": {naming("a"), naming("b"), true},
	}
	for name, tt := range tests {
		if got := ends().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
	if ends().Create(event.CreateEvent{Object: claim("a")}) || !ends().Delete(event.DeleteEvent{Object: claim("a")}) {
		t.Error("a claim ends with its deletion, and not with its creation")
	}
}

// seen is a watch that has seen Secrets, by name, and was asked for namespaces.
type seen struct {
	where map[string][]string
	asked []string
}

func (s *seen) Ensure(namespace string)    { s.asked = append(s.asked, namespace) }
func (s *seen) Where(name string) []string { return s.where[name] }

func TestEndOfAClaimLooksAtTheCopiesThatWereSeen(t *testing.T) {
	watch := &seen{where: map[string][]string{
		binding.CopyName("a", binding.UserData): {"infra", "other"}, binding.CopyName("b", binding.UserData): {"infra"},
	}}
	r := &Reconciler{Secrets: watch}
	want := []reconcile.Request{
		request("infra", binding.CopyName("a", binding.UserData)), request("other", binding.CopyName("a", binding.UserData)),
	}
	for name, object := range map[string]client.Object{"the claim": claim("a"), "its host": naming("a")} {
		if diff := cmp.Diff(want, r.toCopies(t.Context(), object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := r.toCopies(t.Context(), naming("")); got != nil {
		t.Errorf("a free host: %v", got)
	}
	r.watchNamespace(t.Context(), claim("a"))
	if diff := cmp.Diff([]string{"tenant"}, watch.asked); diff != "" {
		t.Errorf("namespaces that are watched (-want +got):\n%s", diff)
	}
}

func TestClaimIsFoundByItsSecretsAndCopies(t *testing.T) {
	copied, pull := binding.CopyNames("claim-uid"), "pull"
	claim := claim("claim-uid")
	if diff := cmp.Diff(copied, watch.Index(secrets)(claim)); diff != "" {
		t.Errorf("a claim without secrets (-want +got):\n%s", diff)
	}
	claim.Spec.UserData = &corev1.SecretReference{Name: "boot", Namespace: "ignored"}
	claim.Spec.Image = &bmov1alpha1.Image{OCIAuthSecretName: &pull}
	if diff := cmp.Diff(append(copied, "tenant/boot", "tenant/pull"), watch.Index(secrets)(claim)); diff != "" {
		t.Errorf("a claim with secrets of its namespace (-want +got):\n%s", diff)
	}
	if got := watch.Index(secrets)(&bmov1alpha1.BareMetalHost{}); got != nil {
		t.Errorf("a host is found by %v", got)
	}
}
