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
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Intending returns the claim with all that it must carry before a host is bound to it:
// our finalizer, what GuardedClaim adds for moves, and the intent annotation, which outlives a
// status that is lost. The annotation names the version of the host: an intent for a host that
// has changed makes a new version of the claim.
func Intending(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HostClaim {
	out := GuardedClaim(claim, true, true)
	if !slices.Contains(out.Finalizers, infrav1.HostClaimFinalizer) {
		out.Finalizers = append(out.Finalizers, infrav1.HostClaimFinalizer)
	}
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.IntendedHostAnnotation, strings.Join([]string{
		string(claim.UID), host.Namespace, host.Name, string(host.UID), host.ResourceVersion,
	}, "/"))
	return out
}

// WithoutRecord returns the claim without its intent annotation: no write to the host can be under way.
func WithoutRecord(claim *bmov1alpha1.HostClaim) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	delete(out.Annotations, infrav1.IntendedHostAnnotation)
	return out
}

// LostMessage is the message of a claim whose host is gone.
const LostMessage = "The host of this claim is gone or no longer names the claim; it is not replaced, delete the claim to get another one"

// WithIntentStatus returns the claim with a status that names the host which is about to be bound. Associated is
// Unknown then, for reason Binding. A claim that has had a host, and is about to get it back, keeps the reason
// that it had, so that WithoutIntentStatus leaves it as one that gets no other host.
func WithIntentStatus(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, now time.Time) *bmov1alpha1.HostClaim {
	reason, message := infrav1.BindingReason, "A host was chosen and is being bound"
	associated := ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	switch record := RecordOf(claim); {
	case record == Lost && associated.Reason == infrav1.BindRefusedReason:
		reason, message = associated.Reason, boundAgain
	case record == Lost:
		reason, message = bmov1alpha1.MissingBareMetalHostReason, boundAgain
	case record == Bound:
		reason, message = bmov1alpha1.BareMetalHostAssociatedReason, boundAgain
	}
	out := claim.DeepCopy()
	out.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: host.Namespace, Name: host.Name}
	setAssociated(out, metav1.ConditionUnknown, reason, message, now)
	return out
}

const boundAgain = "The host of this claim was moved or restored and is being bound again"

// WithoutIntentStatus returns the claim without the intent in its status: it has no host, has lost the one that it
// had, or has still to find out that it did.
func WithoutIntentStatus(claim *bmov1alpha1.HostClaim, now time.Time) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	associated := ConditionOf(claim.Status.Conditions, bmov1alpha1.AssociatedCondition)
	switch reason := associated.Reason; reason {
	case bmov1alpha1.MissingBareMetalHostReason:
		setAssociated(out, metav1.ConditionFalse, reason, LostMessage, now)
	case infrav1.BindRefusedReason: // the message is that of the pass that was refused
		setAssociated(out, metav1.ConditionFalse, reason, associated.Message, now)
	case bmov1alpha1.BareMetalHostAssociatedReason:
		setAssociated(out, metav1.ConditionTrue, reason, "", now)
	default:
		out.Status.BareMetalHost = nil
	}
	return out
}

func setAssociated(claim *bmov1alpha1.HostClaim, status metav1.ConditionStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
		Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: reason, Message: message,
		ObservedGeneration: claim.Generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// Intent is the host that a claim was about to get last, by its intent annotation.
type Intent struct {
	Host types.NamespacedName
	// UID and Version are those of the host as it was about to be bound.
	UID     types.UID
	Version string
}

// LastIntent reads the intent annotation. A tenant can write it where no admission policy refuses
// that, so it leads to no write but to a host that matches it exactly.
func LastIntent(claim *bmov1alpha1.HostClaim) (Intent, bool) {
	record := strings.SplitN(claim.Annotations[infrav1.IntendedHostAnnotation], "/", 6) // a tenant may have written many
	if len(record) != 5 || record[0] != string(claim.UID) || record[3] == "" ||
		len(validation.IsDNS1123Label(record[1])) > 0 || len(validation.IsDNS1123Subdomain(record[2])) > 0 {
		return Intent{}, false
	}
	host := types.NamespacedName{Namespace: record[1], Name: record[2]}
	return Intent{Host: host, UID: types.UID(record[3]), Version: record[4]}, true
}

// IsFor reports whether a host is the one of the intent, at whatever version.
func (i Intent) IsFor(host *bmov1alpha1.BareMetalHost) bool {
	return i.Host.Namespace == host.Namespace && i.Host.Name == host.Name && i.UID == host.UID
}

// Open reports whether a writer may still bind the host for the intent. One that has been written since
// needs no fence.
func (i Intent) Open(host *bmov1alpha1.BareMetalHost) bool {
	return i.IsFor(host) && i.Version == host.ResourceVersion
}

// FencedHost returns the host with a fence of the claim, which bumps its version.
// The fence is taken off again at once, see Unfenced.
func FencedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.FenceAnnotation, string(claim.UID)+"/"+claim.ResourceVersion)
	return out
}

// HasFence reports whether a fence of the claim was left on the host by a pass that
// ended before it could take the fence off.
func HasFence(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return strings.HasPrefix(host.Annotations[infrav1.FenceAnnotation], string(claim.UID)+"/")
}

// Unfenced returns a fenced host without its fence. Writing that bumps the host's version,
// so it is a fence itself.
func Unfenced(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Annotations, infrav1.FenceAnnotation)
	return out
}
