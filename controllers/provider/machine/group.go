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
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/reuse"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// groupReader finds the control plane or MachineDeployment of a machine, and counts its
// other machines. It reads from the cache.
type groupReader struct{ client client.Reader }

// of returns the group of the machine; the zero value where no server is reused. The claims
// that are reserved for it are not read yet.
func (g groupReader) of(ctx context.Context, s *scope) (reuse.Group, error) {
	if s.ownerless() {
		return reuse.Group{}, nil
	}
	asked, err := g.asksForReuse(ctx, s.machine)
	if err != nil || !asked {
		return reuse.Group{}, err
	}
	group, err := g.keeper(ctx, s)
	if err != nil || !group.Asked {
		return reuse.Group{}, err
	}
	group.Going = group.Going || !s.cluster.DeletionTimestamp.IsZero()
	return group, g.count(ctx, s, &group)
}

// asksForReuse says that the template of the machine has nodeReuse now.
func (g groupReader) asksForReuse(ctx context.Context, machine *infrav1.Metal3Machine) (bool, error) {
	name, found := claims.TemplateOf(machine.Annotations)
	if !found {
		return false, nil
	}
	template := &infrav1.Metal3MachineTemplate{}
	if err := g.client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, template); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ptr.Deref(template.Spec.NodeReuse, false), nil
}

// keeper is the group of the machine without its other members. The controller of the
// Machine decides, and not a label alone: a MachineSet of a MachineDeployment, or the very
// object that the Cluster names as its control plane, whatever kind that has.
func (g groupReader) keeper(ctx context.Context, s *scope) (reuse.Group, error) {
	controller := metav1.GetControllerOfNoCopy(s.owner)
	name := s.owner.Labels[clusterv1.MachineDeploymentNameLabel]
	switch {
	case controller == nil:
		return reuse.Group{}, nil
	case byMachineSet(controller) && name != "":
		return g.deployment(ctx, s, name)
	case util.IsControlPlaneMachine(s.owner) && isControlPlaneOf(s.cluster, controller):
		return reuse.Group{
			Asked:   true,
			Keeper:  claims.Keeper{Label: reuse.ControlPlaneLabel(controller.Name), Reference: referenceTo(controller)},
			Desired: int(ptr.Deref(controlPlaneSize(s.cluster), 0)),
		}, nil
	default:
		return reuse.Group{}, nil
	}
}

// deployment is the group of a MachineDeployment.
func (g groupReader) deployment(ctx context.Context, s *scope, name string) (reuse.Group, error) {
	d := &clusterv1.MachineDeployment{}
	if err := g.client.Get(ctx, client.ObjectKey{Namespace: s.machine.Namespace, Name: name}, d); err != nil {
		return reuse.Group{}, client.IgnoreNotFound(err)
	}
	return reuse.Group{
		Asked: d.Spec.ClusterName == s.cluster.Name,
		Keeper: claims.Keeper{Label: reuse.DeploymentLabel(name), Reference: metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: d.Name, UID: d.UID,
		}},
		Desired: int(ptr.Deref(d.Spec.Replicas, 0)),
		Going:   !d.DeletionTimestamp.IsZero(),
	}, nil
}

// referenceTo names an owner, without making it the controller.
func referenceTo(o *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
}

func byMachineSet(controller *metav1.OwnerReference) bool {
	return controller.Kind == "MachineSet" && groupOf(controller) == clusterv1.GroupVersion.Group
}

// isControlPlaneOf says that the Cluster names the object as its control plane, and knows how
// many machines that should have.
func isControlPlaneOf(cluster *clusterv1.Cluster, o *metav1.OwnerReference) bool {
	ref := cluster.Spec.ControlPlaneRef
	return controlPlaneSize(cluster) != nil && o.Name == ref.Name && o.Kind == ref.Kind && groupOf(o) == ref.APIGroup
}

// controlPlaneSize is how many machines the control plane should have; nil while the Cluster does
// not know.
func controlPlaneSize(cluster *clusterv1.Cluster) *int32 {
	if cluster.Status.ControlPlane == nil {
		return nil
	}
	return ptr.To(ptr.Deref(cluster.Status.ControlPlane.DesiredReplicas, 0))
}

func groupOf(o *metav1.OwnerReference) string {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return group
}

// membership is the same for the Machines of one control plane or MachineDeployment; empty
// for a Machine of neither.
func membership(m *clusterv1.Machine) string {
	controller := metav1.GetControllerOfNoCopy(m)
	switch {
	case controller == nil:
		return ""
	case byMachineSet(controller):
		return m.Labels[clusterv1.MachineDeploymentNameLabel]
	default:
		return string(controller.UID)
	}
}

// count adds the other machines of the group.
func (g groupReader) count(ctx context.Context, s *scope, group *reuse.Group) error {
	var list clusterv1.MachineList
	err := g.client.List(ctx, &list, client.InNamespace(s.machine.Namespace), client.MatchingFields{watch.ByCluster: s.cluster.Name})
	if err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", s.cluster.Name, err)
	}
	for i := range list.Items {
		if m := &list.Items[i]; m.Name != s.owner.Name && membership(m) == membership(s.owner) {
			if err := g.add(ctx, m, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds one other machine, if it has a claim.
func (g groupReader) add(ctx context.Context, owner *clusterv1.Machine, group *reuse.Group) error {
	ref := owner.Spec.InfrastructureRef
	if ref.Kind != claims.MachineKind || ref.APIGroup != infrav1.GroupName {
		return nil
	}
	machine := &infrav1.Metal3Machine{}
	err := g.client.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: ref.Name}, machine)
	if err != nil || machine.Status.HostClaim == nil {
		return client.IgnoreNotFound(err)
	}
	if owner.DeletionTimestamp.IsZero() && machine.DeletionTimestamp.IsZero() {
		group.Holding++
		return nil
	}
	return g.addLeaver(ctx, owner, machine, group)
}

// addLeaver adds one that is being deleted and counts. A machine whose Machine is still being
// drained is not counted: the drain may wait for the new machine.
func (g groupReader) addLeaver(ctx context.Context, owner *clusterv1.Machine, machine *infrav1.Metal3Machine, group *reuse.Group) error {
	if !counts(machine) || unhealthy(owner) {
		return nil
	}
	if decided(machine) == infrav1.ReservedReason {
		group.Left = append(group.Left, machine.UID)
		return nil
	}
	asks, err := g.asksForReuse(ctx, machine)
	if asks {
		group.Leaving++
	}
	return err
}

// counts says that a machine is being deleted and has reserved its claim, or may still do so.
func counts(machine *infrav1.Metal3Machine) bool {
	return !machine.DeletionTimestamp.IsZero() && !released(machine) && mayReserve(machine)
}

// mayReserve says that a machine has a claim, and neither deletes it, nor is paused or cannot
// reach the claim, so that it may never reserve it.
func mayReserve(machine *infrav1.Metal3Machine) bool {
	switch decided(machine) {
	case infrav1.DeletionFailedReason, infrav1.DeprovisioningReason:
		return false
	default:
		return machine.Status.HostClaim != nil && !annotations.HasPaused(machine)
	}
}

// decided is what a machine that is being deleted says it does with its claim.
func decided(machine *infrav1.Metal3Machine) string {
	return conditions.GetReason(machine, infrav1.HostClaimReadyCondition)
}

// unhealthy says that Cluster API replaces the Machine since a health check failed, so that
// its server is not the first choice for the next one.
func unhealthy(owner *clusterv1.Machine) bool {
	return conditions.Has(owner, clusterv1.MachineOwnerRemediatedCondition)
}
