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

package machine

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// confirmNoClaim makes sure that a claim which the cache does not show does not
// exist either, before the machine is let go on the strength of that.
func (p claimSteps) confirmNoClaim(ctx context.Context, s *scope) progress.Outcome {
	if s.claim != nil {
		return progress.Outcome{}
	}
	claim, _, err := s.site.findLive(ctx, s.machine)
	if err != nil {
		return s.failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be read", err)
	}
	if claim != nil {
		s.claim = claim
		s.observed.Claim = claims.Read(claim)
	}
	return progress.Outcome{}
}

// confirmNoData does the same for the Metal3DataClaim: one that the cache does
// not show would keep our finalizer for ever.
func (d dataSteps) confirmNoData(ctx context.Context, s *scope) progress.Outcome {
	if s.claim != nil || s.dataClaim != nil {
		return progress.Outcome{}
	}
	claim, found, err := readDataClaim(ctx, d.live, s.machine)
	if err != nil {
		return s.failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.DisassociateM3MetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be read", err)
	}
	if found && metav1.IsControlledBy(claim, s.machine) {
		s.dataClaim = claim
		s.observed.Data = dataFacts(claim, infrav1.Metal3Data{})
	}
	return progress.Outcome{}
}

// holdElsewhere says that the machine stays because its claim in another cluster
// cannot be released now, and what its owner can do about it.
func holdElsewhere(_ context.Context, s *scope) progress.Outcome {
	if s.unreachable.Reason == infrav1.IdentityConnectingReason {
		return progress.Outcome{} // connect has said so
	}
	message := "The HostClaim in another cluster cannot be released: " + s.unreachable.Message +
		". To let the machine go without it, and leave claim and server behind, set annotation " +
		infrav1.AbandonClaimAnnotation + " to \"true\""
	s.problems = append(s.problems, machines.Wait{
		Condition: infrav1.HostClaimReadyCondition, Reason: infrav1.DeletionFailedReason, Message: message,
	})
	return progress.Waiting(infrav1.DeletionFailedReason, message)
}

// abandonClaim notes that the machine goes without its claim in another cluster,
// as its owner wants it.
func abandonClaim(ctx context.Context, s *scope) progress.Outcome {
	record, _, _ := identity.Read(s.identified(), s.machine.Annotations)
	s.abandoned = &record
	ctrl.LoggerFrom(ctx).Info("Abandoning the HostClaim", "server", record.Server, "namespace", record.Namespace,
		"HostClaim", claims.NameElsewhere(s.machine.Name, record.Origin))
	return progress.Outcome{}
}

// abandoning says that the owner of the machine has given its claim up.
func (s *scope) abandoning() bool {
	return s.machine.Annotations[infrav1.AbandonClaimAnnotation] == "true"
}

// decideRelease lets the planner decide. No IO.
func decideRelease(_ context.Context, s *scope) progress.Outcome {
	release := machines.Release(s.observed)
	s.release = &release
	return progress.Outcome{}
}

// releaseClaim deletes the claim; the hostclaim manager takes it from there.
func (p claimSteps) releaseClaim(ctx context.Context, s *scope) progress.Outcome {
	if !s.release.DeleteClaim {
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Deleting HostClaim", "HostClaim", klog.KObj(s.claim))
	if err := client.IgnoreNotFound(s.site.client.Delete(ctx, s.claim, client.Preconditions{UID: &s.claim.UID})); err != nil {
		return s.failed(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason, "The HostClaim of the machine cannot be deleted", err)
	}
	return progress.Outcome{}
}

// dropFinalizer lets the machine go; the patch at the end of the pass writes it.
func dropFinalizer(_ context.Context, s *scope) progress.Outcome {
	if s.release.Done {
		controllerutil.RemoveFinalizer(s.machine, infrav1.MachineFinalizer)
	}
	return progress.Outcome{}
}
