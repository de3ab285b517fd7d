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

package machinetemplate

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// How a template is woken is shown by the stories of the module test; here is what one
// pass does, and what becomes of requests that fail.

var api apitest.Server

func TestMain(m *testing.M) { os.Exit(api.Run(m)) }

// errBroken is the error of a broken API server.
var errBroken = errors.New("broken")

const name = "workers"

// hosts are the published hosts by the name of their machine.
type hosts map[string]hardware.Host

func (h hosts) Host(_ context.Context, m *infrav1.Metal3Machine) (hardware.Host, bool, error) {
	host, found := h[m.Name]
	if host.Name == "broken" {
		return hardware.Host{}, false, errBroken
	}
	return host, found, nil
}

// cast is a template, the Clusters that there are, its machines and their hosts.
type cast struct {
	template *infrav1.Metal3MachineTemplate
	clusters []*clusterv1.Cluster
	machines []*infrav1.Metal3Machine
	owners   []*clusterv1.Machine
	hosts    hosts
}

// newCast has one machine with a server that became a Node.
func newCast(change ...func(*cast)) *cast {
	c := &cast{
		template: templateIn("a", name),
		clusters: []*clusterv1.Cluster{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}},
		machines: []*infrav1.Metal3Machine{madeFrom(name, "m-1")},
		owners: []*clusterv1.Machine{{
			ObjectMeta: metav1.ObjectMeta{Name: "m-1"},
			Status:     clusterv1.MachineStatus{NodeInfo: &corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux"}},
		}},
		hosts: hosts{"m-1": {CPUs: 32, MemoryMebibytes: 128 << 10, Architecture: "x86_64"}},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// templateIn is a template that a Cluster uses.
func templateIn(cluster, template string) *infrav1.Metal3MachineTemplate {
	return &infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: template, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster, UID: "uid"},
		}},
		Spec: infrav1.Metal3MachineTemplateSpec{Template: infrav1.Metal3MachineTemplateResource{
			Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
		}},
	}
}

func of(cpus, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus), corev1.ResourceMemory: resource.MustParse(memory)}
}

// madeFrom is a Metal3Machine that Cluster API made from the template, for the Machine
// of its own name.
func madeFrom(template, machine string) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: machine,
			Annotations: map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation:      template,
				clusterv1.TemplateClonedFromGroupKindAnnotation: claims.TemplateKind,
			},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine, UID: "uid", Controller: ptr.To(true)},
			},
		},
		Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "x"}},
	}
}

// world is what one template sees of a real API server.
type world struct {
	*Reconciler

	t        *testing.T
	key      client.ObjectKey
	recorder *events.FakeRecorder
}

// newWorld creates the cast in a namespace of its own. The calls replace the requests
// of the controller.
func newWorld(t *testing.T, calls interceptor.Funcs, c *cast) *world {
	t.Helper()
	reader, err := api.NewClient(t.Context(), calls, SetupIndexes)
	expect.NoError(t, err)
	w := &world{t: t, key: client.ObjectKey{Namespace: api.Namespace(t), Name: name}, recorder: events.NewFakeRecorder(100)}
	w.Reconciler = &Reconciler{
		Client: reader, Hosts: c.hosts, Recorder: w.recorder,
	}
	create(w, c.clusters)
	create(w, c.owners)
	create(w, c.machines)
	create(w, []*infrav1.Metal3MachineTemplate{c.template})
	return w
}

func create[T client.Object](w *world, objects []T) {
	w.t.Helper()
	for _, o := range objects {
		o.SetNamespace(w.key.Namespace)
		api.Create(w.t, o)
	}
}

// pass reconciles once and returns the status that this leaves.
func (w *world) pass() (infrav1.Metal3MachineTemplateStatus, error) {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key})
	template := &infrav1.Metal3MachineTemplate{}
	if get := api.Client.Get(w.t.Context(), w.key, template); client.IgnoreNotFound(get) != nil {
		w.t.Fatal(get)
	}
	if !result.IsZero() {
		w.t.Errorf("comes back: %v", result)
	}
	return template.Status, err
}

