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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// defaultReservation is how long a claim is reserved that does not say how long.
const defaultReservation = time.Hour

// expire ends a reservation in time: the claim is deleted as it is known, so that
// one that was adopted meanwhile stays, and its host goes back like any other.
func (r *releaser) expire(ctx context.Context, claim *bmov1alpha1.HostClaim) (expired bool, out progress.Outcome) {
	if !reservation.Holds(claim) {
		return false, progress.Outcome{}
	}
	until, known := binding.ReservedUntil(claim)
	if !known {
		until = r.clock.Now().Add(defaultReservation)
		if err := writeClaim(ctx, r.client, claim, binding.LimitReservation(claim, until)); err != nil {
			return false, progress.Failed(err)
		}
		r.announcer.eventLimited(claim)
	}
	if r.clock.Now().Before(until) {
		return false, progress.Until(until, infrav1.ReservedReason,
			"The host is kept for the next machine until the time in annotation "+infrav1.ReservedUntilAnnotation)
	}
	uid, version := claim.UID, claim.ResourceVersion
	err := r.client.Delete(ctx, claim, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return false, progress.Failed(fmt.Errorf("end the reservation: %w", err))
	}
	r.announcer.eventExpired(claim)
	return true, progress.Outcome{}
}
