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

package cluster

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/clusterindex"
)

var (
	errBroken = errors.New("broken")
	key       = client.ObjectKey{Namespace: "tenant-a", Name: "a-infra"}
)

// indexed lets a fake client take the indexes that a cache would get.
type indexed struct{ *fake.ClientBuilder }

func (i *indexed) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(o, field, extract)
	return nil
}

func newReconciler(t *testing.T, calls interceptor.Funcs, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := &indexed{fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&infrav1.Metal3Cluster{}).WithInterceptorFuncs(calls)}
	if err := clusterindex.Setup(t.Context(), builder); err != nil {
		t.Fatal(err)
	}
	return &Reconciler{
		Client: builder.Build(), Recorder: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(noon.Time),
	}
}

// cast is a Metal3Cluster and the Cluster that owns it.
func cast(change ...func(*infrav1.Metal3Cluster)) []client.Object {
	infra := &infrav1.Metal3Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant-a", Name: "a-infra",
			Labels:          map[string]string{clusterv1.ClusterNameLabel: "a"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "a", UID: "u"}},
		},
		Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}},
	}
	for _, f := range change {
		f(infra)
	}
	return []client.Object{infra, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "a", UID: "u"},
		Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: "a-infra",
		}},
	}}
}

func deleted(infra *infrav1.Metal3Cluster) {
	infra.DeletionTimestamp = &noon
	infra.Finalizers = []string{infrav1.ClusterFinalizer}
}

// settle reconciles until the object has its finalizer and its Paused condition,
// and once more. It returns the object, nil if it is gone, and the last error.
func settle(t *testing.T, r *Reconciler) (*infrav1.Metal3Cluster, error) {
	t.Helper()
	var err error
	for range 3 {
		_, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	}
	infra := &infrav1.Metal3Cluster{}
	if get := r.Client.Get(t.Context(), key, infra); get != nil {
		return nil, err
	}
	return infra, err
}

func TestReconcile(t *testing.T) {
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "a"},
	}
	ours := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant-a", Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
	}}
	orphaned := func(infra *infrav1.Metal3Cluster) { infra.OwnerReferences = nil }
	unlabeled := func(infra *infrav1.Metal3Cluster) { infra.Labels = nil }
	paused := func(infra *infrav1.Metal3Cluster) {
		infra.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	}
	tests := map[string]struct {
		objects []client.Object
		gone    bool
		touched bool
		reason  string // of Ready
	}{
		"one that is gone":                         {gone: true},
		"a live one is ready":                      {objects: cast(), touched: true, reason: "Ready"},
		"one whose Cluster is gone waits":          {objects: cast()[:1], touched: true, reason: "NotReady"},
		"a paused one is not reported on":          {objects: cast(paused), touched: true},
		"a deleted one goes":                       {objects: cast(deleted), gone: true},
		"a deleted one waits for Machines":         {objects: append(cast(deleted), machine), touched: true, reason: "Deleting"},
		"a deleted one waits for Metal3Machines":   {objects: append(cast(deleted), ours), touched: true, reason: "Deleting"},
		"a deleted orphan waits by its label":      {objects: append(cast(deleted, orphaned), ours), touched: true, reason: "Deleting"},
		"a deleted one that knows no Cluster goes": {objects: append(cast(deleted, orphaned, unlabeled), ours), gone: true},
		"one that others manage is not touched":    {objects: cast(func(c *infrav1.Metal3Cluster) { c.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "x"} })},
		"machines of another Cluster hold up nobody": {objects: append(cast(deleted), &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: "b"},
		}), gone: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			infra, err := settle(t, newReconciler(t, interceptor.Funcs{}, tc.objects...))
			if err != nil {
				t.Fatal(err)
			}
			if (infra == nil) != tc.gone {
				t.Fatalf("object is %v, should be gone: %v", infra, tc.gone)
			}
			if tc.gone {
				return
			}
			if (len(infra.Finalizers) > 0) != tc.touched {
				t.Errorf("finalizers are %v", infra.Finalizers)
			}
			reason := ""
			for _, c := range infra.Status.Conditions {
				if c.Type == infrav1.ReadyCondition {
					reason = c.Reason
				}
			}
			if reason != tc.reason {
				t.Errorf("reason of Ready is %q, want %q", reason, tc.reason)
			}
		})
	}
}

func TestReconcileWatchFilter(t *testing.T) {
	r := newReconciler(t, interceptor.Funcs{}, cast()...)
	r.WatchFilter = "mine"
	if infra, err := settle(t, r); err != nil || len(infra.Finalizers) > 0 {
		t.Errorf("an object of another watch filter was touched: %v, error %v", infra, err)
	}
}

func TestReconcileErrors(t *testing.T) {
	for name, calls := range map[string]interceptor.Funcs{
		"the Cluster cannot be read": {Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, cluster := o.(*clusterv1.Cluster); cluster {
				return errBroken
			}
			return c.Get(ctx, k, o, opts...)
		}},
		"machines cannot be listed": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errBroken
		}},
		"nothing can be written": {Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errBroken
		}, SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errBroken
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if infra, err := settle(t, newReconciler(t, calls, cast(deleted)...)); err == nil || infra == nil {
				t.Errorf("object is %v, error %v", infra, err)
			}
		})
	}
}

func TestMachineToInfra(t *testing.T) {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a"}, Spec: clusterv1.MachineSpec{ClusterName: "a"}}
	ours := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}}}
	for name, objects := range map[string][]client.Object{"with its Cluster": cast(), "when its Cluster is gone": cast()[:1]} {
		for _, o := range []client.Object{machine, ours} {
			got := newReconciler(t, interceptor.Funcs{}, objects...).machineToInfra(t.Context(), o)
			if len(got) != 1 || got[0].NamespacedName != key {
				t.Errorf("a %T %s wakes %v", o, name, got)
			}
		}
	}
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errBroken
	}}
	if got := newReconciler(t, broken).machineToInfra(t.Context(), machine); got != nil {
		t.Errorf("a machine of nothing wakes %v", got)
	}
}
