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

package conditions

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func cluster(name string, paused bool) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(paused)}}
}

func TestPaused(t *testing.T) {
	const byItself = "The object itself is paused, it has the annotation cluster.x-k8s.io/paused"
	tests := map[string]struct {
		annotations map[string]string
		clusters    []*clusterv1.Cluster
		want        metav1.Condition
	}{
		"nothing holds the object back": {
			want: metav1.Condition{Type: "Paused", Status: "False", Reason: "NotPaused"},
		},
		"Clusters that run, or do not exist, do not": {
			clusters: []*clusterv1.Cluster{nil, {}, cluster("a", false)},
			want:     metav1.Condition{Type: "Paused", Status: "False", Reason: "NotPaused"},
		},
		"its Cluster does": {
			clusters: []*clusterv1.Cluster{cluster("a", true)},
			want:     metav1.Condition{Type: "Paused", Status: "True", Reason: "Paused", Message: `Cluster "a" is paused, its spec.paused is true`},
		},
		"its annotation does, whatever the value": {
			annotations: map[string]string{clusterv1.PausedAnnotation: "false"},
			want:        metav1.Condition{Type: "Paused", Status: "True", Reason: "Paused", Message: byItself},
		},
		"both do, and both are named": {
			annotations: map[string]string{clusterv1.PausedAnnotation: ""}, clusters: []*clusterv1.Cluster{cluster("a", true)},
			want: metav1.Condition{
				Type: "Paused", Status: "True", Reason: "Paused", Message: `Cluster "a" is paused, its spec.paused is true; ` + byItself,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := &metav1.ObjectMeta{Annotations: tc.annotations}
			got := Paused(object, tc.clusters...)
			expect.Equal(t, tc.want, got)
			paused := IsPaused(object, tc.clusters...)
			expect.That(t, paused == (got.Status == metav1.ConditionTrue), "paused is %v, the condition says %s", paused, got.Status)
		})
	}
}
