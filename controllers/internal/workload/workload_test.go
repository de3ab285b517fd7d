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

package workload

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodematch"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provision"
)

var key = client.ObjectKey{Namespace: "tenant-a", Name: "a"}

func node(name, providerID, uid string) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
	}
	if uid != "" {
		n.Labels["metal3.io/uuid"] = uid
	}
	return n
}

// connected is a workload cluster with the Nodes.
func connected(t *testing.T, nodes ...client.Object) (Nodes, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nodes...)
	for _, i := range Indexes() {
		builder = builder.WithIndex(i.Object, i.Field, i.ExtractValue)
	}
	c := builder.Build()
	return Nodes{Cache: clustercache.NewFakeClusterCache(c, key)}, c
}

func TestCandidates(t *testing.T) {
	nodes := []client.Object{node("n1", "metal3://a/h1/m1", ""), node("n2", "", "uid-2"), node("n3", "", "")}
	tests := map[string]struct {
		query nodematch.Query
		want  []nodematch.Node
	}{
		"nothing is asked for": {},
		"by provider ID": {
			query: nodematch.Query{ProviderID: "metal3://a/h1/m1"},
			want:  []nodematch.Node{{Name: "n1", ProviderID: "metal3://a/h1/m1", Hostname: "n1"}},
		},
		"by host": {
			query: nodematch.Query{ProviderID: "metal3://a/h2/m2", HostUID: "uid-2"},
			want:  []nodematch.Node{{Name: "n2", HostUID: "uid-2", Hostname: "n2"}},
		},
		"by host name": {
			query: nodematch.Query{Hostnames: []string{"n3"}},
			want: []nodematch.Node{
				{Name: "n1", ProviderID: "metal3://a/h1/m1", Hostname: "n1"}, {Name: "n2", HostUID: "uid-2", Hostname: "n2"}, {Name: "n3", Hostname: "n3"},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			workload, _ := connected(t, nodes...)
			got, err := workload.Candidates(t.Context(), key, tc.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotConnected(t *testing.T) {
	workload := Nodes{Cache: clustercache.NewFakeEmptyClusterCache()}
	if _, err := workload.Candidates(t.Context(), key, nodematch.Query{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("candidates without connection: %v", err)
	}
	if err := workload.Patch(t.Context(), key, provision.NodePatch{Node: "n"}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("patch without connection: %v", err)
	}
}

func TestPatch(t *testing.T) {
	workload, c := connected(t, node("n1", "", "uid-1"), node("n2", "metal3://a/h2/m2", ""))
	for _, patch := range []provision.NodePatch{
		{Node: "n1", ProviderID: "metal3://a/h1/m1"}, {Node: "n2", HostUID: "uid-2"},
	} {
		if err := workload.Patch(t.Context(), key, patch); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]nodematch.Node{
		"n1": {Name: "n1", ProviderID: "metal3://a/h1/m1", HostUID: "uid-1", Hostname: "n1"},
		"n2": {Name: "n2", ProviderID: "metal3://a/h2/m2", HostUID: "uid-2", Hostname: "n2"},
	}
	for name, w := range want {
		got := &corev1.Node{}
		if err := c.Get(context.Background(), client.ObjectKey{Name: name}, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, describe(got)); diff != "" {
			t.Errorf("Node %s (-want +got):\n%s", name, diff)
		}
	}
	if err := workload.Patch(t.Context(), key, provision.NodePatch{Node: "gone", ProviderID: "x"}); err == nil {
		t.Error("a Node that is gone was patched")
	}
}

func TestIdentityChanged(t *testing.T) {
	old := node("n1", "", "uid-1")
	heartbeat := old.DeepCopy()
	heartbeat.Status.Phase = corev1.NodeRunning
	named := old.DeepCopy()
	named.Spec.ProviderID = "metal3://a/b/c"
	for _, tc := range []struct {
		what string
		new  client.Object
		want bool
	}{{"a heartbeat", heartbeat, false}, {"a provider ID", named, true}, {"something else", &corev1.Pod{}, false}} {
		if got := identityChanged().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: tc.new}); got != tc.want {
			t.Errorf("%s passes: %v, want %v", tc.what, got, tc.want)
		}
	}
	if identityChanged().Update(event.UpdateEvent{ObjectOld: &corev1.Pod{}, ObjectNew: old}) {
		t.Error("a Pod passes")
	}
}

func TestStripNode(t *testing.T) {
	full := node("n1", "metal3://a/b/c", "uid-1")
	full.Labels["other"] = "x"
	full.Annotations = map[string]string{"x": "y"}
	full.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	full.ResourceVersion = "7"
	want := node("n1", "metal3://a/b/c", "uid-1")
	want.ResourceVersion = "7"
	got, err := StripNode(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Node (-want +got):\n%s", diff)
	}
	if other, err := StripNode("tombstone"); err != nil || other != "tombstone" {
		t.Errorf("something else became %v, %v", other, err)
	}
}
