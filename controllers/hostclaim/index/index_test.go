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

package index

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

func newClaim() *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: "claim-uid"}}
}

func newHost(namespace string) *bmov1alpha1.BareMetalHost {
	return &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "host-0", UID: "host-uid"}}
}

// found is all that an object is found by, by index.
func found(indexes map[string]client.IndexerFunc, object client.Object) map[string][]string {
	out := map[string][]string{}
	for field, values := range indexes {
		if got := values(object); len(got) > 0 {
			out[field] = got
		}
	}
	return out
}

func TestHosts(t *testing.T) {
	claim := newClaim()
	tookAlong := binding.Bind(newHost("tenant"), claim)
	tookAlong.UID = "new-uid"
	for name, tt := range map[string]struct {
		host client.Object
		want map[string][]string
	}{
		"a free host by nothing": {newHost("infra"), map[string][]string{}},
		"a bound host by its claim": {binding.Bind(newHost("infra"), claim), map[string][]string{
			HostsByConsumer: {"tenant/machine/claim-uid"}, HostsByConsumerUID: {"claim-uid"},
		}},
		"one that was moved with its claim, besides, by the claim to come": {tookAlong, map[string][]string{
			HostsByConsumer: {"tenant/machine/claim-uid"}, HostsByConsumerUID: {"claim-uid"},
			HostsByMovedClaim: {"tenant/machine"},
		}},
		"a claim not as a host": {claim, map[string][]string{}},
	} {
		if diff := cmp.Diff(tt.want, found(hosts(), tt.host)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClaims(t *testing.T) {
	copies, pull := binding.CopyNames("claim-uid"), "pull"
	bound := newClaim()
	bound.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
	rich := newClaim()
	rich.Spec.UserData = &corev1.SecretReference{Name: "boot", Namespace: "ignored"}
	rich.Spec.Image = &bmov1alpha1.Image{OCIAuthSecretName: &pull}
	for name, tt := range map[string]struct {
		claim client.Object
		want  map[string][]string
	}{
		"any claim by its UID, the names of its copies and that of its facts": {newClaim(), map[string][]string{
			ClaimsByUID: {"claim-uid"}, ClaimsBySecret: copies, ClaimsByFacts: {"machine-hostclaim"},
		}},
		"one that names secrets by those of its own namespace": {rich, map[string][]string{
			ClaimsByUID: {"claim-uid"}, ClaimsBySecret: slices.Concat(copies, []string{"tenant/boot", "tenant/pull"}), ClaimsByFacts: {"machine-hostclaim"},
		}},
		"one with a host by the namespace of that": {bound, map[string][]string{
			ClaimsByUID: {"claim-uid"}, ClaimsBySecret: copies, ClaimsByFacts: {"machine-hostclaim"}, ClaimsByHostNamespace: {"infra"},
		}},
		"a host not as a claim": {newHost("infra"), map[string][]string{}},
	} {
		if diff := cmp.Diff(tt.want, found(claims(), tt.claim)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// counter is an indexer that notes what is declared, and refuses what it knows.
type counter map[string]client.Object

func (c counter) IndexField(_ context.Context, object client.Object, field string, _ client.IndexerFunc) error {
	if c[field] != nil {
		return errors.New("declared twice")
	}
	c[field] = object
	return nil
}

func TestAddDeclaresEachIndexOnce(t *testing.T) {
	c := counter{}
	if err := Add(t.Context(), c); err != nil || len(c) != len(hosts())+len(claims()) {
		t.Errorf("%d indexes, %v", len(c), err)
	}
	if err := Add(t.Context(), c); err == nil {
		t.Error("a refusal is not told")
	}
}
