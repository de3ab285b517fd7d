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

package e2e

import (
	order "cmp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// belongings are what a cluster must have before and after a move.
type belongings struct {
	// Objects are the specs of its objects, and the content of its Secrets, by kind and name.
	Objects map[string]any
	// Nodes are the UIDs of its Nodes by name: a server that was written again would have joined
	// as another one.
	Nodes map[string]types.UID
	// Addresses are those of its Machines.
	Addresses map[string][]clusterv1.MachineAddress
	// Servers are what its hosts report about their servers.
	Servers map[string]server
}

// server is all that would change on a host if something was done to its server. When it was
// registered is left out: baremetal-operator logs in to a BMC again whose Secret is another object.
type server struct {
	PoweredOn    bool
	Provisioning bmov1alpha1.ProvisionStatus
	Operations   bmov1alpha1.OperationHistory
	Error        string
}

func serverOf(host *bmov1alpha1.BareMetalHost) server {
	status := host.Status.DeepCopy()
	status.OperationHistory.Register = bmov1alpha1.OperationMetric{}
	return server{status.PoweredOn, status.Provisioning, status.OperationHistory, status.ErrorMessage}
}

// belongings reads everything of the cluster where it is.
func (s *moveStory) belongings(t *testing.T) belongings {
	t.Helper()
	b := belongings{Objects: map[string]any{}, Nodes: map[string]types.UID{}, Addresses: map[string][]clusterv1.MachineAddress{}, Servers: map[string]server{}}
	stays := s.stays(t, s.here)
	for _, kind := range movedKinds() {
		for _, object := range s.objects(t, s.here, kind) {
			if name := object.GetKind() + " " + object.GetName(); !slices.Contains(stays, name) {
				b.Objects[name] = substance(object)
			}
		}
	}
	for name, node := range (&tenantCluster{s.here.tenant, s.cluster}).nodes(t) {
		b.Nodes[name] = node.UID
	}
	for _, m := range s.servers(t) {
		b.Addresses[m.Machine.Name] = m.Machine.Status.Addresses
		b.Servers[m.Host.Name] = serverOf(m.Host)
	}
	return b
}

// movedKinds are the kinds of which a cluster has objects.
func movedKinds() (kinds []schema.GroupVersionKind) {
	for version, names := range map[schema.GroupVersion][]string{
		corev1.SchemeGroupVersion:                                 {"Secret"},
		clusterv1.GroupVersion:                                    {"Cluster", "Machine", "MachineSet", "MachineDeployment"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2"}: {"KubeadmConfig", "KubeadmConfigTemplate"},
		controlplanev1.GroupVersion:                               {"KubeadmControlPlane"},
		infrav1.GroupVersion:                                      {"Metal3Cluster", "Metal3Machine", "Metal3MachineTemplate", "Metal3DataTemplate", "Metal3DataClaim", "Metal3Data"},
		bmov1alpha1.GroupVersion:                                  {"HostClaim", "BareMetalHost", "HardwareData"},
		ipamv1alpha1.GroupVersion:                                 {"IPPool", "IPClaim", "IPAddress"},
	} {
		for _, name := range names {
			kinds = append(kinds, version.WithKind(name))
		}
	}
	return kinds
}

// objects lists the objects of a kind that are in the namespace on a side.
func (s *moveStory) objects(t *testing.T, side *side, kind schema.GroupVersionKind) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	expect.NoError(t, side.admin.List(t.Context(), list, client.InNamespace(s.pool.Namespace)))
	return list.Items
}

// substance is what a move must leave as it is. UIDs are others afterwards.
func substance(object unstructured.Unstructured) any {
	if object.GetKind() == "Secret" {
		return object.Object["data"]
	}
	unstructured.RemoveNestedField(object.Object, "spec", "consumerRef", "uid")
	return object.Object["spec"]
}

// stays lists what belongs to the servers of a side that no machine has, and stays there.
func (s *moveStory) stays(t *testing.T, side *side) (names []string) {
	t.Helper()
	var left bmov1alpha1.BareMetalHostList
	expect.NoError(t, side.admin.List(t.Context(), &left, client.InNamespace(s.pool.Namespace)))
	for _, host := range left.Items {
		if host.Spec.ConsumerRef == nil {
			names = append(names, "BareMetalHost "+host.Name, "HardwareData "+host.Name, "Secret "+host.Spec.BMC.CredentialsName)
		}
	}
	return names
}

// left lists what is in the namespace on a side and does not stay there.
func (s *moveStory) left(t *testing.T, side *side) (names []string) {
	t.Helper()
	stays := s.stays(t, side)
	for _, kind := range movedKinds() {
		for _, object := range s.objects(t, side, kind) {
			if name := object.GetKind() + " " + object.GetName(); !slices.Contains(stays, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// undisturbed expects nothing to have been done to the servers since the cluster had what it had:
// no version of a host, on either side, reports another server or a lost claim, and
// baremetal-operator has sent no event.
func (s *moveStory) undisturbed(t *testing.T, before belongings, marks map[*side]mark) {
	t.Helper()
	for side, since := range marks {
		for _, host := range side.history.after(s.pool.Namespace, since.versions) {
			want, moved := before.Servers[host.Name]
			_, orphaned := host.Annotations[infrav1.OrphanedSinceAnnotation]
			expect.That(t, !orphaned, "%s in %s, version %s, is marked as an orphan", host.Name, side.Dir, host.ResourceVersion)
			if !moved || host.Status.Provisioning.State == bmov1alpha1.StateNone {
				continue
			}
			diff := cmp.Diff(want, serverOf(host))
			expect.That(t, diff == "", "%s in %s, version %s (-before +then):\n%s", host.Name, side.Dir, host.ResourceVersion, diff)
		}
		for _, event := range s.operatorEvents(t, side)[since.events:] {
			t.Errorf("baremetal-operator says in %s: %s", side.Dir, event)
		}
	}
}

// mark is how far the history of a side has come.
type mark struct{ versions, events int }

func (s *moveStory) marks(t *testing.T) map[*side]mark {
	t.Helper()
	marks := map[*side]mark{}
	for _, side := range []*side{s.here, s.there} {
		marks[side] = mark{len(side.history.after(s.pool.Namespace, 0)), len(s.operatorEvents(t, side))}
	}
	return marks
}

// operatorEvents are those of baremetal-operator about hosts, the oldest first, but for those about a host
// that comes: its hardware was read from the HardwareData, and its BMC was reached.
func (s *moveStory) operatorEvents(t *testing.T, side *side) (told []string) {
	t.Helper()
	var events corev1.EventList
	expect.NoError(t, side.admin.List(t.Context(), &events, client.InNamespace(s.pool.Namespace)))
	slices.SortFunc(events.Items, func(a, b corev1.Event) int { return order.Compare(version(&a), version(&b)) })
	for _, event := range events.Items {
		expected := event.Reason == "UpdateHardwareDetails" || event.Reason == "BMCAccessValidated"
		if event.Source.Component == "metal3-baremetal-controller" && !expected {
			told = append(told, event.InvolvedObject.Name+" "+event.Reason+": "+event.Message)
		}
	}
	return told
}

// after returns the versions of the hosts of a namespace from the given one on, in the order in
// which they were seen.
func (h *history) after(namespace string, first int) (versions []*bmov1alpha1.BareMetalHost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, known := range h.hosts {
		if key.Namespace == namespace {
			versions = append(versions, known...)
		}
	}
	slices.SortFunc(versions, func(a, b *bmov1alpha1.BareMetalHost) int { return order.Compare(version(a), version(b)) })
	return versions[first:]
}
