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
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// names makes requests comparable: those of the namespace by their name only.
func names(namespace string, woken []ctrl.Request) []string {
	var all []string
	for _, r := range woken {
		all = append(all, strings.TrimPrefix(r.String(), namespace+"/"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestWatches shows for every kind of event which machines it wakes.
func TestWatches(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(running))
	inA := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.namespace, Name: name} }
	owned := func(kind, name string) metav1.ObjectMeta {
		m := inA("x")
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: kind, Name: name}}
		return m
	}
	facts := &bmov1alpha1.HardwareData{ObjectMeta: owned("HostClaim", "m-1")}
	facts.Annotations = map[string]string{infrav1.HostUIDAnnotation: "host-uid"}
	second := newCast().machine
	second.Name, second.Spec.NetworkData = "m-2", &corev1.SecretReference{Name: "own"}
	other := newCast().machine
	other.Name, other.Labels = "m-9", nil
	facts.OwnerReferences[0].UID = "u"
	far := newCast().machine
	far.Name, far.Labels = "m-3", map[string]string{clusterv1.ClusterNameLabel: "far"}
	far.Annotations = map[string]string{infrav1.EffectiveIdentityAnnotation: "{}"}
	far.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
	far.Status.UserData, far.Status.NetworkData = &corev1.SecretReference{Name: "far-boot"}, &corev1.SecretReference{Name: "net"}
	second.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
	w.create(facts, second, other, far)
	renamed := w.claim.DeepCopy()
	renamed.Name = "reserved-7"

	kept := renamed.DeepCopy()
	kept.Spec.ConsumerRef, kept.Spec.Image = nil, nil
	kept.Labels = map[string]string{infrav1.NodeReuseLabel: "md-x", clusterv1.ClusterNameLabel: "a"}
	kept.Annotations = map[string]string{infrav1.ReservedByAnnotation: "m-8/uid"}
	member := inA("x")
	member.Labels = map[string]string{clusterv1.ClusterNameLabel: "a"}
	cloned := newCast().machine
	cloned.Name, cloned.Labels = "m-4", map[string]string{clusterv1.ClusterNameLabel: "b"}
	cloned.Annotations = map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation: "x", clusterv1.TemplateClonedFromGroupKindAnnotation: claims.TemplateKind,
	}
	asking := cloned.DeepCopy()
	asking.Name, asking.Status.HostClaim = "m-5", &infrav1.Metal3ObjectRef{Name: "m-5"}
	misled := asking.DeepCopy()
	misled.Name = "m-6"
	misled.Status.Conditions = []metav1.Condition{{
		Type: infrav1.AssociateMetal3MachineMetaDataCondition, Status: metav1.ConditionFalse,
		Reason: infrav1.InvalidConfigurationReason, LastTransitionTime: noon,
	}}
	w.create(cloned, asking, misled)

	node := func(providerID, uid string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: providerID}}
		if uid != "" {
			n.Labels = map[string]string{infrav1.NodeUUIDLabel: uid}
		}
		return n
	}
	cluster, farCluster := client.ObjectKey{Namespace: w.namespace, Name: "a"}, client.ObjectKey{Namespace: w.namespace, Name: "far"}
	ctx := t.Context()
	one, both := []string{"m-1"}, []string{"m-1", "m-2"}
	tests := map[string]struct {
		got  []ctrl.Request
		want []string
	}{
		"a claim wakes its consumer":                            {w.claimToMachines(ctx, w.claim), one},
		"a claim of another name also wakes its namesake":       {w.claimToMachines(ctx, renamed), []string{"m-1", "reserved-7"}},
		"a foreign claim wakes the machine it is in the way of": {w.claimToMachines(ctx, &bmov1alpha1.HostClaim{ObjectMeta: inA("m-1")}), one},
		"a reserved claim wakes the machine that left it, and those without a claim": {
			w.claimToMachines(ctx, kept), []string{"m-1", "m-2", "m-8", "reserved-7"},
		},
		"the end of a machine wakes those of its Cluster without a claim": {
			w.memberToMachines(ctx, &infrav1.Metal3Machine{ObjectMeta: member}), both,
		},
		"a MachineDeployment does too": {w.memberToMachines(ctx, &clusterv1.MachineDeployment{ObjectMeta: member}), both},
		"a template wakes those made from it that have no claim, or that it misleads": {
			w.templateToMachines(ctx, &infrav1.Metal3MachineTemplate{ObjectMeta: inA("x")}), []string{"m-4", "m-6"},
		},
		"what belongs to no Cluster wakes none":             {w.memberToMachines(ctx, &infrav1.Metal3Machine{ObjectMeta: inA("x")}), nil},
		"something else is no claim":                        {w.claimToMachines(ctx, &corev1.Pod{}), nil},
		"facts wake the consumer of their claim":            {w.claimToMachines(ctx, facts), one},
		"facts of a claim that is gone wake none":           {w.claimToMachines(ctx, &bmov1alpha1.HardwareData{ObjectMeta: owned("HostClaim", "gone")}), nil},
		"facts of a host wake none":                         {w.claimToMachines(ctx, &bmov1alpha1.HardwareData{ObjectMeta: owned("BareMetalHost", "h")}), nil},
		"a Cluster wakes its machines":                      {w.clusterToMachines(ctx, &clusterv1.Cluster{ObjectMeta: inA("a")}), both},
		"a Metal3Cluster wakes the machines of its Cluster": {w.infraToMachines(ctx, &infrav1.Metal3Cluster{ObjectMeta: owned("Cluster", "a")}), both},
		"a bootstrap secret wakes its machine":              {w.secretToMachines(ctx, w.namespace, "boot"), one},
		"user data of a machine wakes it":                   {w.secretToMachines(ctx, w.namespace, "own"), []string{"m-2"}},
		"a source of metadata wakes its machines":           {w.secretToMachines(ctx, w.namespace, "meta"), []string{"m-2", "m-3"}},
		"a rendered source of copies does too":              {w.secretToMachines(ctx, w.namespace, "net"), []string{"m-3"}},
		"a bootstrap secret that was copied does too":       {w.secretToMachines(ctx, w.namespace, "far-boot"), []string{"m-3"}},
		"a connection wakes the machine that uses it":       {self(ctx, client.ObjectKey{Namespace: w.namespace, Name: "m-3"}), []string{"m-3"}},
		"a Node on a remote host wakes those with such":     {w.nodeToMachines(ctx, farCluster, node("", "far-uid")), []string{"m-3"}},
		"metadata wakes the machine whose name it has":      {w.secretToMachines(ctx, w.namespace, "m-1-metadata"), one},
		"another secret wakes none":                         {w.secretToMachines(ctx, w.namespace, "other"), nil},
		"new rights in a namespace wake all its machines":   {w.secretToMachines(ctx, w.namespace, ""), append(both, "m-3", "m-4", "m-5", "m-6", "m-9")},
		"a Node wakes the machine that it names":            {w.nodeToMachines(ctx, cluster, node("metal3://"+w.namespace+"/h/m-7", "")), []string{"m-7"}},
		"a Node wakes the machine on its host":              {w.nodeToMachines(ctx, cluster, node("", "host-uid")), one},
		"a Node on an unknown host wakes none":              {w.nodeToMachines(ctx, cluster, node("", "unknown")), nil},
		"a Node that says nothing wakes the Cluster":        {w.nodeToMachines(ctx, cluster, node("", "")), both},
		"a Node wakes no machine of another namespace":      {w.nodeToMachines(ctx, cluster, node("metal3://tenant-b/h/m-7", "unknown")), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, names(w.namespace, tc.got)) })
	}
}

