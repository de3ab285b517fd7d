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

package orphan

import (
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
)

// Suspect says that a host names a HostClaim and was bound by us. The label
// counts only with the UID that the host names: one that lay about when another
// controller bound the host proves nothing.
func Suspect(host *bmov1alpha1.BareMetalHost) bool {
	return binding.ConsumerKey(host) != "" &&
		(metav1.HasAnnotation(host.ObjectMeta, infrav1.BoundHostUIDAnnotation) ||
			host.Labels[infrav1.ClaimUIDLabel] == string(host.Spec.ConsumerRef.UID))
}

// Stray says that a host names no claim and still carries traces of a bind: another
// client took its consumerRef away, or the manager died between two writes.
func Stray(host *bmov1alpha1.BareMetalHost) bool {
	if host.Spec.ConsumerRef != nil {
		return false
	}
	bound := slices.ContainsFunc(straying[:], func(key string) bool { return metav1.HasAnnotation(host.ObjectMeta, key) })
	return bound || StrayClaim(host) != "" || Fencer(host) != ""
}

// straying are the annotations of a bound host. The fence is none of them: it is
// put on hosts that name no claim, see Fencer.
var straying = [...]string{
	infrav1.BoundHostUIDAnnotation, infrav1.FormerCleaningModeAnnotation, infrav1.OrphanedSinceAnnotation,
}

// StrayClaim is the UID of the claim that a stray host was bound to; empty when
// nothing tells.
func StrayClaim(host *bmov1alpha1.BareMetalHost) types.UID {
	return types.UID(host.Labels[infrav1.ClaimUIDLabel])
}

// Fencer is the UID of the claim whose fence is on a host; empty if there is none.
// A fence is taken off by the pass that has put it there, or by a later one that
// finds the host in the status or record of the claim. It is a stray if neither
// names the host any more.
func Fencer(host *bmov1alpha1.BareMetalHost) types.UID {
	uid, _, _ := strings.Cut(host.Annotations[infrav1.FenceAnnotation], "/")
	return types.UID(uid)
}

// Tidied returns a stray host without the traces. The administrator's cleaning
// mode comes back only when nothing is left on the host: what was taken from its
// claim without being wiped must not be handed on so.
func Tidied(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Labels, infrav1.ClaimUIDLabel)
	delete(out.Annotations, infrav1.BoundHostUIDAnnotation)
	delete(out.Annotations, infrav1.OrphanedSinceAnnotation)
	binding.WithoutWork(out) // a held reboot would keep the server off for good
	binding.WithoutMove(out)
	former, found := out.Annotations[infrav1.FormerCleaningModeAnnotation]
	if !found {
		return out
	}
	_, clean := binding.Releasable(host)
	switch {
	case out.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeMetadata:
		// The administrator has chosen another mode since.
	case clean:
		out.Spec.AutomatedCleaningMode = bmov1alpha1.AutomatedCleaningMode(former)
	default:
		return out
	}
	delete(out.Annotations, infrav1.FormerCleaningModeAnnotation)
	return out
}
