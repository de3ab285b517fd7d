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
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// switchOff is the phase in which the server is switched off and its workload moved away.
func (r *Reconciler) switchOff(ctx context.Context, s *scope) error {
	switch {
	case s.expired():
		return r.again(ctx, s)
	case s.host.off():
		return r.evacuate(ctx, s)
	case s.host.held:
		s.waits(infrav1.PoweringOffReason, "Waiting for the server to be off"+s.host.problem())
	case s.host.heldByOther:
		s.waits(infrav1.OtherRemediationReason, "Another Metal3Remediation holds the server off: delete one of them")
	case s.host.Phase != claims.Provisioned || s.host.Deleting:
		s.waits(infrav1.HostNotProvisionedReason,
			"The server does not run the image of the machine, so that it cannot be rebooted; see the conditions of the Metal3Machine")
	default:
		s.waits(infrav1.PoweringOffReason, "Waiting for the server to be off")
		return r.holdOff(ctx, s)
	}
	return nil
}

// evacuate moves the workload away from the Node of a server that is off. Where it cannot be
// moved, the server is switched on all the same: to leave it off would help no Pod.
func (r *Reconciler) evacuate(ctx context.Context, s *scope) error {
	if s.nodeName() == "" {
		s.letServerOn("")
		return nil
	}
	node, found, err := r.readNode(ctx, s)
	if err != nil || !found {
		return s.stays(err)
	}
	if !tainted(node) {
		if err := r.taint(ctx, s, node); err != nil {
			return err
		}
	}
	cluster := s.clusterKey()
	pods, err := r.Nodes.Pods(ctx, cluster, node.Name, mustLeave)
	if err == nil && pods > 0 {
		s.looks(infrav1.EvacuatingReason, "The server is off: waiting for the Pods to leave its Node")
		return nil
	}
	if err != nil {
		return s.stays(err)
	}
	volumes, err := r.Nodes.Volumes(ctx, cluster, node.Name)
	if err == nil && volumes > 0 {
		s.looks(infrav1.EvacuatingReason, "The server is off: waiting for the volumes to be detached from its Node")
		return nil
	}
	return s.stays(err)
}

// stays decides about a workload that an error, nil for none, keeps on the Node: requests that
// fail are repeated.
func (s *scope) stays(err error) error {
	switch {
	case err == nil:
		s.letServerOn("")
	case errors.Is(err, nodes.ErrNotConnected):
		s.letServerOn("there is no connection to the workload cluster")
	case nodes.Denied(err):
		s.letServerOn("the kubeconfig of the Cluster does not permit it")
	default:
		s.unreachable = err
		s.waits(infrav1.WorkloadClusterUnreachableReason, "The server is off, and requests to the workload cluster fail")
		return err
	}
	return nil
}

// letServerOn ends the phase in which the server is off. Skipped is why its workload was not
// moved away; empty if it was.
func (s *scope) letServerOn(skipped string) {
	s.remediation.Status.Phase = infrav1.RemediationPhaseWaiting
	s.waits(infrav1.PoweringOnReason, "The server is about to be switched on")
	if skipped != "" {
		s.skipped = "What ran on the Node stays there while the server is rebooted: " + skipped
		s.message = s.skipped
	}
}

// switchOn is the phase in which the server is switched on, and in which its Node is to become
// healthy.
func (r *Reconciler) switchOn(ctx context.Context, s *scope) error {
	switch {
	case s.host.held:
		s.waits(infrav1.PoweringOnReason, "The server is switched on")
		return r.letGo(ctx, s)
	case !s.host.HostOn && s.expired():
		return r.again(ctx, s)
	case !s.host.HostOn:
		s.waits(infrav1.PoweringOnReason, "Waiting for the server to be on"+s.host.problem())
		return nil
	}
	failed, err := r.untaint(ctx, s)
	switch {
	case failed:
		return err
	case s.expired():
		return r.again(ctx, s)
	case s.unreachable != nil && !nodes.Denied(s.unreachable):
		s.waits(infrav1.WorkloadClusterUnreachableReason,
			"The server is on: waiting for the workload cluster to answer, to take back what was changed on the Node")
	default:
		s.waits(infrav1.RebootedReason, "")
		s.ready = true
	}
	return err
}

// again begins the next reboot, or gives up at the limit. A reboot that has not come to its
// end is not begun anew: it gets the time of the next one.
func (r *Reconciler) again(ctx context.Context, s *scope) error {
	status := &s.remediation.Status
	if status.RetryCount >= limitOf(s.remediation) {
		return r.giveUp(ctx, s, fmt.Sprintf(
			"The machine did not become healthy within %d reboots of %s each", status.RetryCount+1, timeoutOf(s.remediation)))
	}
	status.RetryCount++
	status.LastRemediated = ptr.To(metav1.NewTime(s.now))
	waiting := status.Phase == infrav1.RemediationPhaseWaiting
	switch {
	case waiting && s.host.HostOn && !s.host.held:
		status.Phase = infrav1.RemediationPhaseRunning
		s.waits(infrav1.PoweringOffReason, "The server is about to be switched off again")
	case waiting:
		s.waits(infrav1.PoweringOnReason, "Waiting for the server to be on"+s.host.problem())
	case s.host.off():
		s.letServerOn("it did not leave in time")
	default:
		s.waits(infrav1.PoweringOffReason, "Waiting for the server to be off"+s.host.problem())
	}
	return nil
}

