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
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	running  = infrav1.RemediationPhaseRunning
	waiting  = infrav1.RemediationPhaseWaiting
	deleting = infrav1.RemediationPhaseDeletingMachine
	failed   = infrav1.RemediationPhaseFailed

	timeout = 10 * time.Minute
)

// start is when the story of each test begins.
var start = time.Now().Truncate(time.Second)

var (
	errBroken = errors.New("broken")
	errDead   = errors.New("the manager is dead")
)

// objects are those that a test begins with; nil means that there is none.
type objects struct {
	remediation, other *infrav1.Metal3Remediation
	cluster            *clusterv1.Cluster
	machine            *clusterv1.Machine
	metal3Machine      *infrav1.Metal3Machine
	claim              *bmov1alpha1.HostClaim
	node               *corev1.Node
	pod                *corev1.Pod
	volume             *storagev1.VolumeAttachment
	// workload is how requests to the workload cluster fail, nil for not at all.
	workload error
	// unreadable is why the claim cannot be read; empty if it can.
	unreadable string
}

// newObjects are a remediation that has just been made for a machine with a server that is on and
// a Node, and the finalizer that the first pass adds.
func newObjects(changes ...func(*objects)) *objects {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "tenant", Name: name, UID: "uid"}
	}
	o := &objects{
		remediation: &infrav1.Metal3Remediation{ObjectMeta: meta("m-1")},
		cluster:     &clusterv1.Cluster{ObjectMeta: meta("a")},
		machine: &clusterv1.Machine{ObjectMeta: meta("m-1"), Spec: clusterv1.MachineSpec{
			ClusterName:       "a",
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "Metal3Machine", Name: "m-1"},
		}},
		metal3Machine: &infrav1.Metal3Machine{ObjectMeta: meta("m-1")},
		claim: &bmov1alpha1.HostClaim{ObjectMeta: meta("m-1"), Spec: bmov1alpha1.HostClaimSpec{
			PoweredOn: true, CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "install"},
			ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Namespace: "tenant", Name: "m-1", UID: "uid"},
		}},
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-1"}},
	}
	o.remediation.Finalizers = []string{infrav1.RemediationFinalizer}
	o.remediation.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m-1", UID: "uid"},
	}
	o.machine.Status.NodeRef.Name = "n-1"
	o.claim.Status.PoweredOn = true
	o.claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"}
	for _, kind := range []string{"Associated", "Synchronized", "Provisioned"} {
		o.claim.Status.Conditions = append(o.claim.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind})
	}
	for _, change := range changes {
		change(o)
	}
	return o
}

// world is a reconciler with one remediation, on a fake API server that is that of the workload
// cluster too.
type world struct {
	*Reconciler

	t        *testing.T
	store    client.WithWatch
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
	registry *prometheus.Registry
	objects  *objects

	// fail is how a write of the manager fails, after it was made if it arrives; nil for not at all.
	fail func(o client.Object) (err error, arrives bool)
}

func newWorld(t *testing.T, o *objects) *world {
	t.Helper()
	w := &world{
		t: t, objects: o, registry: prometheus.NewRegistry(),
		recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(start),
	}
	w.store = newStore(t, o)
	metrics := NewMetrics(w.registry)
	own := interceptor.NewClient(w.store, w.writes())
	w.Reconciler = &Reconciler{
		Client: own, Live: w.store, Claims: claimsOf{w}, Nodes: nodes.Nodes{Cache: workload{world: w}},
		Recorder: w.recorder, Metrics: metrics, Clock: w.clock,
	}
	return w
}

// newStore is a fake API server with the objects and the indexes that the controller reads by.
func newStore(t *testing.T, o *objects) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(
		corev1.AddToScheme, storagev1.AddToScheme, clusterv1.AddToScheme, bmov1alpha1.AddToScheme, infrav1.AddToScheme)
	expect.NoError(t, add.AddToScheme(scheme))
	b := fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&infrav1.Metal3Remediation{}, &clusterv1.Machine{}, &bmov1alpha1.HostClaim{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string {
			pod, ok := o.(*corev1.Pod)
			if !ok {
				return nil
			}
			return []string{pod.Spec.NodeName}
		})
	for _, setup := range []func(context.Context, client.FieldIndexer) error{SetupIndexes, hostclaims.SetupIndexes} {
		expect.NoError(t, setup(t.Context(), indexer{b}))
	}
	addObject(b, o.remediation)
	addObject(b, o.other)
	addObject(b, o.cluster)
	addObject(b, o.machine)
	addObject(b, o.metal3Machine)
	addObject(b, o.claim)
	addObject(b, o.node)
	addObject(b, o.pod)
	addObject(b, o.volume)
	return b.Build()
}

func addObject[T any, P interface {
	*T
	client.Object
}](b *fake.ClientBuilder, o P) {
	if o != nil {
		b.WithObjects(o)
	}
}

// indexer hands indexes to a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(o, field, extract)
	return nil
}

// writes lets the writes of the manager fail.
func (w *world) writes() interceptor.Funcs {
	do := func(o client.Object, patch func() error) error {
		if w.fail == nil {
			return patch()
		}
		err, arrives := w.fail(o)
		if err != nil && !arrives {
			return err
		}
		return cmp.Or(patch(), err)
	}
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return do(o, func() error { return c.Patch(ctx, o, p, options...) })
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
		) error {
			return do(o, func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
	}
}

