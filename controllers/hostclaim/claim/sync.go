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
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// synchronize puts on the bound host what the claim asks for: all of it in one
// locked patch, once the data is ready.
func (r *Reconciler) synchronize(ctx context.Context, s *scope) error {
	desired, err := r.desired(ctx, s)
	if err != nil || equality.Semantic.DeepEqual(desired, s.host) {
		return s.unsynchronized(err)
	}
	if binding.HasPayload(s.host) != binding.HasPayload(desired) || binding.IsParked(s.host) != binding.IsParked(desired) {
		if err := r.confirm(ctx, s.claim); err != nil {
			return s.unsynchronized(err)
		}
	}
	if desired.Spec.Online != s.host.Spec.Online {
		desired = binding.PowerChanged(desired, r.Clock.Now())
	}
	before := s.host
	if err := r.patchHost(ctx, s, desired, "write the host"); err != nil {
		return s.unsynchronized(err)
	}
	logWritten(ctx, before, desired)
	if binding.HasPayload(before) && !binding.HasPayload(desired) {
		r.eventEmptied(s.claim, desired)
	}
	return nil
}

// logWritten logs what a write to a host changed on the server. Labels and
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

// desired returns the host as the claim wants it now, with the power that it has if that must not be
// changed now.
func (r *Reconciler) desired(ctx context.Context, s *scope) (*bmov1alpha1.BareMetalHost, error) {
	stage, claim := binding.Compare(s.claim, s.host, skipsCleaning(s.claim, s.grant())), s.claim
	wait, until := powerWait(s, r.Clock.Now())
	if kept, differs := binding.KeepingPower(claim, s.host); wait.Reason != "" && differs {
		claim = kept
	} else {
		wait = binding.Wait{}
	}
	desired, err := r.desiredAs(ctx, s, claim, stage)
	s.waitsForSync(wait)
	if wait.Reason != "" && !until.IsZero() {
		s.wakeAt(until)
	}
	return desired, err
}

// desiredAs is desired for a claim whose power may be that of the host.
func (r *Reconciler) desiredAs(ctx context.Context, s *scope, claim *bmov1alpha1.HostClaim, stage binding.Progress) (*bmov1alpha1.BareMetalHost, error) {
	switch stage {
	case binding.Redo:
		return r.emptied(ctx, s, claim)
	case binding.Parked:
		return binding.Park(claim, binding.Desired(claim, s.host, nil)), nil
	case binding.Emptying:
		s.waitsForSync(binding.EmptyingWait(claim, s.host))
		return binding.Desired(claim, s.host, nil), nil
	}
	payload, err := r.payload(ctx, s, stage)
	if err != nil {
		return nil, err
	}
	if stage == binding.Applied && payload == nil && !s.goesOnAsTold() {
		claim, _ = binding.KeepingPower(claim, s.host) // switched on now, it would read outdated secrets
	}
	return binding.Desired(claim, s.host, payload), nil
}

// payload returns what is to be written to the host's disks; nil leaves the host
// as it is, because data is missing, refused, or too late. A host of another
// namespace is read again once its payload is known: copying secrets takes long enough for the
// cached version to be outdated, and a write that meets a newer one would have all of them read
// again.
func (r *Reconciler) payload(ctx context.Context, s *scope, stage binding.Progress) (*binding.Payload, error) {
	switch stage {
	case binding.NothingAsked:
		return &binding.Payload{}, nil
	case binding.Frozen:
		s.notes = append(s.notes, r.frozenNotes(ctx, s)...)
		return nil, nil //nolint:nilnil // no payload is what leaves the host as it is
	case binding.Diverged:
		if err := binding.CheckRebuild(s.claim); err != nil {
			s.waitsForSync(binding.Wait{Reason: infrav1.InvalidRebuildAnnotationReason, Message: err.Error()})
		}
		s.waitsForSync(because(infrav1.ImageChangeIgnoredReason,
			"image or customDeploy were changed after the host had been told what to write; the host keeps what it has. "+
				"Write any new text, such as a date, to annotation "+infrav1.RebuildAnnotation+" to have it wiped and written anew"))
		return nil, nil //nolint:nilnil // as above
	}
	if !r.mayHave(s, s.grant()) {
		return nil, nil //nolint:nilnil // as above
	}
	payload, err := r.provided(ctx, s)
	if err != nil || payload == nil || stage != binding.Wanted || !s.crossing() {
		return payload, err
	}
	if permitted, err := r.newest(ctx, s); err != nil || !permitted {
		return nil, err
	}
	return payload, nil
}

