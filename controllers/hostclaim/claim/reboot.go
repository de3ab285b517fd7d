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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

// refuse notes the annotations of a claim that are not obeyed, and that it is too large. It comes
// after what is obeyed: a refused one keeps nothing else from its way.
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
		s.waitsForSync(binding.Wait{
			Reason: infrav1.DetachRefusedReason,
			Message: "annotation " + bmov1alpha1.DetachedAnnotation + " is not passed on, since a detached host is neither managed nor wiped; " +
				"remove it, and ask the infrastructure team if the host must be detached",
		})
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