// claimsOf finds the claim in the namespace of the machine, if it can be read.
type claimsOf struct{ world *world }

func (c claimsOf) Of(ctx context.Context, machine *infrav1.Metal3Machine) (*hostclaims.Client, bool, error) {
	if c.world.objects.unreadable != "" {
		conditions.Set(machine, metav1.Condition{
			Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionFalse, Reason: "Unreachable", Message: c.world.objects.unreadable,
		})
		return nil, false, nil
	}
	return hostclaims.Clients{Client: c.world.Client, Live: c.world.Live, Local: served{}}.Of(ctx, machine)
}

// served is a cluster that serves claims.
type served struct{}

func (served) Available(context.Context) (bool, error) { return true, nil }

func (served) Started() bool { return true }

// workload is the connection to the workload cluster.
type workload struct {
	clustercache.ClusterCache // nil: what is not written here is not used

	world *world
}

func (w workload) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return w.world.Client, w.world.objects.workload
}

func (w workload) Watch(context.Context, client.ObjectKey, clustercache.Watcher) error { return nil }

// pass reconciles once.
func (w *world) pass() (ctrl.Result, error) {
	return w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "tenant", Name: "m-1"}})
}

// read reads an object of the world, and reports whether it is there.
func (w *world) read(o client.Object) bool {
	w.t.Helper()
	err := w.store.Get(w.t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return err == nil
}

// edit changes an object, as another program does.
func (w *world) edit(o client.Object, change func()) {
	w.t.Helper()
	before := w.changed(o, change)
	expect.NoError(w.t, w.store.Patch(w.t.Context(), o, client.MergeFrom(before)))
}

// editStatus changes the status of an object, as another program does.
func (w *world) editStatus(o client.Object, change func()) {
	w.t.Helper()
	before := w.changed(o, change)
	expect.NoError(w.t, w.store.Status().Patch(w.t.Context(), o, client.MergeFrom(before)))
}

// changed reads an object and changes it, and returns what it was.
func (w *world) changed(o client.Object, change func()) (before client.Object) {
	w.t.Helper()
	if !w.read(o) {
		w.t.Fatalf("there is no %T", o)
	}
	before = o.DeepCopyObject().(client.Object)
	change()
	return before
}

// obey lets the server follow its claim.
func (w *world) obey() {
	w.read(w.objects.claim)
	on := w.objects.claim.Spec.PoweredOn && !w.held()
	if on != w.objects.claim.Status.PoweredOn {
		w.editStatus(w.objects.claim, func() { w.objects.claim.Status.PoweredOn = on })
	}
}

// leave lets Kubernetes take the Pod away from a Node that is out of service.
func (w *world) leave() {
	if pod := w.objects.pod; pod != nil && w.isTainted() && w.read(pod) {
		expect.NoError(w.t, w.store.Delete(w.t.Context(), pod))
	}
}

func (w *world) held() bool {
	return w.read(w.objects.claim) && w.objects.claim.Annotations["reboot.metal3.io/metal3-remediation.m-1"] != ""
}

func (w *world) isTainted() bool { return w.read(w.objects.node) && tainted(w.objects.node) }

func (w *world) isUnhealthy() bool {
	return w.read(w.objects.claim) && w.objects.claim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true"
}

// state is how things stand after a pass.
type state struct {
	Ready   string // status and reason of the condition
	Phase   infrav1.RemediationPhase
	Retries int32
	// Wakes is when the controller looks again by itself, from the beginning of the story on.
	Wakes time.Duration
	// Marks are what the remediation has left on claim, Node and Machine, and whether it is gone.
	Marks string
	// Told are the reasons of events.
	Told []string
}

// state is how things stand after a pass with that result, and the message of the condition.
func (w *world) state(result ctrl.Result) (s state, message string) {
	w.t.Helper()
	if result.RequeueAfter > 0 {
		s.Wakes = w.clock.Now().Add(result.RequeueAfter).Sub(start)
	}
	var marks []string
	mark := func(is bool, name string) {
		if is {
			marks = append(marks, name)
		}
	}
	o := w.objects
	mark(o.claim != nil && w.held(), "held")
	mark(o.claim != nil && w.isUnhealthy(), "unhealthy")
	mark(o.node != nil && w.isTainted(), "tainted")
	mark(w.read(o.machine) && conditions.IsFalse(o.machine, clusterv1.MachineOwnerRemediatedCondition), "handed back")
	there := w.read(o.remediation)
	mark(!there, "gone")
	s.Marks = strings.Join(marks, ", ")
	if there {
		s.Phase, s.Retries = o.remediation.Status.Phase, o.remediation.Status.RetryCount
		if ready := conditions.Get(o.remediation, infrav1.ReadyCondition); ready != nil {
			s.Ready, message = fmt.Sprintf("%s/%s", ready.Status, ready.Reason), ready.Message
		}
	}
	s.Told = w.told()
	return s, message
}

// told returns the reasons of the events since the last call.
func (w *world) told() []string {
	var told []string
	for len(w.recorder.Events) > 0 {
		told = append(told, strings.Fields(<-w.recorder.Events)[1])
	}
	return slices.Clip(told)
}
