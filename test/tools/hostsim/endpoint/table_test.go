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

package endpoint

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestToTable(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-10 * time.Minute))}
	}
	kind := func(name string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: name} }
	node := corev1.Node{TypeMeta: kind("Node"), ObjectMeta: meta("b")}
	node.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	node.Status.NodeInfo.KubeletVersion = "v1.36.1"
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "b"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := corev1.Pod{TypeMeta: kind("Pod"), ObjectMeta: meta("etcd-b"), Spec: corev1.PodSpec{NodeName: "b"}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}

	tests := map[string]struct {
		given any
		want  [][]any
	}{
		"lists Nodes by name": {
			given: corev1.NodeList{TypeMeta: kind("NodeList"), Items: []corev1.Node{node, {ObjectMeta: meta("a")}}},
			want: [][]any{
				{"a", "NotReady", "<none>", "10m", "", "<none>"},
				{"b", "Ready", "control-plane", "10m", "v1.36.1", "10.0.0.1"},
			},
		},
		"shows a single Node": {given: node, want: [][]any{{"b", "Ready", "control-plane", "10m", "v1.36.1", "10.0.0.1"}}},
		"lists Pods": {
			given: corev1.PodList{TypeMeta: kind("PodList"), Items: []corev1.Pod{pod}},
			want:  [][]any{{"etcd-b", "1/1", "Running", "10m", "b"}},
		},
		"shows a silent Pod":         {given: corev1.Pod{TypeMeta: kind("Pod"), ObjectMeta: meta("p")}, want: [][]any{{"p", "0/1", "", "10m", ""}}},
		"has no rows for empty list": {given: corev1.PodList{TypeMeta: kind("PodList")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			body, err := json.Marshal(tc.given)
			if err != nil {
				t.Fatal(err)
			}
			table, err := toTable(body, now)
			if err != nil {
				t.Fatal(err)
			}
			var cells [][]any
			for _, row := range table.Rows {
				if len(row.Cells) != len(table.ColumnDefinitions) {
					t.Errorf("%d cells for %d columns", len(row.Cells), len(table.ColumnDefinitions))
				}
				cells = append(cells, row.Cells)
			}
			if diff := cmp.Diff(tc.want, cells); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := toTable([]byte("x"), now); err == nil {
		t.Error("no error for an answer that is not JSON")
	}
}
