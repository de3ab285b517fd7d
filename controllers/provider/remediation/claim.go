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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// readClaim reads the claim of the machine. One that cannot be read now, or does not exist, is no
// error: its event, or its connection, wakes the controller.
func (r *Reconciler) readClaim(ctx context.Context, s *scope) error {
	if s.metal3Machine == nil {
		return nil
	}
	at, readable, err := r.Claims.Of(ctx, s.metal3Machine)
	if err != nil {
		return fmt.Errorf("find the HostClaim of Metal3Machine %s: %w", s.metal3Machine.Name, err)
	}
	if !readable {
		s.unreadable = unreadable(s.metal3Machine)
		return nil
	}
	claim, err := at.Seen(ctx)
	if err != nil {
		return fmt.Errorf("read the HostClaim of Metal3Machine %s: %w", s.metal3Machine.Name, err)
	}
	s.claim, s.claims, s.host = claim, at, readHostState(claim, s.remediation.Name)
	return nil
}

// unreadable returns why the claim of a machine cannot be read, by the condition of the
// machine.
func unreadable(machine *infrav1.Metal3Machine) string {
	for _, kind := range []string{infrav1.IdentityReadyCondition, infrav1.AssociateBareMetalHostCondition} {
		if c := conditions.Get(machine, kind); c != nil && c.Status == metav1.ConditionFalse && c.Message != "" {
			return "The HostClaim of the machine cannot be read now: " + c.Message
		}
	}
	return "The HostClaim of the machine cannot be read now: see the conditions of its Metal3Machine"
}

// holdOff holds the server off. The remediation is read past the cache first: one that is
// further than the cache shows has switched the server on again.
func (r *Reconciler) holdOff(ctx context.Context, s *scope) error {
	live := &infrav1.Metal3Remediation{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.remediation), live); err != nil {
		return fmt.Errorf("read the remediation again: %w", err)
	}
	if live.ResourceVersion != s.remediation.ResourceVersion {
		return patch.Conflict("Metal3Remediation %s has changed since the cache showed it", live.Name)
	}
	err := r.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, holdOffKey(s.remediation.Name), hardOff)
	})
	if err == nil {
		r.Metrics.reboots.Inc()
		r.event(s, corev1.EventTypeNormal, infrav1.PoweringOffReason, "PowerOff", "The server is switched off")
	}
	return err
}

// letGo holds the server off no longer.
func (r *Reconciler) letGo(ctx context.Context, s *scope) error {
	err := r.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) { delete(claim.Annotations, holdOffKey(s.remediation.Name)) })
	if err == nil {
		r.event(s, corev1.EventTypeNormal, infrav1.PoweringOnReason, "PowerOn", "The server is switched on")
	}
	return err
}

// markUnhealthy asks for the host to be kept out of the pool when it is released, or takes that
// back. A claim that is gone asks for nothing.
func (r *Reconciler) markUnhealthy(ctx context.Context, s *scope, unhealthy bool) error {
	if s.claim == nil || s.host.unhealthy == unhealthy {
		return nil
	}
	return r.annotate(ctx, s, func(claim *bmov1alpha1.HostClaim) {
		delete(claim.Annotations, infrav1.UnhealthyClaimAnnotation)
		if unhealthy {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.UnhealthyClaimAnnotation, "true")
		}
	})
}

// annotate changes annotations of the claim, unless it has changed since it was read.
func (r *Reconciler) annotate(ctx context.Context, s *scope, change func(*bmov1alpha1.HostClaim)) error {
	after := s.claim.DeepCopy()
	change(after)
	if err := s.claims.Patch(ctx, s.claim, after); err != nil {
		return fmt.Errorf("write the HostClaim: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Wrote an annotation of the HostClaim", "HostClaim", klog.KObj(after))
	return nil
}
