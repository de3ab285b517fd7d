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
	"fmt"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// errBroken is the error of a broken API server.
var errBroken = errors.New("broken")

// cast is a Metal3Cluster, the Cluster that owns it and what else there is; what
// is nil is missing.
type cast struct {
	infra   *infrav1.Metal3Cluster
	cluster *clusterv1.Cluster
	others  []client.Object
}

func newCast(change ...func(*cast)) *cast {
	c := &cast{
		infra: &infrav1.Metal3Cluster{
			ObjectMeta: metav1.ObjectMeta{
				Name:            "a-infra",
				Labels:          map[string]string{clusterv1.ClusterNameLabel: "a"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "a", UID: "gone"}},
			},
			Spec: infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}},
		},
		cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupName, Kind: "Metal3Cluster", Name: "a-infra",
			}},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// connections are connections to other clusters whose answer is given.
type connections struct {
	answer *identity.Problem
	asked  []identity.Ref
	freed  int
}

func (c *connections) Site(_ remote.User, ref identity.Ref) (remote.Site, *identity.Problem) {
	c.asked = append(c.asked, ref)
	return remote.Site{}, c.answer
}

func (c *connections) Bind(remote.User, string) {}

func (c *connections) Release(remote.User) { c.freed++ }

func (c *connections) Source(string, func(context.Context, types.NamespacedName) []ctrl.Request) source.Source {
	return nil
}

func deleted(c *cast) {
	c.infra.DeletionTimestamp = &noon
	c.infra.Finalizers = []string{infrav1.ClusterFinalizer}
}

func ownerless(c *cast) { c.cluster = nil }

func held(c *cast) { c.infra.Finalizers = []string{infrav1.ClusterFinalizer} }

// world is what one Metal3Cluster sees of a real API server.
type world struct {
	*Reconciler

	t   *testing.T
	key client.ObjectKey
}

// newWorld creates the cast in a namespace of its own. The calls replace the
// requests of the controller.
func newWorld(t *testing.T, calls interceptor.Funcs, c *cast) *world {
	t.Helper()
	reader, err := server.NewClient(t.Context(), calls, watch.IndexByCluster(&clusterv1.Machine{}, &infrav1.Metal3Machine{}))
	expect.NoError(t, err)
	w := &world{
		t: t, key: client.ObjectKey{Namespace: server.Namespace(t), Name: "a-infra"},
		Reconciler: &Reconciler{
			Client: reader, Recorder: events.NewFakeRecorder(100), Remote: &connections{}, Clock: clocktesting.NewFakePassiveClock(noon.Time),
		},
	}
	if c.cluster != nil {
		w.create(c.cluster)
		if c.infra != nil && len(c.infra.OwnerReferences) > 0 {
			c.infra.OwnerReferences[0].UID = c.cluster.UID
		}
	}
	w.create(c.others...)
	if c.infra != nil {
		w.create(c.infra)
	}
	return w
}

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		o.SetNamespace(w.key.Namespace)
		server.Create(w.t, o)
	}
}

// settle reconciles until the object has its finalizer and its Paused condition,
// and once more. It returns the object, nil if it is gone, and the last error.
func (w *world) settle() (*infrav1.Metal3Cluster, error) {
	w.t.Helper()
	var err error
	for range 3 {
		_, err = w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	}
	infra := &infrav1.Metal3Cluster{}
	if get := server.Client.Get(w.t.Context(), w.key, infra); get != nil {
		return nil, err
	}
	return infra, err
}

// machineOf is a Machine of the Cluster.
func machineOf(cluster string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: clusterv1.MachineSpec{ClusterName: cluster}}
}

// ours is a Metal3Machine of Cluster a.
func ours() *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "m", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"}},
		Spec:       infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
	}
}

func with(others ...client.Object) func(*cast) {
	return func(c *cast) { c.others = others }
}

