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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// claimOf is the claim of a Metal3Machine, bound and with facts.
func claimOf(machine string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "claim-of-" + machine},
		Spec:       bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{Kind: "Metal3Machine", Name: machine}},
	}
}

func factsOf(owner client.Object, kind string) *bmov1alpha1.HardwareData {
	return &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
		Name: "facts", OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner.GetName()}},
	}}
}

func machineFor(kind, infra string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "owner"},
		Spec: clusterv1.MachineSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupName, Kind: kind, Name: infra,
		}},
	}
}

func TestWakes(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast())
	create(w, []*infrav1.Metal3MachineTemplate{templateIn("a", "former")})
	claim := claimOf("m-1")
	create(w, []*bmov1alpha1.HostClaim{claim})
	unclaimed := claimOf("m-1")
	unclaimed.Spec.ConsumerRef = nil
	others := claimOf("m-1")
	others.Spec.ConsumerRef.Kind = "Server"

	toConsumer := hostclaims.ToConsumer(w.Client, w.named)
	tests := map[string]struct {
		woken []string
		by    func(o client.Object) []string
		event client.Object
	}{
		"a Metal3Machine wakes its template":                  {[]string{name}, w.names(toTemplate), madeFrom(name, "m-1")},
		"one made by hand wakes nothing":                      {nil, w.names(toTemplate), &infrav1.Metal3Machine{}},
		"a claim wakes the template of its consumer":          {[]string{name}, w.names(toConsumer), claim},
		"a claim of a machine that is gone wakes nothing":     {nil, w.names(toConsumer), claimOf("gone")},
		"a claim without consumer wakes nothing":              {nil, w.names(toConsumer), unclaimed},
		"a claim of another consumer wakes nothing":           {nil, w.names(toConsumer), others},
		"an object without a claim wakes nothing":             {nil, w.names(toConsumer), madeFrom(name, "m-1")},
		"facts wake the template by the claim that owns them": {[]string{name}, w.names(toConsumer), factsOf(claim, "HostClaim")},
		"facts of a claim that is gone wake nothing":          {nil, w.names(toConsumer), factsOf(claimOf("gone"), "HostClaim")},
		"facts that a host owns wake nothing":                 {nil, w.names(toConsumer), factsOf(claim, "BareMetalHost")},
		"a Machine wakes the template of its infrastructure":  {[]string{name}, w.names(w.machineToTemplate), machineFor("Metal3Machine", "m-1")},
		"a Machine of another infrastructure wakes nothing":   {nil, w.names(w.machineToTemplate), machineFor("OtherMachine", "m-1")},
		"something else is no Machine":                        {nil, w.names(w.machineToTemplate), claim},
		"a Cluster wakes the templates that it owns":          {[]string{"former", name}, w.names(w.clusterToTemplates), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}},
		"a Cluster wakes no templates of others":              {nil, w.names(w.clusterToTemplates), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tc.event.SetNamespace(w.key.Namespace)
			expect.Equal(t, tc.woken, tc.by(tc.event))
		})
	}
}

