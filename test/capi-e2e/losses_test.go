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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/test/framework"
)

// resourceVersionsAreStable checks that no object of the cluster is written while nothing happens.
func resourceVersionsAreStable(proxy framework.ClusterProxy, namespace, name string) {
	framework.ValidateResourceVersionStable(ctx, framework.ValidateResourceVersionStableInput{
		ClusterProxy: proxy, Namespace: namespace, OwnerGraphFilterFunction: objectsOf(name),
		WaitToBecomeStable: e2eConfig.GetIntervals("quick-start", "wait-resource-versions-become-stable"),
		WaitToRemainStable: e2eConfig.GetIntervals("quick-start", "wait-resource-versions-remain-stable"),
	})
}

// objectsOf are those of a cluster, without the addresses: ip-address-manager does not give them their owners back.
func objectsOf(name string) clusterctlcluster.GetOwnerGraphFilterFunction {
	named := clusterctlcluster.FilterClusterObjectsWithNameFilter(name)
	return func(object unstructured.Unstructured) bool { return object.GetKind() != "IPAddress" && named(object) }
}