const handedBack = "Rebooting did not help: the owner of the Machine replaces it while the Machine is unhealthy"

// giveUp switches the server on, marks it, and hands the Machine back by the condition by which
// KubeadmControlPlanes and MachineSets of Cluster API know that they are to replace an unhealthy
// Machine. The list of conditions is replaced as a whole, so that the patch carries a lock.
func (r *Reconciler) giveUp(ctx context.Context, s *scope, why string) error {
	if s.host.canLetGo() {
		s.says(infrav1.PoweringOnReason, why+": the server is switched on before the Machine is handed back")
		return r.letGo(ctx, s)
	}
	if !conditions.IsFalse(s.machine, clusterv1.MachineOwnerRemediatedCondition) {
		if err := r.markUnhealthy(ctx, s, true); err != nil {
			return err
		}
		if err := r.handBack(ctx, s); err != nil {
			return err
		}
	}
	s.remediation.Status.Phase = infrav1.RemediationPhaseDeletingMachine
	s.says(infrav1.HandedBackReason, handedBack)
	return nil
}

// readNode watches the Nodes, then reads that of the machine.
func (r *Reconciler) readNode(ctx context.Context, s *scope) (node *corev1.Node, found bool, err error) {
	if err := r.Nodes.Watch(ctx, s.clusterKey(), r.controller, r.nodeToRemediations); err != nil {
		return nil, false, err
	}
	return r.Nodes.Read(ctx, s.clusterKey(), s.nodeName())
}

// taint has Kubernetes move away what is on the Node of a server that a live read of the claim
// shows to be off.
func (r *Reconciler) taint(ctx context.Context, s *scope, node *corev1.Node) error {
	if err := s.claims.Confirm(ctx, s.claim); err != nil { // a Node whose server runs must not be declared out of service
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Declaring the Node out of service", "Node", klog.KObj(node))
	if err := r.Nodes.Write(ctx, s.clusterKey(), node, withTaint(node)); err != nil {
		return err
	}
	r.event(s, corev1.EventTypeNormal, "NodeOutOfService", "Evacuate", "The Node is declared out of service")
	return nil
}

// untaint puts the Node into service again, unless another remediation has its server off. It
// reports whether the write has failed; a cluster that cannot be reached is noted in the scope.
func (r *Reconciler) untaint(ctx context.Context, s *scope) (failed bool, err error) {
	if s.remediation.Status.Phase == "" || s.nodeName() == "" {
		return false, nil // never tainted, or gone with its Machine
	}
	node, found, err := r.readNode(ctx, s)
	if err != nil {
		s.unreachable = err
		if errors.Is(err, nodes.ErrNotConnected) || nodes.Denied(err) {
			err = nil // its connection wakes the controller, and a right is not given by asking again
		}
		return false, err
	}
	if !found || !tainted(node) || s.host.heldByOther && !s.host.HostOn {
		return false, nil
	}
	ctrl.LoggerFrom(ctx).Info("Restoring the Node", "Node", klog.KObj(node))
	if err := r.Nodes.Write(ctx, s.clusterKey(), node, withoutTaint(node)); err != nil {
		return true, err
	}
	r.event(s, corev1.EventTypeNormal, "NodeRestored", "Restore", "The Node has back what it had")
	return false, nil
}

// expired reports whether the time of the current reboot is over.
func (s *scope) expired() bool { return !s.now.Before(deadlineOf(s.remediation)) }

// clusterKey is the workload cluster of the machine. It is not asked for without a machine.
func (s *scope) clusterKey() client.ObjectKey {
	return client.ObjectKey{Namespace: s.machine.Namespace, Name: s.machine.Spec.ClusterName}
}

// nodeName is empty if the machine never had a Node, or is gone or being deleted.
func (s *scope) nodeName() string {
	if s.metal3Machine == nil || s.machineDeleted() {
		return ""
	}
	return s.machine.Status.NodeRef.Name
}

// mustLeave reports whether a Pod keeps the Node from being evacuated: Kubernetes takes it away
// as soon as the Node is declared out of service. A Pod that tolerates that, such as one of the
// control plane, stays.
func mustLeave(pod *corev1.Pod) bool {
	taint := outOfService()
	stays := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) }
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return pod.DeletionTimestamp != nil
	}
	return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Spec.Tolerations, stays)
}
