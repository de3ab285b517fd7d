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

package machines

import (
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Transient says that the machine waits for nothing but the next steps of controllers, which
// as a rule follow at once: the bind of a host, the rendering of data, the image. It is
// false where a person may have to act, and where nothing is waited for.
func Transient(o Observed, p Plan) bool {
	for _, w := range p.Waits {
		if !transient(o, w) {
			return false
		}
	}
	return len(p.Waits) > 0
}

func transient(o Observed, w Wait) bool {
	switch w.Reason {
	case infrav1.HostClaimNotBoundReason:
		return !o.Claim.Deleting && (o.Claim.Message == "" || o.Claim.Binding || o.Claim.Reason == infrav1.BindingReason)
	case infrav1.HardwareDataMissingReason:
		return o.Claim.FactsReason == ""
	case infrav1.WaitingForMetal3DataReason, infrav1.WaitingForHostClaimReason, infrav1.ProvisioningReason:
		return true
	default:
		return false
	}
}
