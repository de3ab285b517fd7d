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

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

// report brings the status in line with the facts. It is pure: the same scope
// gives the same status, but for the time at which a change is noted. A paused
// object shows the pause and otherwise what it showed before.
func report(s *scope, now metav1.Time) {
	capiconditions.Set(s.infra, conditions.Paused(s.infra, s.owner))
	if s.paused() {
		return
	}
	condition := infrastructure(s)
	capiconditions.Set(s.infra, condition)
	s.infra.Status.FailureDomains = slices.Clone(s.infra.Spec.FailureDomains)
	if condition.Status == metav1.ConditionTrue {
		s.infra.Status.Initialization.Provisioned = ptr.To(true)
	}
	reportIdentity(s)
	capiconditions.Set(s.infra, summary(s, condition))
	s.infra.SetV1Beta1Conditions(conditions.V1Beta1(s.infra.Status.Conditions, []conditions.V1Beta1Rule{
		{Type: clusterv1.ReadyV1Beta1Condition, From: []string{infrav1.ReadyCondition}},
		{Type: infrav1.BaremetalInfrastructureReadyCondition, From: []string{infrav1.BaremetalInfrastructureReadyCondition}},
	}))
	if !reflect.DeepEqual(s.before.Status, s.infra.Status) {
		s.infra.Status.LastUpdated = &now
	}
}

// infrastructure returns the condition by which Cluster API knows whether machines may come, and if not
// what is missing: an endpoint that the Metal3Cluster gives, or that a control plane provider has set in
// the Cluster.
func infrastructure(s *scope) metav1.Condition {
	c := metav1.Condition{
		Type: infrav1.BaremetalInfrastructureReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.WaitingForControlPlaneEndpointReason,
	}
	given := s.infra.Spec.ControlPlaneEndpoint
	switch {
	case s.owner == nil:
		c.Reason, c.Message = infrav1.WaitingForClusterOwnerReason, "Waiting for Cluster API to make a Cluster the owner of this Metal3Cluster"
	case given.IsValid():
		c.Message = "The control plane endpoint is given by the Metal3Cluster"
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.BaremetalInfrastructureReadyReason
	case s.owner.Spec.ControlPlaneEndpoint.IsValid():
		c.Message = "The control plane endpoint is given by the Cluster"
		c.Status, c.Reason = metav1.ConditionTrue, infrav1.BaremetalInfrastructureReadyReason
	case given.Host != "":
		c.Message = "spec.controlPlaneEndpoint.port is missing: set it"
	case given.Port != 0:
		c.Message = fmt.Sprintf("spec.controlPlaneEndpoint.host is missing, only port %d is given: set it, "+
			"or let the control plane provider set the endpoint of the Cluster", given.Port)
	default:
		c.Message = "No control plane endpoint yet: set spec.controlPlaneEndpoint, " +
			"or let the control plane provider set the endpoint of the Cluster"
	}
	return c
}

// reportIdentity sets IdentityReady, which is about the cluster that holds the hosts. It
// neither holds up the infrastructure nor takes it back: only machines need that cluster, and
// they report what they wait for.
func reportIdentity(s *scope) {
	if s.identity == nil {
		capiconditions.Delete(s.infra, infrav1.IdentityReadyCondition)
		return
	}
	condition := *s.identity
	condition.Type = infrav1.IdentityReadyCondition
	capiconditions.Set(s.infra, condition)
}

// summary is the Ready condition. An object that is being deleted is not ready.
func summary(s *scope, infrastructure metav1.Condition) metav1.Condition {
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: infrastructure.Status, Reason: infrav1.ReadyReason}
	switch {
	case !s.infra.DeletionTimestamp.IsZero():
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.DeletingReason
		if s.machines {
			ready.Message = "Waiting for the machines of the Cluster to be deleted"
		}
	case infrastructure.Status != metav1.ConditionTrue:
		ready.Reason, ready.Message = infrav1.NotReadyReason, infrastructure.Message
	case s.identity != nil && s.identity.Status != metav1.ConditionTrue:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, infrav1.NotReadyReason, s.identity.Message
	}
	return ready
}

// announce emits an event when machines may come, and when the cluster that holds
// their hosts cannot be used.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	log := ctrl.LoggerFrom(ctx)
	if before, after := s.before.Status.FailureDomains, s.infra.Status.FailureDomains; !reflect.DeepEqual(before, after) {
		log.Info("Published failure domains", "count", len(after)) // not them: they are as large as an object
	}
	if ptr.Deref(s.infra.Status.Initialization.Provisioned, false) && !ptr.Deref(s.before.Status.Initialization.Provisioned, false) {
		log.Info("Control plane endpoint is known, machines may be created")
		r.Recorder.Eventf(s.infra, nil, corev1.EventTypeNormal, "Provisioned", "Provision", "Machines may be created")
	}
	was, is := capiconditions.GetReason(s.before, infrav1.IdentityReadyCondition), s.identity
	if is != nil && is.Status == metav1.ConditionFalse && is.Reason != infrav1.IdentityConnectingReason && is.Reason != was {
		r.Recorder.Eventf(s.infra, nil, corev1.EventTypeWarning, is.Reason, "Connect", "%s", text.Shorten(is.Message, text.MaxNote))
	}
}
