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

package watch

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestIndexByCluster(t *testing.T) {
	labeled := metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}}
	byCluster := Index(clusterOf)
	tests := map[string]struct{ got, want []string }{
		"a Machine by its spec":        {byCluster(&clusterv1.Machine{Spec: clusterv1.MachineSpec{ClusterName: "a"}}), []string{"a"}},
		"a Machine not by its label":   {byCluster(&clusterv1.Machine{ObjectMeta: labeled}), nil},
		"another object by its label":  {byCluster(&metav1.PartialObjectMetadata{ObjectMeta: labeled}), []string{"a"}},
		"another object of no Cluster": {byCluster(&metav1.PartialObjectMetadata{}), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.got) })
	}
}
