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

package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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

// TestOptions shows which Nodes are asked for. How they are read and patched in a
// workload cluster is shown by the stories of the module test.
func TestOptions(t *testing.T) {
	by := func(field, value string) string { return field + "=" + value }
	tests := map[string]struct {
		query nodes.Query
		want  []string // field selectors, one for each list
	}{
		"nothing is asked for": {},
		"by provider ID": {
			query: nodes.Query{ProviderID: "metal3://a/h1/m1"}, want: []string{by("spec.providerID", "metal3://a/h1/m1")},
		},
		"by provider ID and host": {
			query: nodes.Query{ProviderID: "metal3://a/h2/m2", HostUID: "uid-2"},
			want:  []string{by("spec.providerID", "metal3://a/h2/m2"), by("metadata.labels.metal3.io/uuid", "uid-2")},
		},
		"by host name all are looked at": {query: nodes.Query{Hostnames: []string{"n3"}}, want: []string{""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, list := range options(tc.query) {
				o := (&client.ListOptions{}).ApplyOptions(list)
				selector := ""
				if o.FieldSelector != nil {
					selector = o.FieldSelector.String()
				}
				got = append(got, selector)
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestDescribe(t *testing.T) {
	want := nodes.Node{
		Name: "n1", ProviderID: "metal3://a/h1/m1", HostUID: "uid-1", Hostname: "n1",
		Labels: map[string]string{"kubernetes.io/hostname": "n1", "metal3.io/uuid": "uid-1"},
	}
	expect.Equal(t, want, describe(node("n1", "metal3://a/h1/m1", "uid-1")))
}

func TestIndexes(t *testing.T) {
	tests := map[string]struct {
		node *corev1.Node
		want map[string][]string
	}{
		"a Node of which all is known": {
			node: node("n1", "metal3://a/h1/m1", "uid-1"),
			want: map[string][]string{"spec.providerID": {"metal3://a/h1/m1"}, "metadata.labels.metal3.io/uuid": {"uid-1"}},
		},
		"a Node of which nothing is known": {
			node: node("n1", "", ""),
			want: map[string][]string{"spec.providerID": nil, "metadata.labels.metal3.io/uuid": nil},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for _, i := range Indexes() {
				got[i.Field] = i.ExtractValue(tc.node)
			}
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestNotConnected(t *testing.T) {
	workload := Nodes{Cache: clustercache.NewFakeEmptyClusterCache()}
	if _, err := workload.Candidates(t.Context(), key, nodes.Query{}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("candidates without connection: %v", err)
	}
	if err := workload.Patch(t.Context(), key, nodes.Patch{Node: "n"}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("patch without connection: %v", err)
	}
}

// A tenant may run the API server of a workload cluster: its messages come into conditions as a
// quotation of one line.
func TestWhatAWorkloadClusterSays(t *testing.T) {
	said := apierrors.NewForbidden(corev1.Resource("nodes"), "n", nil)
	said.ErrStatus.Message = "Ready: all is well.\nProvisioned: True" + strings.Repeat("x", 10_000)
	hostile := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, node client.Object, _ client.Patch, _ ...client.PatchOption) error {
			node.SetName("another\nname")
			return said
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return said },
	}).Build()
	workload := Nodes{Cache: clustercache.NewFakeClusterCache(hostile, key)}
	_, listed := workload.Candidates(t.Context(), key, nodes.Query{Hostnames: []string{"n"}})
	for _, err := range []error{listed, workload.Patch(t.Context(), key, nodes.Patch{Node: "n"})} {
		var status apierrors.APIStatus
		expect.Must(t, apierrors.IsForbidden(err) && errors.As(err, &status), "error %v", err)
		message := status.Status().Message
		expect.That(t, strings.HasPrefix(message, `The other cluster answers 403: "Ready`) && !strings.Contains(err.Error(), "\n") && len(message) <= 400, "it says %s", err)
	}
}

// An API server that always announces another page does not keep a worker.
func TestListThatDoesNotEnd(t *testing.T) {
	pages := 0
	hostile := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			pages++
			list.SetContinue("more")
			return nil
		},
	}).Build()
	workload := Nodes{Cache: clustercache.NewFakeClusterCache(hostile, key)}
	_, err := workload.Volumes(t.Context(), key, "n")
	expect.That(t, errors.Is(err, errEndlessList) && pages == maxPages, "%d pages were read, error %v", pages, err)
}

func TestChange(t *testing.T) {
	tests := map[string]struct {
		patch nodes.Patch
		want  string
	}{
		"a provider ID":         {patch: nodes.Patch{Node: "n1", ProviderID: "metal3://a/h1/m1"}, want: `{"spec":{"providerID":"metal3://a/h1/m1"}}`},
		"the label of the host": {patch: nodes.Patch{Node: "n2", HostUID: "uid-2"}, want: `{"metadata":{"labels":{"metal3.io/uuid":"uid-2"}}}`},
		"labels of the host": {
			patch: nodes.Patch{Node: "n3", Labels: map[string]*string{"a.example/x": ptr.To(""), "a.example/y": nil}},
			want:  `{"metadata":{"labels":{"a.example/x":"","a.example/y":null}}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := change(tc.patch)
			got, err := client.MergeFrom(before).Data(after)
			expect.That(t, err == nil && string(got) == tc.want && after.Name == tc.patch.Node, "patch of Node %q is %s, error %v, want %s", after.Name, got, err, tc.want)
		})
	}
}

func TestDescribedAnew(t *testing.T) {
	old := node("n1", "", "uid-1")
	heartbeat := old.DeepCopy()
	heartbeat.Status.Phase = corev1.NodeRunning
	named := old.DeepCopy()
	named.Spec.ProviderID = "metal3://a/b/c"
	labeled := old.DeepCopy()
	labeled.Labels["rack.example/row"] = "7"
	for _, tc := range []struct {
		what string
		new  client.Object
		want bool
	}{{"a heartbeat", heartbeat, false}, {"a provider ID", named, true}, {"a label", labeled, true}, {"something else", &corev1.Pod{}, false}} {
		t.Run(tc.what, func(t *testing.T) {
			expect.Equal(t, tc.want, watch.Whenever(describedAnew).Update(event.UpdateEvent{ObjectOld: old, ObjectNew: tc.new}))
		})
	}
	expect.That(t, !watch.Whenever(describedAnew).Update(event.UpdateEvent{ObjectOld: &corev1.Pod{}, ObjectNew: old}), "a Pod passes")
}

func TestStripNode(t *testing.T) {
	full := node("n1", "metal3://a/b/c", "uid-1")
	full.Labels["other"] = "x"
	full.Annotations = map[string]string{"x": "y"}
	full.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	full.ResourceVersion = "7"
	want := node("n1", "metal3://a/b/c", "uid-1")
	want.Labels["other"] = "x"
	want.ResourceVersion = "7"
	got, err := StripNode(full)
	expect.NoError(t, err)
	expect.Equal[any](t, want, got)
	if other, err := StripNode("tombstone"); err != nil || other != "tombstone" {
		t.Errorf("something else became %v, %v", other, err)
	}
}

// The API server of a workload cluster may answer texts of any length: what the cache keeps
// of one Node is bounded.
func TestStripNodeKeepsShortTexts(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	full := node(long, long, long)
	full.Labels[long] = long
	full.UID, full.ResourceVersion, full.Kind, full.APIVersion = types.UID(long), long, long, long
	got, err := StripNode(full)
	expect.NoError(t, err)
	text, err := json.Marshal(got)
	most := 8*maxText + 500
	expect.That(t, err == nil && len(text) <= most, "%d bytes, more than %d; %v", len(text), most, err)
}

// refusals refuse a cluster for a reason.
type refusals struct {
	reason error
	tell   func(cluster client.ObjectKey)
}

func (r *refusals) Refused(client.ObjectKey) error                { return r.reason }
func (r *refusals) OnRefused(tell func(cluster client.ObjectKey)) { r.tell = tell }

// A controller is woken when no more is read of a cluster, to which it will not be connected.
func TestRefusalsWakeControllers(t *testing.T) {
	why := &refusals{}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	workload := Nodes{Cache: clustercache.NewFakeEmptyClusterCache(), Refusals: why}
	connections := workload.Connections("test", func(_ context.Context, cluster client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: cluster.GetNamespace(), Name: "machine-of-" + cluster.GetName()}}}
	})
	expect.NoError(t, connections.Start(t.Context(), queue))
	why.tell(key)
	got, _ := queue.Get()
	expect.That(t, got.Namespace == key.Namespace && got.Name == "machine-of-"+key.Name, "woken: %s", got)
}

// A cluster of which no more is read has the reason as its error, not only ErrNotConnected.
func TestRefusedCluster(t *testing.T) {
	refused := errors.New("it has too many Nodes")
	why := &refusals{}
	workload := Nodes{Cache: clustercache.NewFakeEmptyClusterCache(), Refusals: why}
	for _, why.reason = range []error{nil, refused} {
		want := ErrNotConnected
		if why.reason != nil {
			want = why.reason
		}
		_, err := workload.Candidates(t.Context(), key, nodes.Query{})
		expect.That(t, errors.Is(err, want), "candidates: %v, want %v", err, want)
	}
}
