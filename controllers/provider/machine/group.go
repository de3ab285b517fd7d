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
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/annotations"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// observeGroup reads what the machine shares with the others of its control plane or MachineDeployment, as far
// as its template asks for node reuse, and the claims that are reserved for them.
func (r *Reconciler) observeGroup(ctx context.Context, s *scope) error {
	group, err := r.groupOf(ctx, s)
	if err != nil || !group.Asked {
		return err
	}
	if err := r.count(ctx, s, &group); err != nil {
		return err
	}
	group.Reserved, err = s.claims.ReservedFor(ctx, group.Keeper.Reference.UID, s.hostClaim == nil)
	s.Group = group
	return err
}

// observeLeaving finds out whether the next machine needs the claim of one that is being deleted, and what
// became of a claim that was reserved.
func (r *Reconciler) observeLeaving(ctx context.Context, s *scope) error {
	if s.claims.Kept() {
		return nil
	}
	if err := r.observeGroup(ctx, s); err != nil {
		return err
	}
	var err error
	if s.hostClaim != nil {
		s.Unhealthy = s.hostClaim.Annotations[infrav1.UnhealthyClaimAnnotation] == "true"
	} else if s.Left, err = s.claims.LeftBy(ctx); err != nil {
		return err
	}
	s.Unhealthy = s.Unhealthy || (s.Owner != nil && unhealthy(s.Owner))
	return nil
}

// reuse carries out what was decided about reserved claims. A machine that loses a claim to another one
// decides anew.
func (r *Reconciler) reuse(ctx context.Context, s *scope) error {
	if err := r.letGo(ctx, s, s.plan.Reuse.LetGo); err != nil {
		return err
	}
	for i := range s.Group.Reserved {
		if claim := &s.Group.Reserved[i]; claim.Name == s.plan.Reuse.Adopt {
			return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
				"The HostClaim of the machine cannot be written", s.claims.Adopt(ctx, claim, s.Group.Keeper))
		}
	}
	return nil
}

// letGo deletes the reserved claims of these names, which no machine of the group can use.
func (r *Reconciler) letGo(ctx context.Context, s *scope, names []string) error {
	var errs []error
	for i := range s.Group.Reserved {
		if claim := &s.Group.Reserved[i]; slices.Contains(names, claim.Name) {
			errs = append(errs, s.claims.Delete(ctx, claim))
		}
	}
	return s.failed(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostFailedReason,
		"The HostClaim of the machine cannot be written", errors.Join(errs...))
}

// groupOf is the group of the machine without its other members; the zero value where no server is reused. The
// controller of the Machine decides, and not a label alone: a MachineSet of a MachineDeployment, or the very
// object that the Cluster names as its control plane, whatever kind that has.
func (r *Reconciler) groupOf(ctx context.Context, s *scope) (Group, error) {
	if s.Owner == nil || s.Cluster == nil {
		return Group{}, nil
	}
	if asked, err := r.asksForReuse(ctx, s.Machine); err != nil || !asked {
		return Group{}, err
	}
	controller := metav1.GetControllerOfNoCopy(s.Owner)
	deployment := s.Owner.Labels[clusterv1.MachineDeploymentNameLabel]
	switch {
	case controller == nil:
		return Group{}, nil
	case byMachineSet(controller) && deployment != "":
		return r.deploymentGroup(ctx, s, deployment)
	case util.IsControlPlaneMachine(s.Owner) && isControlPlaneOf(s.Cluster, controller):
		return Group{
			Asked: true,
			Keeper: claims.Keeper{Label: format.MustFormatValue("cp-" + controller.Name), Reference: metav1.OwnerReference{
				APIVersion: controller.APIVersion, Kind: controller.Kind, Name: controller.Name, UID: controller.UID,
			}},
			Desired: int(ptr.Deref(controlPlaneSize(s.Cluster), 0)),
			Going:   !s.Cluster.DeletionTimestamp.IsZero(),
		}, nil
	default:
		return Group{}, nil
	}
}

// asksForReuse reports whether the template of the machine has nodeReuse now.
func (r *Reconciler) asksForReuse(ctx context.Context, machine *infrav1.Metal3Machine) (bool, error) {
	name, found := claims.TemplateOf(machine.Annotations)
	if !found {
		return false, nil
	}
	template := &infrav1.Metal3MachineTemplate{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: machine.Namespace, Name: name}, template); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ptr.Deref(template.Spec.NodeReuse, false), nil
}

