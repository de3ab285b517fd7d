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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// emptied returns the host as it is told to wipe itself in place. If something is
// to be written afterwards, the host stays as it is until that could be done, and
// keeps its power: a running server is not given up for an image that policy
// refuses or a secret that does not exist.
func (r *synchronizer) emptied(ctx context.Context, s *scope) (*bmov1alpha1.BareMetalHost, progress.Outcome) {
	uncleaned := false
	if binding.Asked(s.claim) {
		grant, err := r.grantNow(ctx, s)
		if err != nil {
			return nil, unsynchronized(err)
		}
		if out := r.couldBeWritten(ctx, s, grant); !out.Done() {
			kept, _ := binding.KeepingPower(s.claim, s.host)
			return binding.Desired(kept, s.host, nil), out
		}
		uncleaned = binding.IsParked(s.host) && skipsCleaning(s.claim, grant)
	}
	out := binding.Emptied(s.claim, s.host, uncleaned)
	return out, waitForEmpty(s.claim, out)
}

// couldBeWritten checks policy and the secrets of a claim without bringing them
// to the host, which may still read the former ones. A host that is to be off gets
// its data when it is switched on; one that stays on would be written at once.
func (r *synchronizer) couldBeWritten(ctx context.Context, s *scope, grant policy.Grant) progress.Outcome {
	if s.host.Spec.DisablePowerOff && !s.claim.Spec.PoweredOn {
		return progress.Waiting(infrav1.RebuildRefusedReason,
			"The host must not be switched off and would be written anew at once, with the data of before: "+
				"have its administrator set spec.disablePowerOff of the BareMetalHost to false, or let this claim be powered on")
	}
	if out := mayHave(s.claim, grant, r.deniedImages); !out.Done() {
		return out
	}
	for _, kind := range binding.SecretKinds {
		if binding.SecretName(s.claim, kind) == "" {
			continue
		}
		if _, err := r.readSource(ctx, s, kind, r.outline); err != nil {
			return secretProblem(err)
		}
	}
	return progress.Outcome{}
}

// skipsCleaning says that the claim wants its host not to be cleaned between two
// workloads, and may have that.
func skipsCleaning(claim *bmov1alpha1.HostClaim, grant policy.Grant) bool {
	return binding.WantsNoCleaning(claim) && grant.Admitted && grant.PermitsSkippingCleaning()
}

// waitForEmpty waits for a host that was emptied to be at rest.
func waitForEmpty(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) progress.Outcome {
	wait := binding.EmptyingWait(claim, host)
	return progress.Waiting(wait.Reason, wait.Message)
}