func TestReconcile(t *testing.T) {
	paused := func(c *cast) { c.clusters[0].Spec.Paused = ptr.To(true) }
	given := func(key, value string) func(*cast) {
		return func(c *cast) { c.template.Annotations = map[string]string{key: value} }
	}
	active := metav1.Condition{Type: infrav1.PausedCondition, Status: metav1.ConditionFalse, Reason: infrav1.NotPausedReason}
	suspended := metav1.Condition{Type: infrav1.PausedCondition, Status: metav1.ConditionTrue, Reason: infrav1.PausedReason}
	ready := func(reason string) metav1.Condition {
		return metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue, Reason: reason}
	}
	linux := &infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64, OperatingSystem: "linux"}
	observed := infrav1.Metal3MachineTemplateStatus{
		Conditions: []metav1.Condition{ready(infrav1.CapacityObservedReason), active},
		Capacity:   of("32", "128Gi"), NodeInfo: linux,
	}
	resting := infrav1.Metal3MachineTemplateStatus{Conditions: []metav1.Condition{suspended}}
	unknown := infrav1.Metal3MachineTemplateStatus{Conditions: []metav1.Condition{ready(infrav1.CapacityUnknownReason), active}}

	tests := map[string]struct {
		given *cast
		want  infrav1.Metal3MachineTemplateStatus
	}{
		"a template has what the server and the Node of its machine show": {newCast(), observed},
		"a template without machines says so": {
			newCast(func(c *cast) { c.machines = nil }), unknown,
		},
		"machines of other templates do not count": {
			newCast(func(c *cast) { c.machines[0].Annotations[clusterv1.TemplateClonedFromNameAnnotation] = "others" }), unknown,
		},
		"a machine that is being deleted does not count": {
			newCast(func(c *cast) {
				c.machines[0].Finalizers = []string{infrav1.MachineFinalizer}
				c.machines[0].DeletionTimestamp = &metav1.Time{Time: time.Now()}
			}), unknown,
		},
		"a machine that lost its Machine still has its server": {
			newCast(func(c *cast) { c.owners = nil }),
			infrav1.Metal3MachineTemplateStatus{
				Conditions: observed.Conditions, Capacity: observed.Capacity,
				NodeInfo: &infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64},
			},
		},
		"what is given wins": {
			newCast(given(infrav1.CapacityAnnotation, "cpu=4,memory=8Gi")),
			infrav1.Metal3MachineTemplateStatus{
				Conditions: []metav1.Condition{ready(infrav1.CapacityGivenReason), active}, Capacity: of("4", "8Gi"), NodeInfo: linux,
			},
		},
		"nothing is done for a template that is paused":                {newCast(given(clusterv1.PausedAnnotation, "")), resting},
		"nothing is done for a template whose Cluster is paused":       {newCast(paused), resting},
		"a Cluster that is gone pauses nothing":                        {newCast(func(c *cast) { c.clusters = nil }), observed},
		"a template of a ClusterClass has no Cluster that could pause": {newCast(paused, func(c *cast) { c.template.OwnerReferences = nil }), observed},
		"nothing is done for a template that is being deleted": {
			newCast(func(c *cast) {
				c.template.Finalizers = []string{"example.com/kept"}
				c.template.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			}), infrav1.Metal3MachineTemplateStatus{},
		},
	}
	ignored := cmp.Options{
		cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime", "Message", "ObservedGeneration"),
		cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, tc.given)
			got, err := w.pass()
			expect.NoError(t, err)
			expect.Equal(t, tc.want, got, ignored)
		})
	}
}

