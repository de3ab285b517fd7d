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

package machine

import (
	"context"
	"errors"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodematch"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provision"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/claimreader"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/clusterindex"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/workload"
)

// errBroken is what a broken API server says.
var errBroken = errors.New("broken")

// world is what one machine sees, with servers that fail when told to.
type world struct {
	*Reconciler
	t *testing.T
}

// nodes is a workload cluster whose answers are given.
type nodes struct {
	found             []nodematch.Node
	watchErr, readErr error
	patchErr          error
	patched           []provision.NodePatch
}

func (n *nodes) Candidates(context.Context, client.ObjectKey, nodematch.Query) ([]nodematch.Node, error) {
	return n.found, n.readErr
}

func (n *nodes) Patch(_ context.Context, _ client.ObjectKey, p provision.NodePatch) error {
	n.patched = append(n.patched, p)
	return n.patchErr
}

func (n *nodes) Watch(context.Context, client.ObjectKey, clustercache.SourceWatcher[ctrl.Request], workload.MapFunc) error {
	return n.watchErr
}

func (n *nodes) Connections(string, handler.MapFunc) source.Source { return nil }

// newWorld has the objects of the story and what the calls do differently.
func newWorld(t *testing.T, calls interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, clusterv1.AddToScheme, bmov1alpha1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	builder := &indexed{fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&infrav1.Metal3Machine{}, &bmov1alpha1.HostClaim{}).WithInterceptorFuncs(calls)}
	for _, setup := range []func(context.Context, client.FieldIndexer) error{
		claimreader.SetupIndexes, clusterindex.Setup, SetupIndexes,
	} {
		if err := setup(t.Context(), builder); err != nil {
			t.Fatal(err)
		}
	}
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	c := builder.Build()
	return &world{t: t, Reconciler: &Reconciler{
		Client: c, Live: c, Claims: claimreader.Reader{Client: c}, Nodes: &nodes{readErr: workload.ErrNotConnected},
		Secrets: secretwatch.New(nil), Recorder: events.NewFakeRecorder(100), Metrics: metrics,
		Clock: clocktesting.NewFakePassiveClock(noon.Time),
	}}
}

// indexed lets a fake client take the indexes that a cache would get.
type indexed struct{ *fake.ClientBuilder }

func (i *indexed) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(o, field, extract)
	return nil
}

// settle reconciles until the machine has its finalizer and its Paused
// condition, and once more. It returns the machine, nil if it is gone, and the
// last error.
func (w *world) settle() (*infrav1.Metal3Machine, error) {
	w.t.Helper()
	var err error
	for range 3 {
		_, err = w.Reconcile(w.t.Context(), request("tenant-a", "m-1"))
	}
	m := &infrav1.Metal3Machine{}
	if get := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: "tenant-a", Name: "m-1"}, m); get != nil {
		return nil, err
	}
	return m, err
}

// cast is a machine with everything above it, ready to claim a host.
func cast(change ...func(*infrav1.Metal3Machine)) []client.Object {
	owner := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1", UID: "machine-uid"},
		Spec: clusterv1.MachineSpec{
			ClusterName: "a",
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: ptr.To("boot")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: "m-1",
			},
		},
	}
	m := &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant-a", Name: "m-1", UID: "uid-1",
			Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m-1", UID: "machine-uid",
			}},
		},
		Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc")}},
	}
	for _, f := range change {
		f(m)
	}
	return []client.Object{
		owner, m,
		&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "a"},
			Status: clusterv1.ClusterStatus{
				Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)},
			},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "boot"},
			Data:       map[string][]byte{"value": []byte("#cloud-config")},
		},
	}
}

// claimOf is the claim of the cast's machine, whose host runs the image.
func claimOf() *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1", UID: "claim-uid", Finalizers: []string{infrav1.HostClaimFinalizer}},
		Spec: bmov1alpha1.HostClaimSpec{
			Image:       &bmov1alpha1.Image{URL: "http://x/i"},
			ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: "tenant-a", Name: "m-1", UID: "uid-1"},
		},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
			Conditions:    []metav1.Condition{{Type: "Associated", Status: "True"}, {Type: "Provisioned", Status: "True"}},
		},
	}
}
