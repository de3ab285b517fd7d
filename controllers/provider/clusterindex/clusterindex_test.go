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

package clusterindex

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestIndexes(t *testing.T) {
	labeled := metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}}
	tests := map[string]struct{ got, want []string }{
		"a Machine by its spec":         {ofMachine(&clusterv1.Machine{Spec: clusterv1.MachineSpec{ClusterName: "a"}}), []string{"a"}},
		"a Machine not by its label":    {ofMachine(&clusterv1.Machine{ObjectMeta: labeled}), nil},
		"a Metal3Machine by its label":  {byLabel(&infrav1.Metal3Machine{ObjectMeta: labeled}), []string{"a"}},
		"a Metal3Machine of no Cluster": {byLabel(&infrav1.Metal3Machine{}), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("index (-want +got):\n%s", diff)
			}
		})
	}
}
