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

package policies

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
)

func TestCacheCompilesEachVersionOnce(t *testing.T) {
	at := func(uid types.UID, version, matches string) bmov1alpha1.HostDeployPolicy {
		return bmov1alpha1.HostDeployPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: string(uid), UID: uid, ResourceVersion: version},
			Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{NameMatches: matches}},
		}
	}
	a, b, tenant := at("a", "1", "tenant"), at("b", "1", "("), policy.Namespace{Name: "tenant"}
	cache := Cache{}
	first := cache.CompileAll([]bmov1alpha1.HostDeployPolicy{a, b})
	again := cache.CompileAll([]bmov1alpha1.HostDeployPolicy{a, b})
	if first[0] != again[0] || first[1] != again[1] || first[0] != cache.Compile(&a) {
		t.Error("a version was compiled twice")
	}
	if !first[0].Admits(tenant) || first[1].Err() == nil {
		t.Error("a valid policy does not admit, or an invalid one has no error")
	}

	changed := at("a", "2", "other")
	if cache.Compile(&changed).Admits(tenant) {
		t.Error("the new version of a policy admits what only the old one did")
	}
	recreated := at("c", "1", "other")
	if cache.Compile(&recreated).Admits(tenant) {
		t.Error("another policy with the same resourceVersion is taken for the first")
	}

	cache.CompileAll([]bmov1alpha1.HostDeployPolicy{changed})
	if len(cache.compiled) != 1 {
		t.Errorf("%d versions are kept, want the one that exists", len(cache.compiled))
	}
}