// TestNodesWithoutKinds shows that in a cluster without HostClaims a Node wakes the
// machines whose hosts are in other clusters.
func TestNodesWithoutKinds(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) {
		c.machine.Annotations = map[string]string{infrav1.EffectiveIdentityAnnotation: "{}"}
	}))
	w.HostClaims.Local = served(false)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{infrav1.NodeUUIDLabel: "uid"}}}
	got := names(w.namespace, w.nodeToMachines(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, node))
	expect.Equal(t, []string{"m-1"}, got)
}

// TestWhenLeaving shows which changes of a machine wake those that may take over its claim.
func TestWhenLeaving(t *testing.T) {
	now := metav1.Now()
	says := func(reason string, deleted *metav1.Time) *infrav1.Metal3Machine {
		m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted, Finalizers: []string{infrav1.MachineFinalizer}}}
		m.Status.HostClaim = &infrav1.Metal3ObjectRef{Name: "claim"}
		capiconditions.Set(m, metav1.Condition{Type: infrav1.HostClaimReadyCondition, Status: metav1.ConditionFalse, Reason: reason})
		return m
	}
	paused := func(m *infrav1.Metal3Machine) *infrav1.Metal3Machine {
		m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		return m
	}
	released := func(m *infrav1.Metal3Machine) *infrav1.Metal3Machine {
		m.Finalizers = []string{"example.com/other"}
		return m
	}
	tests := map[string]struct {
		before, after *infrav1.Metal3Machine
		want          bool
	}{
		"it begins to leave":                      {says(infrav1.ProvisionedReason, nil), says(infrav1.ProvisionedReason, &now), false},
		"it reserves its claim, which wakes them": {says(infrav1.ProvisionedReason, &now), says(infrav1.ReservedReason, &now), false},
		"it deletes its claim":                    {says(infrav1.ProvisionedReason, &now), says(infrav1.DeprovisioningReason, &now), true},
		"it has deleted its claim already":        {says(infrav1.DeprovisioningReason, &now), says(infrav1.DeletionFailedReason, &now), false},
		"it is paused":                            {says(infrav1.ReservedReason, &now), paused(says(infrav1.ReservedReason, &now)), true},
		"it goes on":                              {paused(says(infrav1.ReservedReason, &now)), says(infrav1.ReservedReason, &now), false},
		"it is released":                          {says(infrav1.ReservedReason, &now), released(says(infrav1.ReservedReason, &now)), true},
		"it stays and makes steps":                {says(infrav1.ProvisioningReason, nil), says(infrav1.ProvisionedReason, nil), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tc.want, whenLeaving().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}))
		})
	}
	expect.Equal(t, false, whenLeaving().Create(event.CreateEvent{Object: says(infrav1.ReservedReason, &now)}))
	ends := func(reason string) bool {
		return whenLeaving().Delete(event.DeleteEvent{Object: released(says(reason, &now))})
	}
	expect.Equal(t, []bool{true, false}, []bool{ends(infrav1.ReservedReason), ends(infrav1.DeprovisioningReason)}) // which woke them already
}