// deploymentGroup is the group of a MachineDeployment.
func (r *Reconciler) deploymentGroup(ctx context.Context, s *scope, name string) (Group, error) {
	d := &clusterv1.MachineDeployment{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.Machine.Namespace, Name: name}, d); err != nil {
		return Group{}, client.IgnoreNotFound(err)
	}
	return Group{
		Asked: d.Spec.ClusterName == s.Cluster.Name,
		Keeper: claims.Keeper{Label: format.MustFormatValue("md-" + name), Reference: metav1.OwnerReference{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineDeployment", Name: d.Name, UID: d.UID,
		}},
		Desired: int(ptr.Deref(d.Spec.Replicas, 0)),
		Going:   !d.DeletionTimestamp.IsZero() || !s.Cluster.DeletionTimestamp.IsZero(),
	}, nil
}

func byMachineSet(controller *metav1.OwnerReference) bool {
	return schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind() ==
		clusterv1.GroupVersion.WithKind("MachineSet").GroupKind()
}

// isControlPlaneOf reports whether the Cluster names the object as its control plane, and knows how many
// machines that should have.
func isControlPlaneOf(cluster *clusterv1.Cluster, o *metav1.OwnerReference) bool {
	return controlPlaneSize(cluster) != nil && refersTo(cluster.Spec.ControlPlaneRef, o)
}

// controlPlaneSize is how many machines the control plane should have; nil while the Cluster does not know.
func controlPlaneSize(cluster *clusterv1.Cluster) *int32 {
	if cluster.Status.ControlPlane == nil {
		return nil
	}
	return ptr.To(ptr.Deref(cluster.Status.ControlPlane.DesiredReplicas, 0))
}

// membership is the same for the Machines of one control plane or MachineDeployment; empty for a Machine of neither.
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

// count adds the other machines of the group that have a claim.
func (r *Reconciler) count(ctx context.Context, s *scope, group *Group) error {
	var list clusterv1.MachineList
	err := r.Client.List(ctx, &list, client.InNamespace(s.Machine.Namespace), client.MatchingFields{watch.ByCluster: s.Cluster.Name})
	if err != nil {
		return fmt.Errorf("list the Machines of Cluster %s: %w", s.Cluster.Name, err)
	}
	for i := range list.Items {
		owner := &list.Items[i]
		ref := owner.Spec.InfrastructureRef
		if owner.Name == s.Owner.Name || membership(owner) != membership(s.Owner) || ref.Kind != claims.MachineKind || ref.APIGroup != infrav1.GroupName {
			continue
		}
		machine := &infrav1.Metal3Machine{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: ref.Name}, machine)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && machine.Status.HostClaim != nil {
			if err := r.countMember(ctx, owner, machine, group); err != nil {
				return err
			}
		}
	}
	return nil
}

// countMember adds a machine with a claim. One that is being deleted counts as soon as its Machine is drained:
// the drain may wait for the new machine.
func (r *Reconciler) countMember(ctx context.Context, owner *clusterv1.Machine, machine *infrav1.Metal3Machine, group *Group) error {
	switch {
	case owner.DeletionTimestamp.IsZero() && machine.DeletionTimestamp.IsZero():
		group.Holding++
	case !counts(machine) || unhealthy(owner):
	case decided(machine) == infrav1.ReservedReason:
		group.Left = append(group.Left, machine.UID)
	default:
		asks, err := r.asksForReuse(ctx, machine)
		if asks {
			group.Leaving++
		}
		return err
	}
	return nil
}

// counts reports whether a machine is being deleted and has reserved its claim, or may still do so.
func counts(machine *infrav1.Metal3Machine) bool {
	return !machine.DeletionTimestamp.IsZero() && !released(machine) && mayReserve(machine)
}

// mayReserve reports whether a deleted machine can still reserve its claim: it has one, is not paused, can
// reach it, and has not decided to delete it.
func mayReserve(machine *infrav1.Metal3Machine) bool {
	switch decided(machine) {
	case infrav1.DeletionFailedReason, infrav1.DeprovisioningReason:
		return false
	default:
		return machine.Status.HostClaim != nil && !annotations.HasPaused(machine)
	}
}

// decided returns what a machine that is being deleted reports of its claim.
func decided(machine *infrav1.Metal3Machine) string {
	return capiconditions.GetReason(machine, infrav1.HostClaimReadyCondition)
}

// unhealthy reports whether Cluster API replaces the Machine since a health check failed, so that its server
// is not the first choice for the next one.
func unhealthy(owner *clusterv1.Machine) bool {
	return capiconditions.Has(owner, clusterv1.MachineOwnerRemediatedCondition)
}