// newest makes sure of what a payload for a host of another namespace was decided on: of the host,
// then of policy, so that no write to the host that follows a revocation is overlooked.
func (r *Reconciler) newest(ctx context.Context, s *scope) (permitted bool, err error) {
	host := &bmov1alpha1.BareMetalHost{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.host), host); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read the host before it is written: %w", err)
	}
	if !binding.Owned(host, s.claim) || host.UID != s.host.UID || binding.WithoutStatus(host) ||
		host.Spec.PreprovisioningNetworkDataName != s.host.Spec.PreprovisioningNetworkDataName ||
		binding.Compare(s.claim, host, skipsCleaning(s.claim, s.grant())) != binding.Wanted {
		return false, patch.Conflict("the host is not as it was")
	}
	s.host = host
	grant, err := r.grantLive(ctx, s)
	if err != nil {
		return false, err
	}
	const shares = infrav1.SharePreprovisioningNetworkDataAnnotation
	if grant.Permits(shares) != s.grant().Permits(shares) {
		return false, patch.Conflict("policy is not as it was")
	}
	return r.mayHave(s, grant), nil
}

// confirm fails with a conflict if the claim in the API server asks for something else than the
// one that this pass acts on. It runs after the host was read, so a write that is locked to
// that version of the host follows a claim that is no older.
func (r *Reconciler) confirm(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	current, err := r.readLive(ctx, claim)
	if err != nil {
		return err
	}
	if !binding.SameInputs(current, claim) {
		return patch.Conflict("the claim says something else by now")
	}
	return nil
}

// grantLive is what policy permits, read live for a host of another namespace.
func (r *Reconciler) grantLive(ctx context.Context, s *scope) (policy.Grant, error) {
	if s.crossing() {
		return r.Policies.GrantLive(ctx, s.claim.Namespace, s.host.Namespace)
	}
	return s.grant(), nil
}

