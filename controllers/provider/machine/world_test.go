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
	"os"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	workload "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

// errBroken is the error of a broken API server.
var errBroken = errors.New("broken")

// cast is a machine with everything above and below it; what is nil is missing.
type cast struct {
	owner     *clusterv1.Machine
	cluster   *clusterv1.Cluster
	secret    *corev1.Secret
	machine   *infrav1.Metal3Machine
	claim     *bmov1alpha1.HostClaim
	dataClaim *infrav1.Metal3DataClaim
}

// newCast is a machine that is ready to claim a host.
func newCast(change ...func(*cast)) *cast {
	labels := map[string]string{clusterv1.ClusterNameLabel: "a"}
	c := &cast{
		owner: &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: "m-1", Labels: labels},
			Spec: clusterv1.MachineSpec{
				ClusterName: "a",
				Bootstrap:   clusterv1.Bootstrap{DataSecretName: ptr.To("boot")},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: "m-1",
				},
			},
		},
		cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Status: clusterv1.ClusterStatus{
				Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)},
			},
		},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "boot", Labels: labels},
			Type:       clusterv1.ClusterSecretType,
			Data:       map[string][]byte{"value": []byte("#cloud-config")},
		},
		machine: &infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{
				Name: "m-1", Labels: labels,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m-1", UID: "gone",
				}},
			},
			Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/i", Checksum: ptr.To("abc")}},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// running gives the machine a claim whose host runs the image.
func running(c *cast) {
	c.claim = &bmov1alpha1.HostClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: claims.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: "m-1", Finalizers: []string{infrav1.HostClaimFinalizer}},
		Spec: bmov1alpha1.HostClaimSpec{
			PoweredOn:   true,
			Image:       &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"},
			ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Name: "m-1"},
		},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
			Conditions:    []metav1.Condition{holds("Associated"), holds("Provisioned")},
		},
	}
}

// deleted makes the machine one that is being deleted, after its Machine.
func deleted(c *cast) {
	c.machine.DeletionTimestamp = &noon
	c.machine.Finalizers = []string{infrav1.MachineFinalizer}
	c.machine.OwnerReferences = nil
}

// withData gives the machine a claim for data, which others hold too.
func withData(c *cast) {
	c.dataClaim = desiredDataClaim(c.machine, "a", "template", "")
}

func holds(conditionType string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: "Yes", LastTransitionTime: noon}
}

// world is what one machine sees of a real API server, with requests that fail
// when told to.
type world struct {
	*Reconciler
	*cast

	t         *testing.T
	server    *apitest.Server
	namespace string
	// claimCache is what shows the claims; nil means the client.
	claimCache client.Client
}

// Reconcile is a pass as the queue makes it.
func (w *world) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w.HostClaims.Client, w.HostClaims.Live = w.Client, w.Live
	if w.claimCache != nil {
		w.HostClaims.Client = w.claimCache
	}
	return queue.Conflicts(w.Reconciler).Reconcile(ctx, req)
}

// newWorld creates the cast in a namespace of its own. The calls replace the
// requests of the controller.
func newWorld(t *testing.T, calls interceptor.Funcs, c *cast) *world {
	t.Helper()
	return newWorldIn(t, &server, server.Namespace(t), calls, c)
}

// newWorldIn creates the cast in a namespace of an API server.
func newWorldIn(t *testing.T, server *apitest.Server, namespace string, calls interceptor.Funcs, c *cast) *world {
	t.Helper()
	reader, err := server.NewClient(t.Context(), calls, hostclaims.SetupIndexes, watch.IndexByCluster(&clusterv1.Machine{}, &infrav1.Metal3Machine{}), SetupIndexes)
	expect.NoError(t, err)
	w := &world{t: t, cast: c, server: server, namespace: namespace, Reconciler: &Reconciler{
		Client: reader, Live: reader, HostClaims: hostclaims.Clients{Local: served(true), Remote: &connections{}}, Nodes: &fakeNodes{readErr: workload.ErrNotConnected},
		Secrets: secretwatch.New(nil, ExportLabels()...), Recorder: events.NewFakeRecorder(100), Metrics: NewMetrics(prometheus.NewRegistry()),
		Clock: clocktesting.NewFakePassiveClock(noon.Time),
	}}
	w.populate()
	return w
}

// populate creates the cast from top to bottom, so that each knows the UIDs of
// those above it.
func (w *world) populate() {
	w.t.Helper()
	if w.owner != nil {
		w.create(w.owner)
	}
	if w.cluster != nil {
		w.create(w.cluster)
	}
	if w.secret != nil {
		w.create(w.secret)
	}
	if w.machine == nil {
		return
	}
	if len(w.machine.OwnerReferences) > 0 && w.owner != nil {
		w.machine.OwnerReferences[0].UID = w.owner.UID
	}
	w.create(w.machine)
	if w.claim != nil {
		w.applyFirst(w.claim)
	}
	if w.dataClaim != nil {
		w.dataClaim.OwnerReferences[0].UID = w.machine.UID
		w.create(w.dataClaim)
	}
}

// create creates objects in the namespace of the world.
func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		o.SetNamespace(w.namespace)
		w.server.Create(w.t, o)
	}
}

