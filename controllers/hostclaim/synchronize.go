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

package hostclaim

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/lease"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// synchronize puts on the bound host what the claim asks for: all of it in one
// locked patch, once the data is ready.
func (r *Reconciler) synchronize(ctx context.Context, s *scope) progress.Outcome {
	if s.step != lease.Keep {
		return progress.Outcome{}
	}
	payload, out := r.payload(ctx, s)
	desired := lease.Desired(s.claim, s.host, payload)
	if out.Err() != nil || equality.Semantic.DeepEqual(desired, s.host) {
		return out
	}
	if err := r.Client.Patch(ctx, desired, locked(s.host)); err != nil {
		return out.And(s.unsynchronized(fmt.Errorf("write the host: %w", err)))
	}
	ctrl.LoggerFrom(ctx).Info("Wrote the host", "bareMetalHost", klog.KObj(desired))
	s.host = desired
	return out
}

// payload returns what is to be written to the host's disks; nil leaves the host
// as it is, because data is missing, refused, or too late.
func (r *Reconciler) payload(ctx context.Context, s *scope) (*lease.Payload, progress.Outcome) {
	switch stage := lease.Compare(s.claim, s.host); stage {
	case lease.NothingAsked:
		return &lease.Payload{}, progress.Outcome{}
	case lease.Diverged:
		return nil, s.waitForSync(infrav1.ImageChangeIgnoredReason,
			"image or customDeploy were changed after the host had been told what to write; "+
				"the host keeps what it has, delete the claim to get a clean one")
	case lease.Frozen:
		r.noteFrozen(ctx, s)
		return nil, progress.Outcome{}
	default:
		grant, err := r.payloadGrant(ctx, s, stage)
		if err != nil {
			return nil, s.unsynchronized(err)
		}
		return r.permittedPayload(ctx, s, grant)
	}
}

// payloadGrant is what policy permits: read live when the host is told for the
// first time what to write, else from the cache.
func (r *Reconciler) payloadGrant(ctx context.Context, s *scope, stage lease.Progress) (policy.Grant, error) {
	if s.crossing() && stage == lease.Wanted {
		return r.grantNow(ctx, s.claim.Namespace, s.host.Namespace)
	}
	return s.grant(), nil
}

// permittedPayload checks what the claim asks for against policy, and brings
// its secrets to the host.
func (r *Reconciler) permittedPayload(ctx context.Context, s *scope, grant policy.Grant) (*lease.Payload, progress.Outcome) {
	if !grant.Admitted {
		return nil, s.waitForSync(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so nothing new is written to it")
	}
	if err := grant.Permit(s.claim.Spec.Image, s.claim.Spec.CustomDeploy); err != nil {
		return nil, s.waitForSync(infrav1.ImageRefusedReason, err.Error())
	}
	refs := secretNames{}
	for _, kind := range lease.SecretKinds {
		name, err := r.provide(ctx, s, kind, grant)
		if err != nil {
			r.Metrics.secretUndone(kind, err)
		}
		var problem *secretError
		if errors.As(err, &problem) {
			return nil, s.secretOutcome(problem)
		}
		if err != nil {
			return nil, s.unsynchronized(err)
		}
		refs[kind] = name
	}
	return refs.payload(s.claim, s.host.Namespace), progress.Outcome{}
}

// waitForSync notes why claim and host are not in step.
func (s *scope) waitForSync(reason, message string) progress.Outcome {
	s.syncWait = progress.Wait{Reason: reason, Message: message}
	return progress.Waiting(reason, message)
}

// unsynchronized notes that a request failed; the error goes to the log.
func (s *scope) unsynchronized(err error) progress.Outcome {
	s.syncWait = progress.Wait{
		Reason:  bmov1alpha1.BareMetalHostNotSynchronizedReason,
		Message: "A request to the API server did not succeed; it is tried again",
	}
	return progress.Failed(err)
}
