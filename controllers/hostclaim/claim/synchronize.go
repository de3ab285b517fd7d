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

package claim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// synced is what a part came to that writes the bound host: the host as last
// written, and what the owner of the claim should know although the two are in step.
type synced struct {
	host  *bmov1alpha1.BareMetalHost
	notes []string
}

// synchronize puts on the bound host what the claim asks for: all of it in one
// locked patch, once the data is ready.
func (r *synchronizer) synchronize(ctx context.Context, s *scope) (synced, progress.Outcome) {
	done, stage := synced{host: s.host}, binding.Compare(s.claim, s.host, skipsCleaning(s.claim, s.grant()))
	if stage == binding.Frozen {
		done.notes = r.frozenNotes(ctx, s)
	}
	desired, out := r.desiredWithPower(ctx, s, stage)
	done.host = s.host
	if out.Err() != nil || equality.Semantic.DeepEqual(desired, s.host) {
		return done, out
	}
	if binding.HasPayload(s.host) != binding.HasPayload(desired) || binding.IsParked(s.host) != binding.IsParked(desired) {
		if err := confirm(ctx, r.live, s.claim); err != nil {
			return done, unsynchronized(err).And(out)
		}
	}
	if desired.Spec.Online != s.host.Spec.Online {
		desired = binding.PowerChanged(desired, r.clock.Now())
	}
	if err := r.client.Patch(ctx, desired, apply.Locked(s.host)); err != nil {
		return done, unsynchronized(fmt.Errorf("write the host: %w", err)).And(out)
	}
	r.written(ctx, s, desired)
	done.host = desired
	return done, out
}

// written tells what a write to the host changed on the server.
func (r *synchronizer) written(ctx context.Context, s *scope, desired *bmov1alpha1.BareMetalHost) {
	logWritten(ctx, s.host, desired)
	if binding.HasPayload(s.host) && !binding.HasPayload(desired) {
		r.announcer.eventEmptied(s.claim, desired)
	}
}

// logWritten tells what a write to a host changed on the server. Labels and
// annotations of ours are no such change.
func logWritten(ctx context.Context, before, after *bmov1alpha1.BareMetalHost) {
	log := ctrl.LoggerFrom(ctx).WithValues("BareMetalHost", klog.KObj(after))
	switch had, has := binding.HasPayload(before), binding.HasPayload(after); {
	case has && !had:
		log.Info("Wrote image and data to the host")
	case had && !has:
		log.Info("Took image and data back to have the host wiped in place")
	}
	if before.Spec.Online != after.Spec.Online {
		log.Info("Changed the power of the host", "online", after.Spec.Online)
	}
}

// desiredWithPower is desired, with the power that the host has if it must not be
// changed now.
func (r *synchronizer) desiredWithPower(ctx context.Context, s *scope, stage binding.Progress) (*bmov1alpha1.BareMetalHost, progress.Outcome) {
	wait := waitForPower(s, r.clock.Now())
	kept, differs := binding.KeepingPower(s.claim, s.host)
	if wait.Done() || !differs {
		return r.desired(ctx, s, stage)
	}
	as := *s
	as.claim = kept
	desired, out := r.desired(ctx, &as, stage)
	s.host = as.host
	return desired, out.And(wait)
}

// desired returns the host as the claim wants it now, and what that waits for. A host of another
// namespace is read again once its payload is known: copying secrets takes long enough for the
// cached version to be outdated, and a write that meets a newer one would have all of them read
// again.
func (r *synchronizer) desired(ctx context.Context, s *scope, stage binding.Progress) (*bmov1alpha1.BareMetalHost, progress.Outcome) {
	switch stage {
	case binding.Redo:
		return r.emptied(ctx, s)
	case binding.Parked:
		return binding.Park(s.claim, binding.Desired(s.claim, s.host, nil)), progress.Outcome{}
	case binding.Emptying:
		return binding.Desired(s.claim, s.host, nil), waitForEmpty(s.claim, s.host)
	default:
		payload, out := r.payload(ctx, s, stage)
		if payload != nil && stage == binding.Wanted && s.crossing() {
			if now := r.newest(ctx, s); !now.Done() {
				payload, out = nil, out.And(now)
			}
		}
		claim := s.claim
		if stage == binding.Applied && payload == nil && !s.goesOnAsTold() {
			claim, _ = binding.KeepingPower(claim, s.host) // switched on now, it would read outdated secrets
		}
		return binding.Desired(claim, s.host, payload), out
	}
}

// newest makes sure of what a payload for a host of another namespace was decided on: of the host,
// then of policy, so that no write to the host that follows a revocation is overlooked.
func (r *synchronizer) newest(ctx context.Context, s *scope) progress.Outcome {
	if err := r.refresh(ctx, s); err != nil {
		return unsynchronized(err)
	}
	grant, err := r.grantNow(ctx, s)
	if err == nil && grant.SharesPreprovisioningNetworkData() != s.grant().SharesPreprovisioningNetworkData() {
		err = fmt.Errorf("policy is not as it was: %w", progress.ErrStale)
	}
	if err != nil {
		return unsynchronized(err)
	}
	return mayHave(s.claim, grant, r.deniedImages)
}