func TestReconcile(t *testing.T) {
	orphaned := func(c *cast) { c.infra.OwnerReferences = nil }
	unlabeled := func(c *cast) { c.infra.Labels = nil }
	annotated := func(key string) func(*cast) {
		return func(c *cast) { c.infra.Annotations = map[string]string{key: "x"} }
	}
	tests := map[string]struct {
		given   *cast
		gone    bool
		touched bool
		reason  string // of Ready
	}{
		"one that is gone":                         {given: newCast(func(c *cast) { c.infra = nil }), gone: true},
		"a live one is ready":                      {given: newCast(), touched: true, reason: "Ready"},
		"one whose Cluster is gone waits":          {given: newCast(ownerless, held), touched: true, reason: "NotReady"},
		"a paused one is left alone":               {given: newCast(annotated(clusterv1.PausedAnnotation))},
		"a paused one does not go":                 {given: newCast(deleted, annotated(clusterv1.PausedAnnotation)), touched: true},
		"a deleted one goes":                       {given: newCast(deleted), gone: true},
		"a deleted one waits for Machines":         {given: newCast(deleted, with(machineOf("a"))), touched: true, reason: "Deleting"},
		"a deleted one waits for Metal3Machines":   {given: newCast(deleted, with(ours())), touched: true, reason: "Deleting"},
		"a deleted orphan waits by its label":      {given: newCast(deleted, orphaned, with(ours())), touched: true, reason: "Deleting"},
		"a deleted one that knows no Cluster goes": {given: newCast(deleted, orphaned, unlabeled, with(ours())), gone: true},
		"one that others manage is not touched":    {given: newCast(annotated(clusterv1.ManagedByAnnotation))},
		"machines of another Cluster hold up none": {given: newCast(deleted, with(machineOf("b"))), gone: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			infra, err := newWorld(t, interceptor.Funcs{}, tc.given).settle()
			expect.NoError(t, err)
			expect.Must(t, (infra == nil) == tc.gone, "object is %v, should be gone: %v", infra, tc.gone)
			if tc.gone {
				return
			}
			expect.That(t, (len(infra.Finalizers) > 0) == tc.touched, "finalizers are %v", infra.Finalizers)
			reason := ""
			for _, c := range infra.Status.Conditions {
				if c.Type == infrav1.ReadyCondition {
					reason = c.Reason
				}
			}
			expect.Equal(t, tc.reason, reason)
		})
	}
}