// mayHave reports whether policy permits what the claim asks for, and a host takes it at all.
func (r *Reconciler) mayHave(s *scope, grant policy.Grant) bool {
	if !grant.Admitted {
		s.waitsForSync(because(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so nothing new is written to it"))
		return false
	}
	err := grant.Permit(s.claim.Spec.Image, s.claim.Spec.CustomDeploy, r.DeniedImages)
	if err == nil {
		err = binding.CheckPayload(s.claim)
	}
	if err != nil {
		s.waitsForSync(because(infrav1.ImageRefusedReason,
			err.Error()+". The claim holds its server meanwhile: mend it, or delete it to give the server back"))
	}
	return err == nil
}

// emptied returns the host with the request to be wiped in place. If something is to be written
// afterwards, the host stays as it is until that could be done, and keeps its power: a running
// server is not given up for an image that policy refuses or a secret that does not exist.
func (r *Reconciler) emptied(ctx context.Context, s *scope, claim *bmov1alpha1.HostClaim) (*bmov1alpha1.BareMetalHost, error) {
	uncleaned := false
	if binding.Asked(claim) {
		grant, err := r.grantLive(ctx, s)
		if err != nil {
			return nil, err
		}
		if could, err := r.couldBeWritten(ctx, s, grant); err != nil {
			return nil, err
		} else if !could {
			kept, _ := binding.KeepingPower(claim, s.host)
			return binding.Desired(kept, s.host, nil), nil
		}
		uncleaned = binding.IsParked(s.host) && skipsCleaning(claim, grant)
	}
	out := binding.Emptied(claim, s.host, uncleaned)
	s.waitsForSync(binding.EmptyingWait(claim, out))
	return out, nil
}

// couldBeWritten checks policy and the secrets of a claim without bringing them
// to the host, which may still read the former ones. A host that is to be off gets
// its data when it is switched on; one that stays on would be written at once.
func (r *Reconciler) couldBeWritten(ctx context.Context, s *scope, grant policy.Grant) (bool, error) {
	if s.host.Spec.DisablePowerOff && !s.claim.Spec.PoweredOn {
		s.waitsForSync(because(infrav1.RebuildRefusedReason,
			"The host must not be switched off and would be written anew at once, with the data of before: "+
				"have its administrator set spec.disablePowerOff of the BareMetalHost to false, or let this claim be powered on"))
		return false, nil
	}
	if !r.mayHave(s, grant) {
		return false, nil
	}
	for _, kind := range binding.SecretKinds {
		if binding.SecretName(s.claim, kind) == "" {
			continue
		}
		if _, err := r.readSource(ctx, s, kind, false); err != nil {
			return false, s.secretProblem(err)
		}
	}
	return true, nil
}

// skipsCleaning reports whether the claim wants its host not to be cleaned between two
// workloads, and may have that.
func skipsCleaning(claim *bmov1alpha1.HostClaim, grant policy.Grant) bool {
	return binding.WantsNoCleaning(claim) && grant.Admitted && grant.Permits(infrav1.AllowSkipCleaningAnnotation)
}

// goesOnAsTold reports whether the host has its payload, and is not about to be switched on for it.
func (s *scope) goesOnAsTold() bool {
	return binding.HasPayload(s.host) && (s.host.Spec.Online || !binding.Online(s.claim, s.host))
}

// powerWait is why the server of a claim is neither switched nor rebooted now: policy
// does not admit the claim any more, or it was done too often, which is over at a time.
func powerWait(s *scope, now time.Time) (wait binding.Wait, until time.Time) {
	if !s.grant().Admitted {
		return because(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so its power is not switched and no reboot is passed on"), time.Time{}
	}
	until, limited := binding.PowerLimited(s.host, now)
	if !limited {
		return binding.Wait{}, time.Time{}
	}
	return because(infrav1.PowerChangesLimitedReason,
		"The server was switched or rebooted 10 times within 10 minutes; what is asked for now is done when they are over"), until
}

func because(reason, message string) binding.Wait {
	return binding.Wait{Reason: reason, Message: message}
}

// waitsForSync notes why host and claim are not in step, unless something comes before it.
func (s *scope) waitsForSync(wait binding.Wait) {
	if s.waits.sync.Reason == "" {
		s.waits.sync = wait
	}
}

// secretProblem notes what a person must mend of a secret; then a watch wakes the claim. It returns any
// other error.
func (s *scope) secretProblem(err error) error {
	var problem *secretError
	if !errors.As(err, &problem) {
		return err
	}
	s.waitsForSync(binding.Wait{Reason: secretReasons[problem.kind], Message: problem.message})
	return nil
}

// unsynchronized notes that the host could not be written. The text of the error goes to the log only.
func (s *scope) unsynchronized(err error) error {
	if err == nil {
		return nil
	}
	message := "A request to the API server did not succeed; it is tried again"
	if reason := refusal(err); reason != "" {
		message = "The API server refuses a request: " + reason + ". It is tried again"
	}
	// It comes before what else was found.
	s.waits.sync = binding.Wait{Reason: bmov1alpha1.BareMetalHostNotSynchronizedReason, Message: message}
	return err
}

// refuse notes the annotations of a claim that are ignored, and a claim that is too large. It
// runs after the others are applied: a refused annotation holds up nothing else.
func (r *Reconciler) refuse(s *scope) {
	if text, err := json.Marshal(s.claim); err == nil && len(text) > manager.SizeLimit {
		s.waitsForSync(binding.Wait{Reason: infrav1.ClaimTooLargeReason, Message: fmt.Sprintf("the claim has more than %d bytes as JSON, and could "+
			"not be deleted if it grew much larger, nor its server be given back: %s", manager.SizeLimit, manager.SizeRemedy)})
	}
	if invalid := binding.ReadReboots(s.claim).Invalid; len(invalid) > 0 {
		s.waitsForSync(binding.Wait{Reason: infrav1.InvalidRebootAnnotationReason, Message: strings.Join(invalid, "; ")})
	}
	if err := binding.CheckRebuild(s.claim); err != nil {
		s.waitsForSync(binding.Wait{Reason: infrav1.InvalidRebuildAnnotationReason, Message: err.Error()})
	}
	if _, found := s.claim.Annotations[bmov1alpha1.DetachedAnnotation]; found {
		s.waitsForSync(because(infrav1.DetachRefusedReason,
			"annotation "+bmov1alpha1.DetachedAnnotation+" is not passed on, since a detached host is neither managed nor wiped; "+
				"remove it, and ask the infrastructure team if the host must be detached"))
	}
}

// reboot mirrors the reboot annotations of the claim to its host: those that are
// held as they are, and one-shots one by one, each exactly once.
func (r *Reconciler) reboot(ctx context.Context, s *scope) error {
	held, complete := binding.WithHeld(binding.ReadReboots(s.claim).Held, s.host)
	if !complete {
		s.notes = append(s.notes, "Reboot annotations wait until the host is provisioned")
	}
	differs := !equality.Semantic.DeepEqual(held, s.host)
	if wait, until := powerWait(s, r.Clock.Now()); wait.Reason != "" && (differs || asksForReboot(s)) {
		s.waitsForSync(wait)
		if !until.IsZero() {
			s.wakeAt(until)
		}
		return nil
	}
	if differs {
		if err := r.writeReboots(ctx, s, held, "mirror the reboots that are held"); err != nil {
			return err
		}
	}
	for range maxRebootSteps {
		if again, err := r.oneShot(ctx, s); err != nil || !again {
			return err
		}
	}
	return nil
}

// asksForReboot reports whether a one-shot reboot is on its way to the host.
func asksForReboot(s *scope) bool {
	next := binding.NextReboot(binding.ReadReboots(s.claim), s.host)
	return next == binding.AcceptReboot || next == binding.PassReboot
}

// maxRebootSteps are those of one reboot, and one more that finds nothing to do.
const maxRebootSteps = 4

// oneShot takes the next step of the one-shot reboots; again reports whether it wrote
// something.
func (r *Reconciler) oneShot(ctx context.Context, s *scope) (again bool, err error) {
	const annotations = "write the annotations of the claim"
	reboots := binding.ReadReboots(s.claim)
	switch binding.NextReboot(reboots, s.host) {
	case binding.AcceptReboot:
		return true, r.patchClaim(ctx, s.claim, binding.AcceptedReboot(s.claim, *reboots.Asked), annotations)
	case binding.PassReboot:
		if err := r.confirm(ctx, s.claim); err != nil {
			return false, err
		}
		if err := r.writeReboots(ctx, s, binding.PassedReboot(s.host, *reboots.Request), "pass the reboot on"); err != nil {
			return false, err
		}
		r.Recorder.Eventf(s.claim, nil, corev1.EventTypeNormal, "Reboot", "Reboot", "The reboot was passed on to the host")
		r.Recorder.Eventf(s.host, nil, corev1.EventTypeNormal, "Reboot", "Reboot",
			"HostClaim %s of namespace %s asks for a reboot", s.claim.Name, s.claim.Namespace)
		return true, nil
	case binding.CloseReboot:
		return true, r.patchClaim(ctx, s.claim, binding.ClosedReboot(s.claim), annotations)
	case binding.AwaitTurn:
		s.notes = append(s.notes, "The reboot that was asked for waits for another one to end")
	case binding.AwaitHost:
		s.notes = append(s.notes, "The reboot that was asked for waits until the host is provisioned")
	}
	return false, nil
}

// writeReboots writes reboots to the bound host.
func (r *Reconciler) writeReboots(ctx context.Context, s *scope, desired *bmov1alpha1.BareMetalHost, what string) error {
	if err := r.patchHost(ctx, s, binding.PowerChanged(desired, r.Clock.Now()), what); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Wrote reboot annotations of the host", "BareMetalHost", klog.KObj(s.host))
	return nil
}