func TestNothingIsWrittenTwice(t *testing.T) {
	tests := map[string]func(*cast){
		// Not how the API server writes it back.
		"a capacity": func(c *cast) {
			c.template.Annotations = map[string]string{infrav1.CapacityAnnotation: "cpu=1000m,memory=1024Mi"}
		},
		"a pause": func(c *cast) { c.clusters[0].Spec.Paused = ptr.To(true) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			var writes []string
			w := newWorld(t, apitest.Writes(&writes), newCast(change))
			for range 3 {
				if _, err := w.pass(); err != nil {
					t.Fatal(err)
				}
			}
			if want := []string{"status"}; !slices.Equal(writes, want) {
				t.Errorf("the requests of three passes are %v, want %v", writes, want)
			}
		})
	}
}

func TestFilteredTemplatesAreLeftAlone(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast())
	w.WatchFilter = "mine"
	if got, err := w.pass(); err != nil || len(got.Conditions) > 0 {
		t.Errorf("error %v, status %v", err, got)
	}
}

func TestAWrongAnnotationIsReportedOnce(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) {
		c.template.Annotations = map[string]string{infrav1.CapacityAnnotation: "lots"}
	}))
	var status infrav1.Metal3MachineTemplateStatus
	for range 2 {
		var err error
		if status, err = w.pass(); err != nil {
			t.Fatal(err)
		}
	}
	ready := status.Conditions[0]
	if ready.Status != metav1.ConditionFalse || ready.Reason != infrav1.InvalidCapacityAnnotationReason ||
		!strings.Contains(ready.Message, `"lots"`) {
		t.Errorf("condition is %v", ready)
	}
	if n := len(w.recorder.Events); n != 1 {
		t.Fatalf("%d events instead of one", n)
	}
	if event := <-w.recorder.Events; !strings.Contains(event, `"lots"`) {
		t.Errorf("event is %q", event)
	}
}

func TestRequestsThatFail(t *testing.T) {
	get := func(kind client.Object) interceptor.Funcs {
		return interceptor.Funcs{Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption,
		) error {
			if reflect.TypeOf(kind) == reflect.TypeOf(o) {
				return errBroken
			}
			return c.Get(ctx, key, o, options...)
		}}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "metal3machinetemplates"}, name, errBroken)
	patch := func(err error) interceptor.Funcs {
		return interceptor.Funcs{SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return err
		}}
	}
	tests := map[string]struct {
		calls  interceptor.Funcs
		change func(*cast)
		want   error
	}{
		"a template that cannot be read": {calls: get(&infrav1.Metal3MachineTemplate{}), want: errBroken},
		"a Cluster that cannot be read":  {calls: get(&clusterv1.Cluster{}), want: errBroken},
		"a Machine that cannot be read":  {calls: get(&clusterv1.Machine{}), want: errBroken},
		"a host that cannot be read":     {change: func(c *cast) { c.hosts["m-1"] = hardware.Host{Name: "broken"} }, want: errBroken},
		"machines that cannot be listed": {calls: interceptor.Funcs{List: func(
			context.Context, client.WithWatch, client.ObjectList, ...client.ListOption,
		) error {
			return errBroken
		}}, want: errBroken},
		"a status that cannot be written":       {calls: patch(errBroken), want: errBroken},
		"a template that was written meanwhile": {calls: patch(conflict), want: conflict},
		"a template that was deleted meanwhile": {
			calls: patch(apierrors.NewNotFound(schema.GroupResource{Resource: "metal3machinetemplates"}, name)),
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			c := newCast()
			if tc.change != nil {
				tc.change(c)
			}
			status, err := newWorld(t, tc.calls, c).pass()
			if !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
			if len(status.Conditions) > 0 {
				t.Errorf("status was written all the same: %v", status)
			}
		})
	}
	t.Run("a template that is gone", func(t *testing.T) {
		w := newWorld(t, interceptor.Funcs{}, newCast())
		w.key.Name = "gone"
		if _, err := w.pass(); err != nil {
			t.Error(err)
		}
	})
}