// refresh reads the host again that is about to be told what to write. What that was decided on
// must not have changed.
func (r *synchronizer) refresh(ctx context.Context, s *scope) error {
	host := &bmov1alpha1.BareMetalHost{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(s.host), host); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the host before it is written: %w", err)
	}
	if !binding.Owned(host, s.claim) || host.UID != s.host.UID || binding.WithoutStatus(host) ||
		host.Spec.PreprovisioningNetworkDataName != s.host.Spec.PreprovisioningNetworkDataName ||
		binding.Compare(s.claim, host, skipsCleaning(s.claim, s.grant())) != binding.Wanted {
		return fmt.Errorf("the host is not as it was: %w", progress.ErrStale)
	}
	s.host = host
	return nil
}

// payload returns what is to be written to the host's disks; nil leaves the host
// as it is, because data is missing, refused, or too late.
func (r *synchronizer) payload(ctx context.Context, s *scope, stage binding.Progress) (*binding.Payload, progress.Outcome) {
	switch stage {
	case binding.NothingAsked:
		return &binding.Payload{}, progress.Outcome{}
	case binding.Diverged:
		if err := binding.CheckRebuild(s.claim); err != nil {
			return nil, progress.Waiting(infrav1.InvalidRebuildAnnotationReason, err.Error())
		}
		return nil, progress.Waiting(infrav1.ImageChangeIgnoredReason,
			"image or customDeploy were changed after the host had been told what to write; the host keeps what it has. "+
				"Write any new text, such as a date, to annotation "+infrav1.RebuildAnnotation+" to have it wiped and written anew")
	case binding.Frozen:
		return nil, progress.Outcome{}
	default:
		if out := mayHave(s.claim, s.grant(), r.deniedImages); !out.Done() {
			return nil, out
		}
		return r.provided(ctx, s, s.grant())
	}
}

// confirm asks the API server whether the claim still says what this pass acts
// on. It is asked after the host was read, so that a write which is locked to
// that version of the host follows a wish of the claim that is no older.
func confirm(ctx context.Context, live client.Reader, claim *bmov1alpha1.HostClaim) error {
	current := &bmov1alpha1.HostClaim{}
	if err := live.Get(ctx, keyOf(claim), current); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the claim before the host is written: %w", err)
	}
	if !binding.SameInputs(current, claim) {
		return fmt.Errorf("the claim says something else by now: %w", progress.ErrStale)
	}
	return nil
}

// grantNow is what policy permits, read live for a host of another namespace.
func (r *synchronizer) grantNow(ctx context.Context, s *scope) (policy.Grant, error) {
	if s.crossing() {
		return r.policies.grantNow(ctx, s.claim.Namespace, s.host.Namespace)
	}
	return s.grant(), nil
}

// mayHave checks what the claim asks for against policy, and whether a host takes
// it at all.
func mayHave(claim *bmov1alpha1.HostClaim, grant policy.Grant, deniedImages []netip.Prefix) progress.Outcome {
	if !grant.Admitted {
		return progress.Waiting(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so nothing new is written to it")
	}
	err := grant.Permit(claim.Spec.Image, claim.Spec.CustomDeploy, deniedImages)
	if err == nil {
		err = binding.CheckPayload(claim)
	}
	if err != nil {
		return progress.Waiting(infrav1.ImageRefusedReason,
			err.Error()+". The claim holds its server meanwhile: mend it, or delete it to give the server back")
	}
	return progress.Outcome{}
}

// provided brings the secrets of the claim to the host, and returns what the host is then told.
// None is copied before all are there and can be used.
func (r *synchronizer) provided(ctx context.Context, s *scope, grant policy.Grant) (*binding.Payload, progress.Outcome) {
	names, due := secretNames{}, []binding.SecretKind(nil)
	for _, kind := range binding.SecretKinds {
		name, there, err := r.look(ctx, s, kind, grant)
		if err != nil {
			return nil, r.undone(kind, err)
		}
		names[kind] = name
		if !there {
			due = append(due, kind)
		}
	}
	if out := r.bringCopies(ctx, s, due); !out.Done() {
		return nil, out
	}
	return names.payload(s.claim, s.host.Namespace), progress.Outcome{}
}

// secretProblem tells what a person must mend from a request that failed. In the
// former case the watch on the namespace wakes the claim when the secret or the
// missing rights have come.
func secretProblem(err error) progress.Outcome {
	var problem *secretError
	if errors.As(err, &problem) {
		return progress.Waiting(secretReasons[problem.kind], problem.message)
	}
	return unsynchronized(err)
}

// unsynchronized says that the host could not be written; the error goes to the
// log. A stale decision is no failed request, so its message names none.
func unsynchronized(err error) progress.Outcome {
	message := "A request to the API server did not succeed; it is tried again"
	switch reason := refusal(err); {
	case progress.Failed(err).Stale():
		message = "The claim or its host changed before the host was written; what is to be written is decided again"
	case reason != "":
		message = "The API server refuses a request: " + reason + ". It is tried again"
	}
	return progress.FailedBecause(bmov1alpha1.BareMetalHostNotSynchronizedReason, message, err)
}
