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

package hostclaim

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/lease"
)

// otherController returns the field manager of another controller that works on
// a claim which we have not bound; empty when there is none.
//
// It is judged by the field managers of the status. Somebody who edits the
// status by hand with kubectl is no controller. A claim whose host names it by
// UID was bound by us, and one that goes away is only let go of, so neither
// makes us stand down. Once we stood down we stay so, since our own condition
// takes the list of conditions over from the other one.
func otherController(claim *bmov1alpha1.HostClaim, ownHost bool) string {
	if ownHost || deleting(claim) {
		return ""
	}
	foreign, ours := statusManagers(claim)
	if bound := record(claim) == lease.Bound || record(claim) == lease.Lost; bound && ours {
		return ""
	}
	if foreign == "" && meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.StoodDownCondition) {
		return "unknown"
	}
	return foreign
}

// statusManagers returns one manager of the status that is not ours, and
// whether we are one.
func statusManagers(claim *bmov1alpha1.HostClaim) (foreign string, ours bool) {
	for _, entry := range claim.ManagedFields {
		switch {
		case entry.Subresource != "status", strings.HasPrefix(entry.Manager, "kubectl"):
		case entry.Manager == infrav1.HostClaimManagerFieldOwner:
			ours = true
		case foreign == "":
			foreign = entry.Manager
		}
	}
	return foreign, ours
}
