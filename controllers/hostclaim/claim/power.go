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
	"time"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// waitForPower says why the server of a claim is neither switched nor rebooted now: policy
// does not admit the claim any more, or it was done too often.
func waitForPower(s *scope, now time.Time) progress.Outcome {
	if !s.grant().Admitted {
		return progress.Waiting(infrav1.PolicyRevokedReason,
			"no HostDeployPolicy admits this namespace to the host any more, so its power is not switched and no reboot is passed on")
	}
	until, limited := binding.PowerLimited(s.host, now)
	if !limited {
		return progress.Outcome{}
	}
	return progress.Until(until, infrav1.PowerChangesLimitedReason,
		"The server was switched or rebooted 10 times within 10 minutes; what is asked for now is done when they are over")
}