func TestWhatMakesADifference(t *testing.T) {
	claim := func(change func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
		c := claimOf("m-1")
		change(c)
		return c
	}
	facts := func(change func(*bmov1alpha1.HardwareDetails)) *bmov1alpha1.HardwareData {
		d := &bmov1alpha1.HardwareDetails{RAMMebibytes: 1024, CPU: bmov1alpha1.CPU{Count: 2, Arch: "x86_64"}}
		change(d)
		return &bmov1alpha1.HardwareData{Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: d}}
	}
	machine := func(change func(*infrav1.Metal3Machine)) *infrav1.Metal3Machine {
		m := madeFrom(name, "m-1")
		change(m)
		return m
	}
	node := func(info *corev1.NodeSystemInfo) *clusterv1.Machine {
		return &clusterv1.Machine{Status: clusterv1.MachineStatus{NodeInfo: info}}
	}
	linux := &corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.36.0"}
	upgraded := &corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.36.1"}

	tests := map[string]struct {
		lets          func(event.UpdateEvent) bool
		before, after client.Object
		want          bool
	}{
		"a machine begins to be deleted": {
			watch.Whenever(differentMachine).UpdateFunc, madeFrom(name, "m-1"),
			machine(func(m *infrav1.Metal3Machine) { m.DeletionTimestamp = &metav1.Time{Time: time.Now()} }), true,
		},
		"a machine gets its Machine": {
			watch.Whenever(differentMachine).UpdateFunc, machine(func(m *infrav1.Metal3Machine) { m.OwnerReferences = nil }), madeFrom(name, "m-1"), true,
		},
		"a machine gets its origin": {
			watch.Whenever(differentMachine).UpdateFunc, machine(func(m *infrav1.Metal3Machine) { m.Annotations = nil }), madeFrom(name, "m-1"), true,
		},
		"a machine gets another cleaning mode": {
			watch.Whenever(differentMachine).UpdateFunc, madeFrom(name, "m-1"),
			machine(func(m *infrav1.Metal3Machine) { m.Spec.AutomatedCleaningMode = infrav1.CleaningModeDisabled }), true,
		},
		"a machine is unpaused": {
			watch.Whenever(differentMachine).UpdateFunc,
			machine(func(m *infrav1.Metal3Machine) { m.Annotations[clusterv1.PausedAnnotation] = "" }), madeFrom(name, "m-1"), true,
		},
		"a machine makes progress": {
			watch.Whenever(differentMachine).UpdateFunc, madeFrom(name, "m-1"),
			machine(func(m *infrav1.Metal3Machine) { m.Spec.ProviderID = "metal3://a/b/c" }), false,
		},
		"a claim points at facts": {
			watch.Whenever(differentClaim).UpdateFunc, claimOf("m-1"),
			claim(func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData = &bmov1alpha1.ObjectReference{Name: "facts"} }), true,
		},
		"a claim is bound": {
			watch.Whenever(differentClaim).UpdateFunc,
			claim(func(c *bmov1alpha1.HostClaim) { c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Name: "server"} }),
			claim(func(c *bmov1alpha1.HostClaim) {
				c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Name: "server"}
				c.Status.Conditions = []metav1.Condition{{Type: "Associated", Status: "True"}}
			}), true,
		},
		"a claim gets another consumer": {watch.Whenever(differentClaim).UpdateFunc, claimOf("m-1"), claimOf("m-2"), true},
		"a claim is powered on": {
			watch.Whenever(differentClaim).UpdateFunc, claimOf("m-1"), claim(func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true }), false,
		},
		"a server has more memory": {
			watch.Whenever(differentHardware).UpdateFunc, facts(func(*bmov1alpha1.HardwareDetails) {}),
			facts(func(d *bmov1alpha1.HardwareDetails) { d.RAMMebibytes *= 2 }), true,
		},
		"a server has other CPUs": {
			watch.Whenever(differentHardware).UpdateFunc, facts(func(*bmov1alpha1.HardwareDetails) {}),
			facts(func(d *bmov1alpha1.HardwareDetails) { d.CPU.Arch = "aarch64" }), true,
		},
		"facts get their owner": {
			watch.Whenever(differentHardware).UpdateFunc, &bmov1alpha1.HardwareData{}, factsOf(claimOf("m-1"), "HostClaim"), true,
		},
		"a server gets another address": {
			watch.Whenever(differentHardware).UpdateFunc, facts(func(*bmov1alpha1.HardwareDetails) {}),
			facts(func(d *bmov1alpha1.HardwareDetails) { d.NIC = []bmov1alpha1.NIC{{IP: "192.0.2.1"}} }), false,
		},
		"a Node tells its system":   {watch.Whenever(differentNode).UpdateFunc, node(nil), node(linux), true},
		"a Node gets a new kubelet": {watch.Whenever(differentNode).UpdateFunc, node(linux), node(upgraded), false},
		"a Machine gets its infrastructure": {
			watch.Whenever(differentNode).UpdateFunc, &clusterv1.Machine{}, machineFor("Metal3Machine", "m-1"), true,
		},
		"something else": {watch.Whenever(differentNode).UpdateFunc, claimOf("m-1"), claimOf("m-2"), false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			if got := tc.lets(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("lets it through: %v", got)
			}
		})
	}
}

func TestOwningClusters(t *testing.T) {
	owner := func(version, kind, of string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: of, UID: types.UID(of)}
	}
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		owner("cluster.x-k8s.io/v1beta2", "Cluster", "a"),
		owner("cluster.x-k8s.io/v1beta1", "Cluster", "b"),
		owner("cluster.x-k8s.io/v1beta2", "ClusterClass", "c"),
		owner("example.com/v1", "Cluster", "d"),
		owner("a/b/c", "Cluster", "e"),
	}}}
	expect.Equal(t, []string{"a", "b"}, clustersOf(template))
}

// names makes a map function return names only.
func (w *world) names(mapped func(context.Context, client.Object) []ctrl.Request) func(client.Object) []string {
	return func(o client.Object) []string {
		var found []string
		for _, request := range mapped(w.t.Context(), o) {
			found = append(found, request.Name)
		}
		return found
	}
}