// applyFirst creates the claim as the controller would have done.
func (w *world) applyFirst(claim *bmov1alpha1.HostClaim) {
	w.t.Helper()
	claim.Namespace, claim.Spec.ConsumerRef.Namespace, claim.Spec.ConsumerRef.UID = w.namespace, w.namespace, w.machine.UID
	expect.NoError(w.t, patch.Apply(w.t.Context(), w.server.Client, claim, infrav1.MachineFieldOwner))
	wanted := claim.DeepCopy()
	w.get(claim)
	w.server.SetStatus(w.t, claim, wanted)
}

// get reads an object anew.
func (w *world) get(o client.Object) {
	w.t.Helper()
	key := client.ObjectKey{Namespace: w.namespace, Name: o.GetName()}
	if err := w.server.Client.Get(w.t.Context(), key, o); err != nil {
		w.t.Fatalf("get %T %s: %v", o, o.GetName(), err)
	}
}

// read reads what has a name.
func read[T any, P interface {
	*T
	client.Object
}](w *world, name string) P {
	w.t.Helper()
	o := P(new(T))
	o.SetName(name)
	w.get(o)
	return o
}

// settle reconciles until the machine has its finalizer, and once more. It returns the machine, nil if it is gone, and the
// last error.
func (w *world) settle() (*infrav1.Metal3Machine, error) {
	w.t.Helper()
	var err error
	for range 3 {
		_, err = w.Reconcile(w.t.Context(), request(w.namespace, "m-1"))
	}
	m := &infrav1.Metal3Machine{}
	if get := w.server.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "m-1"}, m); get != nil {
		return nil, err
	}
	return m, err
}

// settled settles without an error.
func (w *world) settled() *infrav1.Metal3Machine {
	w.t.Helper()
	m, err := w.settle()
	expect.NoError(w.t, err)
	return m
}

// fails settles with an error, and the machine stays.
func (w *world) fails() *infrav1.Metal3Machine {
	w.t.Helper()
	m, err := w.settle()
	if err == nil || m == nil {
		w.t.Fatalf("machine is %v, error %v", m, err)
	}
	return m
}

// goes settles, and the machine is gone then.
func (w *world) goes() {
	w.t.Helper()
	if m := w.settled(); m != nil {
		w.t.Fatalf("machine stays: %v", m)
	}
}

// once reconciles once, without an error.
func (w *world) once() {
	w.t.Helper()
	_, err := w.Reconcile(w.t.Context(), request(w.namespace, "m-1"))
	expect.NoError(w.t, err)
}

// edit changes an object, as another program does.
func (w *world) edit(o client.Object, change func()) {
	w.t.Helper()
	before := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of the original
	change()
	expect.NoError(w.t, w.server.Client.Patch(w.t.Context(), o, client.MergeFrom(before)))
}

// there are the connections to the clusters of the hosts.
func (w *world) there() *connections { return w.HostClaims.Remote.(*connections) } //nolint:forcetypeassert // see newWorld

func request(namespace, name string) ctrl.Request { return watch.Requests(namespace, name)[0] }

// record keeps the events from now on.
func (w *world) record() *events.FakeRecorder {
	recorder := events.NewFakeRecorder(100)
	w.Recorder = recorder
	return recorder
}

// through returns a client whose requests take the calls first.
func (w *world) through(calls interceptor.Funcs) client.WithWatch {
	return interceptor.NewClient(w.Client.(client.WithWatch), calls) //nolint:forcetypeassert // see newWorld
}

// served is a cluster that serves claims, or does not.
type served bool

func (s served) Available(context.Context) (bool, error) { return bool(s), nil }

func (s served) Started() bool { return bool(s) }

// connections are connections to other clusters whose answer is given.
type connections struct {
	site    remote.Site
	problem *identity.Problem
	asked   []identity.Ref
	freed   int
}

func (c *connections) Site(_ remote.User, ref identity.Ref) (remote.Site, *identity.Problem) {
	c.asked = append(c.asked, ref)
	return c.site, c.problem
}

func (c *connections) Bind(remote.User, string) {}

func (c *connections) Release(remote.User) { c.freed++ }

func (c *connections) Source(string, func(context.Context, types.NamespacedName) []ctrl.Request) source.Source {
	return nil
}

// fakeNodes is a workload cluster whose answers are given.
type fakeNodes struct {
	found             []nodes.Node
	watchErr, readErr error
	patchErr          error
	patched           []nodes.Patch
}

func (n *fakeNodes) Candidates(context.Context, client.ObjectKey, nodes.Query) ([]nodes.Node, error) {
	return n.found, n.readErr
}

func (n *fakeNodes) Patch(_ context.Context, _ client.ObjectKey, p nodes.Patch) error {
	n.patched = append(n.patched, p)
	return n.patchErr
}

func (n *fakeNodes) Watch(context.Context, client.ObjectKey, clustercache.SourceWatcher[ctrl.Request], workload.MapFunc) error {
	return n.watchErr
}

func (n *fakeNodes) Connections(string, handler.MapFunc) source.Source { return nil }
