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

package capie2e

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/test/framework"
)

// survivesLosses checks that what is taken off the objects of a cluster comes back as it was: owner references,
// their API versions, and finalizers; and that nothing is written without end after that.
func survivesLosses(proxy framework.ClusterProxy, namespace, name string) {
	owners, finalizers := graph(proxy, namespace, name)
	filter := objectsOf(name)
	ginkgo.By("Checking that owner references come back")
	framework.ValidateOwnerReferencesResilience(ctx, proxy, namespace, name, filter, owners)
	ginkgo.By("Checking that owner references follow the API version")
	framework.ValidateOwnerReferencesOnUpdate(ctx, proxy, namespace, name, filter, owners)
	ginkgo.By("Checking that finalizers come back")
	framework.ValidateFinalizersResilience(ctx, proxy, namespace, name, filter, finalizers)
	resourceVersionsAreStable(proxy, namespace, name)
}

// resourceVersionsAreStable checks that no object of the cluster is written while nothing happens.
func resourceVersionsAreStable(proxy framework.ClusterProxy, namespace, name string) {
	framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
		ClusterProxy: proxy, Namespace: namespace, OwnerGraphFilterFunction: objectsOf(name),
		WaitToBecomeStable: e2eConfig.GetIntervals("quick-start", "wait-resource-versions-become-stable"),
		WaitToRemainStable: e2eConfig.GetIntervals("quick-start", "wait-resource-versions-remain-stable"),
	})
}

// objectsOf are those of a cluster, without those of ip-address-manager: addresses do not get their owners back,
// and the owners of pools do not follow the API version.
func objectsOf(name string) clusterctlcluster.GetOwnerGraphFilterFunction {
	named := clusterctlcluster.FilterClusterObjectsWithNameFilter(name)
	return func(object unstructured.Unstructured) bool {
		return object.GetKind() != "IPAddress" && object.GetKind() != "IPPool" && named(object)
	}
}

// The forms in which the framework takes expectations, by kind.
type (
	ownersByKind     = map[string]func(types.NamespacedName, []metav1.OwnerReference) error
	finalizersByKind = map[string]func(types.NamespacedName) []string
)

// graph returns the owners and finalizers that the objects of a cluster have now, as expectations.
func graph(proxy framework.ClusterProxy, namespace, name string) (ownersByKind, finalizersByKind) {
	nodes, err := clusterctlcluster.GetOwnerGraph(ctx, namespace, proxy.GetKubeconfigPath(), objectsOf(name))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	type identity struct {
		kind string
		name types.NamespacedName
	}
	owners, finalizers := map[identity][]string{}, map[identity][]string{}
	expectOwners, expectFinalizers := ownersByKind{}, finalizersByKind{}
	for _, node := range nodes {
		kind := node.Object.Kind
		id := identity{kind, types.NamespacedName{Namespace: node.Object.Namespace, Name: node.Object.Name}}
		owners[id] = describe(node.Owners)
		object := &unstructured.Unstructured{}
		object.SetAPIVersion(node.Object.APIVersion)
		object.SetKind(kind)
		gomega.Expect(proxy.GetClient().Get(ctx, id.name, object)).To(gomega.Succeed())
		finalizers[id] = object.GetFinalizers()
		expectOwners[kind] = func(name types.NamespacedName, references []metav1.OwnerReference) error {
			if diff := cmp.Diff(owners[identity{kind, name}], describe(references)); diff != "" {
				return fmt.Errorf("owners (-before +now):\n%s", diff)
			}
			return nil
		}
		expectFinalizers[kind] = func(name types.NamespacedName) []string { return finalizers[identity{kind, name}] }
	}
	return expectOwners, expectFinalizers
}

// describe writes down what counts of owner references.
func describe(references []metav1.OwnerReference) []string {
	texts := make([]string, 0, len(references))
	for _, r := range references {
		texts = append(texts, fmt.Sprintf("%s %s %s controller=%t", r.APIVersion, r.Kind, r.Name, r.Controller != nil && *r.Controller))
	}
	slices.Sort(texts)
	return texts
}
