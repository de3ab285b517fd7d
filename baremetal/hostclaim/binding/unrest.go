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

// Unrest says what is being done, or is about to be done, to the server of a bound
// claim; empty when the host is at rest: it runs what its claim asks for, or is free of
// any image where the claim asks for none, its power is as wanted, and no operation is
// under way. Only then does its status say all that another baremetal-operator must know.
func Unrest(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) string {
	for _, u := range unrests {
		if u.holds(claim, host) {
			return u.words(host)
		}
	}
	return ""
}

// unrests are the reasons of Unrest, first come first told.
var unrests = [...]struct {
	words func(*bmov1alpha1.BareMetalHost) string
	holds func(*bmov1alpha1.HostClaim, *bmov1alpha1.BareMetalHost) bool
}{
	{
		words: says("baremetal-operator has not restored its status yet"),
		holds: func(_ *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool { return WithoutStatus(h) },
	},
	{
		words: says("it is in error"),
		holds: func(_ *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool { return InError(h) },
	},
	{
		words: func(h *bmov1alpha1.BareMetalHost) string { return "its state is " + StateName(h) },
		holds: func(_ *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool { return !settledState(h) },
	},
	{
		words: says("it is serviced, or waits for its turn"),
		holds: func(_ *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool {
			return h.Status.OperationalStatus != "" && h.Status.OperationalStatus != bmov1alpha1.OperationalStatusOK
		},
	},
	{
		words: says("a reboot or an inspection was asked for"),
		holds: func(c *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool { return rebootOrInspection(c, h) },
	},
	{
		words: says("what the claim asks for is not on it yet"),
		holds: func(c *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool {
			switch Compare(c, h, WantsNoCleaning(c)) {
			case NothingAsked, Frozen, Diverged, Parked:
				return false
			default:
				return true
			}
		},
	},
	{
		words: says("its power is being switched"),
		holds: func(c *bmov1alpha1.HostClaim, h *bmov1alpha1.BareMetalHost) bool {
			return h.Status.PoweredOn != h.Spec.Online || Online(c, h) != h.Spec.Online
		},
	},
}

func says(words string) func(*bmov1alpha1.BareMetalHost) string {
	return func(*bmov1alpha1.BareMetalHost) string { return words }
}

// settledState says that nothing is under way in the provisioning state of a host, and
// that it runs what it was told.
func settledState(h *bmov1alpha1.BareMetalHost) bool {
	switch h.Status.Provisioning.State {
	case bmov1alpha1.StateProvisioned:
		return runsItsPayload(h)
	case bmov1alpha1.StateAvailable, bmov1alpha1.StateReady:
		return !HasPayload(h) && !left(h)
	case bmov1alpha1.StateExternallyProvisioned:
		return true
	default:
		return false
	}
}

// rebootOrInspection says that a reboot or an inspection was asked for.
func rebootOrInspection(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	for _, keys := range []map[string]string{claim.Annotations, host.Annotations} {
		for key := range keys {
			if strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix) || key == infrav1.RebootRequestAnnotation ||
				key == bmov1alpha1.InspectAnnotationPrefix {
				return true
			}
		}
	}
	return false
}
