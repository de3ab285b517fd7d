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
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
)

// machineKind is the kind of Cluster API's object for a machine.
const machineKind = "Machine"

// owner reads the Machine that owns a remediation, and hands it back.
type owner struct{ client client.Client }

// observe reads the Machine, its Metal3Machine and its Cluster.
func (o owner) observe(ctx context.Context, s *scope) error {
	s.observed = own(s.remediation)
	ref, found := ownerOf(s.remediation)
	if !found {
		return nil
	}
	s.observed.Machine.Name = ref.Name
	machine, key := &clusterv1.Machine{}, client.ObjectKey{Namespace: s.remediation.Namespace, Name: ref.Name}
	if found, err := o.read(ctx, key, machine); err != nil || !found || machine.UID != ref.UID {
		return err
	}
	s.machine = machine
	all, err := ofMachine(ctx, o.client, key.Namespace, ref)
	if err != nil {
		return err
	}
	s.observed.OutOfTurn = len(all) > 0 && inTurn(&all[0], s.remediation) < 0
	key.Name = machine.Spec.ClusterName
	cluster := &clusterv1.Cluster{}
	if found, err := o.read(ctx, key, cluster); err != nil {
		return err
	} else if found {
		s.cluster = cluster
	}
	return o.observeInfra(ctx, s)
}

// observeInfra reads the Metal3Machine of the Machine.
func (o owner) observeInfra(ctx context.Context, s *scope) error {
	infra := s.machine.Spec.InfrastructureRef
	if infra.APIGroup != infrav1.GroupName || infra.Kind != claims.MachineKind {
		return nil
	}
	metal3Machine := &infrav1.Metal3Machine{}
	key := client.ObjectKey{Namespace: s.remediation.Namespace, Name: infra.Name}
	if found, err := o.read(ctx, key, metal3Machine); err != nil || !found {
		return err
	}
	s.metal3Machine = metal3Machine
	s.observed.Machine = machineFacts(s.machine, metal3Machine)
	return nil
}

func machineFacts(machine *clusterv1.Machine, metal3Machine *infrav1.Metal3Machine) remediations.Machine {
	return remediations.Machine{
		Name:       machine.Name,
		Found:      true,
		Deleting:   !machine.DeletionTimestamp.IsZero() || !metal3Machine.DeletionTimestamp.IsZero(),
		Skipped:    annotations.HasSkipRemediation(machine),
		HandedBack: conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition),
		Node:       machine.Status.NodeRef.Name,
	}
}

// read reads an object, and whether there is one.
func (o owner) read(ctx context.Context, key client.ObjectKey, object client.Object) (bool, error) {
	err := o.client.Get(ctx, key, object)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %T %s: %w", object, key.Name, err)
	}
	return err == nil, nil
}

// handBack sets the condition by which KubeadmControlPlanes and MachineSets of Cluster API know
// that they are to replace an unhealthy Machine. The list of conditions is replaced as a whole,
// so that the patch carries a lock.
func (o owner) handBack(ctx context.Context, s *scope) error {
	handed := s.machine.DeepCopy()
	conditions.Set(handed, metav1.Condition{
		Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
		Reason:  clusterv1.MachineOwnerRemediatedWaitingForRemediationReason,
		Message: fmt.Sprintf("Waiting for remediation: Metal3Remediation %q has given up", s.remediation.Name),
	})
	if err := o.client.Status().Patch(ctx, handed, apply.Locked(s.machine)); err != nil {
		return fmt.Errorf("hand Machine %s back: %w", s.machine.Name, err)
	}
	return nil
}

// ownerOf is the Machine among the owners of a remediation, if there is one.
func ownerOf(o metav1.Object) (metav1.OwnerReference, bool) {
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.Group == clusterv1.GroupVersion.Group && ref.Kind == machineKind {
			return ref, true
		}
	}
	return metav1.OwnerReference{}, false
}

// ofMachine returns the remediations that a Machine owns and that can act, of which the first
// one does. They are those of the cache: nothing in them may be changed.
func ofMachine(ctx context.Context, reader client.Reader, namespace string, machine metav1.OwnerReference) ([]infrav1.Metal3Remediation, error) {
	var list infrav1.Metal3RemediationList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byMachine: string(machine.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the Metal3Remediations of a Machine: %w", err)
	}
	items := slices.DeleteFunc(list.Items, func(r infrav1.Metal3Remediation) bool {
		ref, _ := ownerOf(&r)
		return ref.Name != machine.Name || !mayAct(&r)
	})
	slices.SortFunc(items, func(a, b infrav1.Metal3Remediation) int { return inTurn(&a, &b) })
	return items, nil
}

// inTurn orders the remediations of a Machine: one that has begun goes on, then the oldest one
// begins.
func inTurn(a, b *infrav1.Metal3Remediation) int {
	if begun(a) != begun(b) {
		return map[bool]int{true: -1, false: 1}[begun(a)]
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// begun says that a remediation may have changed something.
func begun(r *infrav1.Metal3Remediation) bool {
	return r.Status.Phase != "" && (r.DeletionTimestamp == nil || controllerutil.ContainsFinalizer(r, infrav1.RemediationFinalizer))
}

// mayAct says that a remediation has begun, or that nothing keeps it from being the next one.
func mayAct(o client.Object) bool {
	r, ok := o.(*infrav1.Metal3Remediation)
	return ok && (begun(r) || r.DeletionTimestamp == nil && !annotations.HasPaused(r))
}
