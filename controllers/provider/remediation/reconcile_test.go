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

package remediation

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

var errBroken = errors.New("broken")

// TestReconcile runs one pass for an object of each kind and compares the reasons of
// its conditions.
func TestReconcile(t *testing.T) {
	tests := map[string]struct {
		change        func(Object)
		clusterPaused bool
		ready, paused string
	}{
		"an object says that nothing is done for it": {ready: infrav1.NotImplementedReason, paused: infrav1.NotPausedReason},
		"a paused object says that it is paused": {
			change: func(o Object) { o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""}) },
			paused: infrav1.PausedReason,
		},
		"the Cluster pauses the object": {clusterPaused: true, paused: infrav1.PausedReason},
		"an object without a Cluster says so too": {
			change: func(o Object) { o.SetLabels(nil) }, clusterPaused: true,
			ready: infrav1.NotImplementedReason, paused: infrav1.NotPausedReason,
		},
	}
	for _, kind := range Kinds() {
		for name, tc := range tests {
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				object := create(t, kind, tc.clusterPaused, tc.change)
				r := &Reconciler{Client: server.Client, Kind: kind, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time)}
				requests := r.clusterToObjects(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
					Namespace: object.GetNamespace(), Name: "blue",
				}})
				if woken := len(requests) == 1; woken != (object.GetLabels() != nil) {
					t.Errorf("the Cluster wakes %v", requests)
				}
				reconcile(t, r, object)
				got := map[string]string{"Ready": conditions.GetReason(object, "Ready"), "Paused": conditions.GetReason(object, "Paused")}
				if diff := cmp.Diff(map[string]string{"Ready": tc.ready, "Paused": tc.paused}, got); diff != "" {
					t.Errorf("reasons (-want +got):\n%s", diff)
				}
				if message := conditions.GetMessage(object, "Ready"); tc.ready != "" && message != kind.Message {
					t.Errorf("message %q, want %q", message, kind.Message)
				}
				version := object.GetResourceVersion()
				reconcile(t, r, object)
				if object.GetResourceVersion() != version {
					t.Error("a second pass writes again")
				}
			})
		}
	}
}

// TestStrippedCache shows that a pass leaves alone what the cache does not show.
func TestStrippedCache(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			object := create(t, kind, false, func(o Object) {
				o.SetAnnotations(map[string]string{"note": "kept"})
				o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u"}})
				strategy := &infrav1.RemediationStrategy{Type: "Reboot", RetryLimit: 7}
				switch o := o.(type) {
				case *infrav1.Metal3Remediation:
					o.Spec.Strategy = strategy
				case *infrav1.Metal3RemediationTemplate:
					o.Spec.Template.Spec.Strategy = strategy
				}
			})
			before := copyOf(t, object)
			r := &Reconciler{Kind: kind, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time)}
			r.Client = interceptor.NewClient(server.Client, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					err := c.Get(ctx, key, o, opts...)
					if o, ok := o.(Object); ok {
						Strip(o)
					}
					return err
				},
			})
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}); err != nil {
				t.Fatal(err)
			}
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
			if conditions.Get(object, "Ready") == nil {
				t.Error("nothing was reported")
			}
			object.SetConditions(nil)
			object.SetManagedFields(nil)
			object.SetResourceVersion(before.GetResourceVersion())
			before.SetManagedFields(nil)
			if diff := cmp.Diff(before, object); diff != "" {
				t.Errorf("what was changed besides (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailures breaks one request after the other.
func TestFailures(t *testing.T) {
	kind := Kinds()[0]
	object := create(t, kind, false, nil)
	tests := map[string]interceptor.Funcs{
		"the Cluster cannot be read": {Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*clusterv1.Cluster); ok {
				return errBroken
			}
			return c.Get(ctx, key, o, opts...)
		}},
		"the conditions cannot be written": {SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errBroken
		}},
	}
	for name, funcs := range tests {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{
				Client: interceptor.NewClient(server.Client, funcs), Kind: kind, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time),
			}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			if !errors.Is(err, errBroken) {
				t.Errorf("error %v, want %v", err, errBroken)
			}
		})
	}
}

// create stores an object of Cluster blue in a namespace of its own.
func create(t *testing.T, kind Kind, clusterPaused bool, change func(Object)) Object {
	t.Helper()
	namespace := server.Namespace(t)
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue"}}
	cluster.Spec.Paused = ptr.To(clusterPaused)
	object := copyOf(t, kind.Object)
	object.SetNamespace(namespace)
	object.SetName("m-1")
	object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "blue"})
	if change != nil {
		change(object)
	}
	for _, o := range []client.Object{cluster, object} {
		if err := server.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

func copyOf(t *testing.T, o runtime.Object) Object {
	t.Helper()
	object, ok := o.DeepCopyObject().(Object)
	if !ok {
		t.Fatalf("%T has no conditions", o)
	}
	return object
}

// reconcile runs a pass and reads the object anew.
func reconcile(t *testing.T, r *Reconciler, object Object) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
}
