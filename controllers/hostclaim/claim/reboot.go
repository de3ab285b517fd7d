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
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// refusals notes the annotations of a claim that are not obeyed. It comes after
// what is: a refused one keeps nothing else from its way.
func (r *rebooter) refusals(_ context.Context, s *scope) progress.Outcome {
	if s.step != binding.Keep {
		return progress.Outcome{}
	}
	var out progress.Outcome
	if invalid := binding.ReadReboots(s.claim).Invalid; len(invalid) > 0 {
		out = out.And(s.refuse(infrav1.InvalidRebootAnnotationReason, strings.Join(invalid, "; ")))
	}
	if err := binding.CheckRebuild(s.claim); err != nil {
		out = out.And(s.refuse(infrav1.InvalidRebuildAnnotationReason, err.Error()))
	}
	if _, found := s.claim.Annotations[bmov1alpha1.DetachedAnnotation]; found {
		out = out.And(s.refuse(infrav1.DetachRefusedReason,
			"annotation "+bmov1alpha1.DetachedAnnotation+" is not passed on, since a detached host is neither managed nor wiped; "+
				"remove it, and ask the infrastructure team if the host must be detached"))
	}
	return out
}

// reboot mirrors the reboot annotations of the claim to its host: those that are
// held as they are, and one-shots one by one, each exactly once.
func (r *rebooter) reboot(ctx context.Context, s *scope) progress.Outcome {
	if s.step != binding.Keep {
		return progress.Outcome{}
	}
	held, complete := binding.WithHeld(binding.ReadReboots(s.claim).Held, s.host)
	if !complete {
		s.note("Reboot annotations wait until the host is provisioned")
	}
	if err := r.writeHost(ctx, s, held); err != nil {
		return progress.Failed(fmt.Errorf("mirror the reboots that are held: %w", err))
	}
	for range maxRebootSteps {
		again, err := r.oneShot(ctx, s)
		if err != nil {
			return progress.Failed(err)
		}
		if !again {
			break
		}
	}
	return progress.Outcome{}
}

// maxRebootSteps are those of one reboot, and one more that finds nothing to do.
const maxRebootSteps = 4

// oneShot takes the next step of the one-shot reboots; again says that it wrote
// something.
func (r *rebooter) oneShot(ctx context.Context, s *scope) (again bool, err error) {
	reboots := binding.ReadReboots(s.claim)
	switch binding.NextReboot(reboots, s.host) {
	case binding.AcceptReboot:
		return true, writeClaim(ctx, r.client, s, binding.AcceptedReboot(s.claim, *reboots.Wish))
	case binding.PassReboot:
		if err := confirm(ctx, r.live, s.claim); err != nil {
			return false, err
		}
		if err := r.writeHost(ctx, s, binding.PassedReboot(s.host, *reboots.Request)); err != nil {
			return false, fmt.Errorf("pass the reboot on: %w", err)
		}
		r.announcer.eventReboot(s.claim, s.host)
		return true, nil
	case binding.CloseReboot:
		return true, writeClaim(ctx, r.client, s, binding.ClosedReboot(s.claim))
	case binding.AwaitTurn:
		s.note("The reboot that was asked for waits for another one to end")
	case binding.AwaitHost:
		s.note("The reboot that was asked for waits until the host is provisioned")
	}
	return false, nil
}

// writeHost writes the bound host if it differs.
func (r *rebooter) writeHost(ctx context.Context, s *scope, desired *bmov1alpha1.BareMetalHost) error {
	if equality.Semantic.DeepEqual(desired, s.host) {
		return nil
	}
	if err := r.client.Patch(ctx, desired, apply.Locked(s.host)); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Wrote reboot annotations of the host", "BareMetalHost", klog.KObj(desired))
	s.host = desired
	return nil
}

// writeClaim writes annotations of the claim.
func writeClaim(ctx context.Context, writer client.Client, s *scope, desired *bmov1alpha1.HostClaim) error {
	if err := writer.Patch(ctx, desired, apply.Locked(s.claim)); err != nil {
		return fmt.Errorf("write the annotations of the claim: %w", err)
	}
	s.claim = desired
	return nil
}
