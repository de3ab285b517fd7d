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
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/objectsize"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// refusals notes the annotations of a claim that are not obeyed, and that it is too large. It comes
// after what is: a refused one keeps nothing else from its way.
func refusals(claim *bmov1alpha1.HostClaim) progress.Outcome {
	var out progress.Outcome
	if text, err := json.Marshal(claim); err == nil && len(text) > objectsize.Limit {
		out = out.And(progress.Waiting(infrav1.ClaimTooLargeReason, fmt.Sprintf("the claim has more than %d bytes as JSON, and could "+
			"not be deleted if it grew much larger, nor its server be given back: %s", objectsize.Limit, objectsize.Remedy)))
	}
	if invalid := binding.ReadReboots(claim).Invalid; len(invalid) > 0 {
		out = out.And(progress.Waiting(infrav1.InvalidRebootAnnotationReason, strings.Join(invalid, "; ")))
	}
	if err := binding.CheckRebuild(claim); err != nil {
		out = out.And(progress.Waiting(infrav1.InvalidRebuildAnnotationReason, err.Error()))
	}
	if _, found := claim.Annotations[bmov1alpha1.DetachedAnnotation]; found {
		out = out.And(progress.Waiting(infrav1.DetachRefusedReason,
			"annotation "+bmov1alpha1.DetachedAnnotation+" is not passed on, since a detached host is neither managed nor wiped; "+
				"remove it, and ask the infrastructure team if the host must be detached"))
	}
	return out
}

// reboot mirrors the reboot annotations of the claim to its host: those that are
// held as they are, and one-shots one by one, each exactly once.
func (r *rebooter) reboot(ctx context.Context, s *scope) (synced, progress.Outcome) {
	done := synced{host: s.host}
	held, complete := binding.WithHeld(binding.ReadReboots(s.claim).Held, s.host)
	if !complete {
		done.notes = append(done.notes, "Reboot annotations wait until the host is provisioned")
	}
	differs := !equality.Semantic.DeepEqual(held, s.host)
	if wait := waitForPower(s, r.clock.Now()); !wait.Done() && (differs || asksForReboot(s)) {
		return done, wait
	}
	if differs {
		if err := r.writeHost(ctx, &done, held); err != nil {
			return done, progress.Failed(fmt.Errorf("mirror the reboots that are held: %w", err))
		}
	}
	for range maxRebootSteps {
		if again, err := r.oneShot(ctx, s.claim, &done); err != nil || !again {
			return done, progress.Failed(err)
		}
	}
	return done, progress.Outcome{}
}

// asksForReboot says that a one-shot reboot is on its way to the host.
func asksForReboot(s *scope) bool {
	next := binding.NextReboot(binding.ReadReboots(s.claim), s.host)
	return next == binding.AcceptReboot || next == binding.PassReboot
}

// maxRebootSteps are those of one reboot, and one more that finds nothing to do.
const maxRebootSteps = 4

// oneShot takes the next step of the one-shot reboots; again says that it wrote
// something.
func (r *rebooter) oneShot(ctx context.Context, claim *bmov1alpha1.HostClaim, done *synced) (again bool, err error) {
	reboots := binding.ReadReboots(claim)
	switch binding.NextReboot(reboots, done.host) {
	case binding.AcceptReboot:
		return true, writeClaim(ctx, r.client, claim, binding.AcceptedReboot(claim, *reboots.Asked))
	case binding.PassReboot:
		if err := confirm(ctx, r.live, claim); err != nil {
			return false, err
		}
		if err := r.writeHost(ctx, done, binding.PassedReboot(done.host, *reboots.Request)); err != nil {
			return false, fmt.Errorf("pass the reboot on: %w", err)
		}
		r.announcer.eventReboot(claim, done.host)
		return true, nil
	case binding.CloseReboot:
		return true, writeClaim(ctx, r.client, claim, binding.ClosedReboot(claim))
	case binding.AwaitTurn:
		done.notes = append(done.notes, "The reboot that was asked for waits for another one to end")
	case binding.AwaitHost:
		done.notes = append(done.notes, "The reboot that was asked for waits until the host is provisioned")
	}
	return false, nil
}

// writeHost writes reboots to the bound host.
func (r *rebooter) writeHost(ctx context.Context, done *synced, desired *bmov1alpha1.BareMetalHost) error {
	desired = binding.PowerChanged(desired, r.clock.Now())
	if err := r.client.Patch(ctx, desired, apply.Locked(done.host)); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Wrote reboot annotations of the host", "BareMetalHost", klog.KObj(desired))
	done.host = desired
	return nil
}

// writeClaim writes annotations of the claim.
func writeClaim(ctx context.Context, writer client.Client, claim, desired *bmov1alpha1.HostClaim) error {
	if err := writer.Patch(ctx, desired, apply.Locked(claim)); err != nil {
		return fmt.Errorf("write the annotations of the claim: %w", err)
	}
	*claim = *desired
	return nil
}
