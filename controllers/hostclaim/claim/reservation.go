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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// defaultReservation is how long a claim is reserved that does not say how long.
const defaultReservation = time.Hour

// expire ends a reservation in time: the claim is deleted as it is known, so that
// one that was adopted meanwhile stays, and its host goes back like any other.
func (r *releaser) expire(ctx context.Context, s *scope) progress.Outcome {
	if !binding.Reserved(s.claim) {
		return progress.Outcome{}
	}
	until, known := binding.ReservedUntil(s.claim)
	if !known {
		until = r.clock.Now().Add(defaultReservation)
		if err := writeClaim(ctx, r.client, s, binding.LimitReservation(s.claim, until)); err != nil {
			return progress.Failed(err)
		}
		r.announcer.eventLimited(s.claim)
	}
	if r.clock.Now().Before(until) {
		message := "The host is kept for the next machine until the time in annotation " + infrav1.ReservedUntilAnnotation
		s.note(message)
		return progress.Until(until, infrav1.ReservedReason, message)
	}
	uid, version := s.claim.UID, s.claim.ResourceVersion
	err := r.client.Delete(ctx, s.claim, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return progress.Failed(fmt.Errorf("end the reservation: %w", err))
	}
	r.announcer.eventExpired(s.claim)
	s.finished = true
	return progress.Outcome{}
}
