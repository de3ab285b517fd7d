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

package claims

import (
	"regexp"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// The status of a claim may come from another cluster, which does not check it as
// ours does. What a Metal3Machine repeats of it must fit there: one condition that
// is refused would keep all the others as they were.

// longest is how many characters of a message or a reason are repeated.
const longest = 1024

// longestName is how long the name of an object can be.
const longestName = 253

// reasons are those that a condition can have.
var reasons = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// unnamedHost explains a claim whose host cannot be told.
const unnamedHost = "The HostClaim names a host whose name is none: have its hostclaim manager looked at"

// usableReason is the reason, or one of ours if it is none.
func usableReason(reason string) string {
	if len(reason) > longest || !reasons.MatchString(reason) {
		return infrav1.InvalidHostClaimStatusReason
	}
	return reason
}

// usableMessage is the message in one line of bounded length that can be printed.
func usableMessage(message string) string {
	const ellipsis = "..."
	// No more is looked at than could be shown.
	message = text.Printable(message[:min(len(message), 4*longest*utf8.UTFMax)])
	if runes := []rune(message); len(runes) > longest {
		return string(runes[:longest-len(ellipsis)]) + ellipsis
	}
	return message
}

// named says that the host can be one. Its name becomes part of the provider ID.
func named(host *bmov1alpha1.ObjectReference) bool {
	return len(validation.IsDNS1123Subdomain(host.Name)) == 0 &&
		(host.Namespace == "" || len(validation.IsDNS1123Label(host.Namespace)) == 0)
}