// lets reports whether a predicate lets the event of a change through.
func lets[T client.Object](p predicate.Predicate, before T, change func(T)) bool {
	after := before.DeepCopyObject().(T) //nolint:forcetypeassert // a copy has the type of the original
	change(after)
	return p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
}

// TestWhatTheClusterTells shows which changes of the objects above wake all machines of a Cluster,
// which are as many passes.
func TestWhatTheClusterTells(t *testing.T) {
	meta := metav1.ObjectMeta{UID: "1", Generation: 1, Annotations: map[string]string{"a": "1"}}
	three := &clusterv1.ClusterControlPlaneStatus{DesiredReplicas: ptr.To[int32](3)}
	cluster := &clusterv1.Cluster{ObjectMeta: meta, Status: clusterv1.ClusterStatus{ControlPlane: three}}
	unknown := &clusterv1.Cluster{ObjectMeta: meta}
	infra, machine := &infrav1.Metal3Cluster{ObjectMeta: meta}, &clusterv1.Machine{ObjectMeta: meta}
	ofCluster, ofInfra := watch.Whenever(differentCluster), watch.Whenever(differentApartFromStatus[*infrav1.Metal3Cluster])
	ofMachine := watch.Whenever(differentMachine)
	now := metav1.Now()
	for name, tc := range map[string]struct{ got, want bool }{
		"a Cluster counts its Machines": {lets(ofCluster, cluster, func(c *clusterv1.Cluster) {
			c.ResourceVersion, c.Status.Workers = "2", &clusterv1.WorkersStatus{ReadyReplicas: ptr.To[int32](4)}
			c.Status.ControlPlane.ReadyReplicas = ptr.To[int32](2)
			c.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionFalse}}
			c.Annotations = map[string]string{"x": "y"}
		}), false},
		"another Cluster has its name": {lets(ofCluster, cluster, func(c *clusterv1.Cluster) { c.UID = "2" }), true},
		"it is paused":                 {lets(ofCluster, cluster, func(c *clusterv1.Cluster) { c.Generation++ }), true},
		"it is deleted":                {lets(ofCluster, cluster, func(c *clusterv1.Cluster) { c.DeletionTimestamp = &now }), true},
		"its infrastructure is there": {lets(ofCluster, cluster, func(c *clusterv1.Cluster) {
			c.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		}), true},
		"its control plane becomes larger": {lets(ofCluster, cluster, func(c *clusterv1.Cluster) {
			c.Status.ControlPlane.DesiredReplicas = ptr.To[int32](5)
		}), true},
		"its control plane becomes known": {lets(ofCluster, unknown, func(c *clusterv1.Cluster) {
			c.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{}
		}), true},
		"a Metal3Cluster says something": {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) {
			c.ResourceVersion, c.Status.Conditions = "2", []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		}), false},
		"it names another identity":     {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) { c.Generation++ }), true},
		"other labels are synchronized": {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) { c.Annotations = nil }), true},
		"it gets its Cluster": {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) {
			c.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "a"}}
		}), true},
		"it is labeled with its Cluster":    {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) { c.Labels = map[string]string{"a": "b"} }), true},
		"another Metal3Cluster is in place": {lets(ofInfra, infra, func(c *infrav1.Metal3Cluster) { c.UID = "2" }), true},
		"a Machine reports its steps": {lets(ofMachine, machine, func(m *clusterv1.Machine) {
			m.ResourceVersion, m.Status.Phase = "2", string(clusterv1.MachinePhaseProvisioning)
			m.Status.NodeRef = clusterv1.MachineNodeReference{Name: "n"}
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse}}
			m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		}), false},
		"it is remediated": {lets(ofMachine, machine, func(m *clusterv1.Machine) {
			m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse}}
		}), true},
		"it has bootstrap data":    {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.Generation++ }), true},
		"it goes":                  {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.DeletionTimestamp = &now }), true},
		"it asks for a rebuild":    {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.Annotations = nil }), true},
		"it is labeled":            {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.Labels = map[string]string{"a": "b"} }), true},
		"it gets its owner":        {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }), true},
		"another one has its name": {lets(ofMachine, machine, func(m *clusterv1.Machine) { m.UID = "2" }), true},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.got) })
	}
}
