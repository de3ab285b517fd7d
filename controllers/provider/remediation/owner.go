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
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// readOwner reads the Machine that owns the remediation, its Metal3Machine and its Cluster.
func (r *Reconciler) readOwner(ctx context.Context, s *scope) error {
	ref, found := ownerOf(s.remediation)
	if !found {
		return nil
	}
	s.owner = ref
	key, machine := client.ObjectKey{Namespace: s.remediation.Namespace, Name: ref.Name}, &clusterv1.Machine{}
	if found, err := r.read(ctx, key, machine); err != nil || !found || machine.UID != ref.UID {
		return err
	}
	s.machine = machine
	all, err := ofMachine(ctx, r.Client, key.Namespace, ref)
	if err != nil {
		return err
	}
	s.outOfTurn = len(all) > 0 && inTurn(&all[0], s.remediation) < 0
	cluster := &clusterv1.Cluster{}
	key.Name = machine.Spec.ClusterName
	if found, err := r.read(ctx, key, cluster); err != nil {
		return err
	} else if found {
		s.cluster = cluster
	}
	return r.readMetal3Machine(ctx, s)
}

// readMetal3Machine reads the Metal3Machine of the Machine.
func (r *Reconciler) readMetal3Machine(ctx context.Context, s *scope) error {
	infra := s.machine.Spec.InfrastructureRef
	if infra.APIGroup != infrav1.GroupName || infra.Kind != claims.MachineKind {
		return nil
	}
	metal3Machine := &infrav1.Metal3Machine{}
	key := client.ObjectKey{Namespace: s.remediation.Namespace, Name: infra.Name}
	if found, err := r.read(ctx, key, metal3Machine); err != nil || !found {
		return err
	}
	s.metal3Machine = metal3Machine
	return nil
}

// read reads an object, and whether there is one.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey, object client.Object) (bool, error) {
	err := r.Client.Get(ctx, key, object)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %T %s: %w", object, key.Name, err)
	}
	return err == nil, nil
}

// ofMachine returns the remediations that a Machine owns and that can act, of which the first
// one does. They are those of the cache: nothing in them may be changed.
func ofMachine(
	ctx context.Context, reader client.Reader, namespace string, machine metav1.OwnerReference,
) ([]infrav1.Metal3Remediation, error) {
	var list infrav1.Metal3RemediationList
	err := reader.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingFields{byMachine: string(machine.UID)}, client.UnsafeDisableDeepCopy)
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

// handBack sets the condition of the Machine that has its owner replace it.
func (r *Reconciler) handBack(ctx context.Context, s *scope) error {
	handed := s.machine.DeepCopy()
	conditions.Set(handed, metav1.Condition{
		Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
		Reason:  clusterv1.MachineOwnerRemediatedWaitingForRemediationReason,
		Message: fmt.Sprintf("Waiting for remediation: Metal3Remediation %q has given up", s.remediation.Name),
	})
	if err := r.Client.Status().Patch(ctx, handed, patch.Locked(s.machine)); err != nil {
		return fmt.Errorf("hand Machine %s back: %w", s.machine.Name, err)
	}
	r.Metrics.handedBack.Inc()
	r.event(s, corev1.EventTypeWarning, infrav1.HandedBackReason, "HandBack",
		"Rebooting did not help: the owner of the Machine is to replace it")
	return nil
}