// TestPause shows that pausing costs one request, and a pass of a paused object none.
func TestPause(t *testing.T) {
	var writes []string
	w := newWorld(t, apitest.Writes(&writes), newCast())
	ready, err := w.settle()
	expect.NoError(t, err)
	if want := []string{"patch", "status"}; !slices.Equal(writes, want) {
		t.Errorf("a new object costs the requests %v, want %v", writes, want)
	}
	for _, step := range []struct {
		paused bool
		want   metav1.Condition
	}{
		{true, metav1.Condition{Status: "True", Reason: "Paused", Message: `Cluster "a" is paused, its spec.paused is true`}},
		{false, metav1.Condition{Status: "False", Reason: "NotPaused"}},
	} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "a"}}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%v}}`, step.paused))
		expect.NoError(t, server.Client.Patch(t.Context(), cluster, patch))
		writes = nil
		infra, err := w.settle()
		expect.NoError(t, err)
		if want := []string{"status"}; !slices.Equal(writes, want) {
			t.Errorf("paused %v: three passes cost the requests %v, want %v", step.paused, writes, want)
		}
		got := meta.FindStatusCondition(infra.Status.Conditions, infrav1.PausedCondition)
		expect.That(t, got != nil && got.Status == step.want.Status && got.Reason == step.want.Reason && got.Message == step.want.Message, "condition Paused is %v, want %v", got, step.want)
		expect.Equal(t, ready.Status.Deprecated, infra.Status.Deprecated)
	}
}

func TestReconcileWatchFilter(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast())
	w.WatchFilter = "mine"
	infra, err := w.settle()
	expect.That(t, err == nil && len(infra.Finalizers) == 0, "an object of another watch filter was touched: %v, error %v", infra, err)
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
			infra, err := newWorld(t, calls, newCast(deleted)).settle()
			expect.That(t, err != nil && infra != nil, "object is %v, error %v", infra, err)
		})
	}
}

func TestMachineToInfra(t *testing.T) {
	unlabeled := func(c *cast) { c.infra.Labels = nil }
	for name, given := range map[string]*cast{
		"with its Cluster": newCast(), "when its Cluster is gone": newCast(ownerless), "without its label": newCast(unlabeled),
	} {
		w := newWorld(t, interceptor.Funcs{}, given)
		for _, o := range []client.Object{machineOf("a"), ours()} {
			o.SetNamespace(w.key.Namespace)
			got := machineToInfra(w.Client)(t.Context(), o)
			expect.That(t, len(got) == 1 && got[0].NamespacedName == w.key, "a %T %s wakes %v", o, name, got)
		}
	}
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errBroken
	}}
	if got := machineToInfra(newWorld(t, broken, newCast(ownerless)).Client)(t.Context(), machineOf("a")); got != nil {
		t.Errorf("a machine of nothing wakes %v", got)
	}
}

// TestReconcileIdentity shows the condition IdentityReady, and when the connection is given up.
func TestReconcileIdentity(t *testing.T) {
	named := func(c *cast) { c.infra.Spec.IdentityRef = &infrav1.IdentityReference{Name: "hosts", Context: "x"} }
	connecting := &identity.Problem{Reason: infrav1.IdentityConnectingReason, Message: "m"}
	known := func(c *cast) {
		c.infra.Status.Conditions = []metav1.Condition{{Type: "IdentityReady", Status: "True", Reason: "Connected", LastTransitionTime: noon}}
	}
	tests := map[string]struct {
		given  *cast
		answer *identity.Problem
		want   string // status/reason; empty for none
		asked  bool
	}{
		"a connection is ready": {given: newCast(named), want: "True/Connected", asked: true},
		"a problem is told":     {given: newCast(named), answer: &identity.Problem{Reason: "Unreachable", Message: "m"}, want: "False/Unreachable", asked: true},
		"a connection that is made for the first time is told": {given: newCast(named), answer: connecting, want: "False/Connecting", asked: true},
		"what was known stands while it is made again":         {given: newCast(named, known), answer: connecting, want: "True/Connected", asked: true},
		"without a reference nothing is asked or claimed":      {given: newCast()},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, tc.given)
			c := &connections{answer: tc.answer}
			w.Remote = c
			infra, err := w.settle()
			expect.NoError(t, err)
			got := ""
			if is := meta.FindStatusCondition(infra.Status.Conditions, "IdentityReady"); is != nil {
				got = string(is.Status) + "/" + is.Reason
			}
			expect.Equal(t, tc.want, got)
			expect.That(t, tc.asked == slices.Contains(c.asked, (identity.Ref{Namespace: w.key.Namespace, Secret: "hosts", Context: "x"})), "asked for %v", c.asked)
			expect.That(t, tc.asked != (c.freed > 0), "given up %d times", c.freed)
		})
	}
	t.Run("a connection ends when another manager takes the object over", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(named, func(c *cast) {
			c.infra.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "other"}
		}))
		c := &connections{}
		w.Remote = c
		_, err := w.settle()
		expect.That(t, err == nil && c.freed > 0, "given up %d times, error %v", c.freed, err)
	})
	t.Run("a connection ends with its object", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.infra = nil }))
		c := &connections{}
		w.Remote = c
		if infra, err := w.settle(); infra != nil || err != nil || c.freed == 0 {
			t.Errorf("object %v, error %v, given up %d times", infra, err, c.freed)
		}
	})
}
