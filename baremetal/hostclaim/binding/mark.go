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

package binding

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// MarkedHost returns the host with the mark of a claim that is about to be bound
// to it: the second record of the intent, in the place that every other writer
// of the host must write, too. It books nothing: another claim that takes the host
// overwrites the mark, and with that defeats the first.
func MarkedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	setClaimUID(out, string(claim.UID))
	return out
}

// MarkKey is the UID of the claim whose mark is on a host that does not name it;
// empty if there is none.
func MarkKey(host *bmov1alpha1.BareMetalHost) string {
	mark := host.Labels[infrav1.ClaimUIDLabel]
	if ConsumerKey(host) != "" && string(host.Spec.ConsumerRef.UID) == mark {
		return ""
	}
	return mark
}

// Marked says that the mark of the claim is on a host that does not name it.
func Marked(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return MarkKey(host) == string(claim.UID) && claim.UID != ""
}

// FencedHost returns the host with a fence of the claim, which bumps its version.
// The fence is taken off again at once, see UnmarkedHost.
func FencedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	setAnnotation(out, infrav1.FenceAnnotation, string(claim.UID)+"/"+claim.ResourceVersion)
	return out
}

// HasFence says that a fence of the claim was left on the host by a pass that
// ended before it could take the fence off.
func HasFence(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return strings.HasPrefix(host.Annotations[infrav1.FenceAnnotation], string(claim.UID)+"/")
}

// UnmarkedHost returns the host without what an intent of the claim left on it,
// mark and fence. Writing that bumps the host's version, so it is a fence itself.
func UnmarkedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	if Marked(host, claim) {
		delete(out.Labels, infrav1.ClaimUIDLabel)
	}
	if HasFence(host, claim) {
		delete(out.Annotations, infrav1.FenceAnnotation)
	}
	return out
}
