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

package world

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Machine is one machine with all that belongs to it on both sides.
type Machine struct {
	Machine *clusterv1.Machine
	// Metal3, Claim and Host are nil as long as there is none.
	Metal3 *infrav1.Metal3Machine
	Claim  *bmov1alpha1.HostClaim
	Host   *bmov1alpha1.BareMetalHost
}

// Machines returns the machines of the namespaces, or of all if none is named,
// by namespace and age.
func (w *World) Machines(ctx context.Context, namespaces ...string) ([]Machine, error) {
	var (
		machines clusterv1.MachineList
		metal3   infrav1.Metal3MachineList
		claims   bmov1alpha1.HostClaimList
		hosts    bmov1alpha1.BareMetalHostList
	)
	for _, list := range []client.ObjectList{&machines, &metal3} {
		if err := w.List(ctx, list); err != nil {
			return nil, err
		}
	}
	for _, list := range []client.ObjectList{&claims, &hosts} {
		if err := w.Hosts.List(ctx, list); err != nil {
			return nil, err
		}
	}
	found := make([]Machine, 0, len(machines.Items))
	for i := range machines.Items {
		machine := &machines.Items[i]
		if len(namespaces) > 0 && !slices.Contains(namespaces, machine.Namespace) {
			continue
		}
		found = append(found, join(machine, metal3.Items, claims.Items, hosts.Items))
	}
	slices.SortFunc(found, func(a, b Machine) int {
		return cmp.Or(
			cmp.Compare(a.Machine.Namespace, b.Machine.Namespace),
			a.Machine.CreationTimestamp.Compare(b.Machine.CreationTimestamp.Time),
			cmp.Compare(a.Machine.Name, b.Machine.Name))
	})
	return found, nil
}

// join finds what belongs to a machine by the references that decide in life:
// the machine's infrastructureRef, the claim's consumer and the host's consumer.
func join(machine *clusterv1.Machine, metal3 []infrav1.Metal3Machine, claims []bmov1alpha1.HostClaim, hosts []bmov1alpha1.BareMetalHost) Machine {
	m := Machine{Machine: machine}
	m.Metal3 = find(metal3, func(o *infrav1.Metal3Machine) bool {
		return o.Namespace == machine.Namespace && o.Name == machine.Spec.InfrastructureRef.Name
	})
	if m.Metal3 == nil {
		return m
	}
	m.Claim = find(claims, func(o *bmov1alpha1.HostClaim) bool {
		return o.Spec.ConsumerRef != nil && o.Spec.ConsumerRef.UID == m.Metal3.UID
	})
	if m.Claim == nil {
		return m
	}
	m.Host = find(hosts, func(o *bmov1alpha1.BareMetalHost) bool {
		return o.Spec.ConsumerRef != nil && o.Spec.ConsumerRef.UID == m.Claim.UID
	})
	return m
}

// UID identifies the machine.
func (m Machine) UID() types.UID {
	return m.Machine.UID
}

// Name is <namespace>/<name> of the Machine.
func (m Machine) Name() string {
	return m.Machine.Namespace + "/" + m.Machine.Name
}

// Running reports whether the machine has become a Node and Cluster API knows it.
func (m Machine) Running() bool {
	return m.Machine.DeletionTimestamp.IsZero() && m.Machine.Status.NodeRef.Name != ""
}

// Provisioned reports whether the provider reports the machine's server as ready.
func (m Machine) Provisioned() bool {
	if m.Metal3 == nil {
		return false
	}
	provisioned := m.Metal3.Status.Initialization.Provisioned
	return provisioned != nil && *provisioned
}

// WaitsForHost reports whether the machine has asked for a server and got none,
// with the reason that its owner can read.
func (m Machine) WaitsForHost() (reason string, waits bool) {
	if m.Claim == nil || m.Host != nil || !m.Machine.DeletionTimestamp.IsZero() {
		return "", false
	}
	associated := meta.FindStatusCondition(m.Claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	if associated == nil || associated.Status != metav1.ConditionFalse {
		return "", false
	}
	return explain(associated), true
}

// Step returns a short text for the progress of the machine.
func (m Machine) Step() string {
	switch {
	case !m.Machine.DeletionTimestamp.IsZero():
		return m.deletionStep()
	case m.Running():
		return fmt.Sprintf("is Node %s on %s", m.Machine.Status.NodeRef.Name, m.hostName())
	case m.Claim == nil:
		return m.earlyStep()
	case m.Host == nil:
		if reason, waits := m.WaitsForHost(); waits {
			return "waits for a server: " + reason
		}
		return "asks for a server"
	case m.Host.Spec.Image == nil:
		return "has " + m.hostName() + ", its configuration is being rendered"
	case m.Host.Status.Provisioning.State != bmov1alpha1.StateProvisioned:
		return "has " + m.hostName() + ", which gets its image"
	}
	return "has " + m.hostName() + ", which boots; Cluster API waits for its Node"
}

// Stuck explains why a machine is not running: the first of its conditions that
// is not true, from the provider or else from Cluster API.
func (m Machine) Stuck() string {
	if m.Metal3 != nil {
		for _, condition := range m.Metal3.Status.Conditions {
			waits := condition.Status != metav1.ConditionTrue && condition.Type != clusterv1.PausedCondition
			if waits && condition.Type != clusterv1.ReadyCondition {
				return condition.Type + ": " + explain(&condition)
			}
		}
	}
	if ready := meta.FindStatusCondition(m.Machine.Status.Conditions, clusterv1.ReadyCondition); ready != nil {
		return "Ready: " + explain(ready)
	}
	return "no condition says why"
}

func (m Machine) earlyStep() string {
	if m.Metal3 == nil {
		return "is new"
	}
	condition := meta.FindStatusCondition(m.Metal3.Status.Conditions, infrav1.AssociateBareMetalHostCondition)
	if condition == nil {
		return "is new"
	}
	return "waits: " + explain(condition)
}

func (m Machine) deletionStep() string {
	if m.Host == nil {
		return "is being deleted"
	}
	return fmt.Sprintf("is being deleted, %s is %s", m.hostName(), m.Host.Status.Provisioning.State)
}

func (m Machine) hostName() string {
	if m.Host == nil {
		return "a server that is gone"
	}
	return m.Host.Name
}

// explain shortens a condition to its message, or its reason where it has none.
func explain(condition *metav1.Condition) string {
	return cmp.Or(condition.Message, condition.Reason)
}

func find[T any](items []T, wanted func(*T) bool) *T {
	for i := range items {
		if wanted(&items[i]) {
			return &items[i]
		}
	}
	return nil
}
