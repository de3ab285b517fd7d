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
	"fmt"
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// Claim is what is known of the claim that a host names.
type Claim int

// What can be known of a claim. All but Present is believed only from a live read.
const (
	// Present is a claim with the UID that the host names.
	Present Claim = iota
	// Absent means that no claim has the namespace and name.
	Absent
	// Replaced is a claim of that namespace and name with another UID.
	Replaced
	// Unserved is a claim of that namespace and name with another UID that gets no server, by its class.
	Unserved
	// Unaware is a claim with the UID that the host names, whose status does not name
	// the host: another client wrote the consumerRef.
	Unaware
)

// Reasons of the events of a BareMetalHost whose HostClaim is gone.
const (
	// OrphanedReason surfaces when the claim is gone. The host is released when the grace is over.
	OrphanedReason = "Orphaned"
	// OrphanedByNamesakeReason surfaces when another claim has the name now. An administrator
	// decides.
	OrphanedByNamesakeReason = "OrphanedByNamesake"
	// OrphanedPausedReason surfaces when the host of a claim that is gone is paused.
	OrphanedPausedReason = "OrphanedPaused"
	// ForeignConsumerReason surfaces when another client wrote the consumerRef of the host.
	ForeignConsumerReason = "ForeignConsumer"
	// ClaimMovedAwayReason surfaces when the claim left by a move. The server may run for another
	// cluster, so an administrator decides.
	ClaimMovedAwayReason = "ClaimMovedAway"
	// ReleasingReason surfaces when the host of a claim that is gone is wiped and given back.
	ReleasingReason = "ReleasingOrphan"
)

// Observed is everything that the answer depends on.
type Observed struct {
	// Host names a claim.
	Host *bmov1alpha1.BareMetalHost
	// Claim is what is known of the claim that it names.
	Claim Claim
	// Grace is how long an orphan is kept, and Now the time.
	Grace time.Duration
	Now   time.Time
}

// Step is what to do next with a host.
type Step string

// The steps of an orphan.
const (
	// Leave means that nothing is done about the host.
	Leave Step = "Leave"
	// Unmark asks for the mark of an orphan to be taken off.
	Unmark Step = "Unmark"
	// Mark asks for the host to be marked as an orphan, see Marked.
	Mark Step = "Mark"
	// Wait means that the host is kept as it is for now.
	Wait Step = "Wait"
	// Release asks for the host to be wiped and given back.
	Release Step = "Release"
)

// Plan is the next step. Reason and Message are those of an event for the administrator; they
// are empty while there is nothing to report.
type Plan struct {
	Step            Step
	Reason, Message string
	// Until is when to look again; zero for not before an event.
	Until time.Time
}

// Orphaned reports whether the host counts as an orphan.
func (p Plan) Orphaned() bool {
	return p.Step != Leave && p.Step != Unmark
}

// Next returns what to do with a host that may be an orphan. One that was never put to work for
// its claim holds nothing that could be kept, and goes back at once. For all others the mark comes
// first, so that nothing happens to a host that no administrator could have seen as an orphan.
func Next(o Observed) Plan {
	if plan, exempt := o.exempt(); exempt {
		return plan
	}
	since, marked := markOf(o.Host)
	switch {
	case binding.Held(o.Host), binding.MovedAway(o.Host):
		return o.movedAway()
	case unused(o.Host):
		return o.release()
	case !marked:
		return Plan{Step: Mark}
	case metav1.HasAnnotation(o.Host.ObjectMeta, bmov1alpha1.PausedAnnotation):
		return o.wait(OrphanedPausedReason, "the host is paused, so it is kept as it is; unpause it, and it is wiped and given back when its time has come")
	case metav1.HasAnnotation(o.Host.ObjectMeta, infrav1.ReleaseAnnotation), begun(o.Host):
		return o.release()
	case o.Claim == Replaced, o.Claim == Unserved:
		return o.wait(OrphanedByNamesakeReason, fmt.Sprintf("another claim has its name now; the host is kept as it is until "+
			"an administrator puts annotation %s on it, then it is wiped and given back", infrav1.ReleaseAnnotation))
	case o.Now.Before(since.Add(o.Grace)):
		plan := o.wait(OrphanedReason, fmt.Sprintf("the host is wiped and given back after a grace of %s, "+
			"or at once if an administrator puts annotation %s on it", o.Grace, infrav1.ReleaseAnnotation))
		plan.Until = since.Add(o.Grace)
		return plan
	default:
		return o.release()
	}
}

// exempt decides about a host that is no orphan.
func (o Observed) exempt() (Plan, bool) {
	switch {
	case o.Claim == Unaware:
		return Plan{Step: Leave, Reason: ForeignConsumerReason, Message: o.subject() +
			" did not get this host from the hostclaim manager, so nothing is done for it; remove spec.consumerRef to give the host to the pool"}, true
	case !Suspect(o.Host):
		return Plan{Step: Leave}, true
	case o.Claim == Present && metav1.HasAnnotation(o.Host.ObjectMeta, infrav1.OrphanedSinceAnnotation):
		return Plan{Step: Unmark}, true
	default:
		return Plan{Step: Leave}, o.Claim == Present || leftToItsClaim(o) || !o.Host.DeletionTimestamp.IsZero()
	}
}

// movedAway decides about a host that was made ready for a move with its claim. The claim
// may be in another cluster, with the server or without, so nothing is done about the host
// unless an administrator asks for it: no grace ends, and no mark is written to a host that
// clusterctl moves or has just moved.
func (o Observed) movedAway() Plan {
	if metav1.HasAnnotation(o.Host.ObjectMeta, infrav1.ReleaseAnnotation) && (binding.PausedForMove(o.Host) || !metav1.HasAnnotation(o.Host.ObjectMeta, bmov1alpha1.PausedAnnotation)) {
		return o.release()
	}
	if arrived := o.Host.CreationTimestamp.Add(o.Grace); hasMoved(o.Host) && o.Now.Before(arrived) {
		return Plan{Step: Leave, Until: arrived} // its claim is created after it
	}
	return Plan{Step: Wait, Reason: ClaimMovedAwayReason, Message: o.subject() + " left by a move, or did not come with it; " +
		"the host is kept as it is. If no other cluster uses the server, an administrator puts annotation " +
		infrav1.ReleaseAnnotation + " on the host, then it is wiped and given back"}
}

// hasMoved reports whether the host was moved or restored since it was bound.
func hasMoved(host *bmov1alpha1.BareMetalHost) bool {
	bound, found := host.Annotations[infrav1.BoundHostUIDAnnotation]
	return found && bound != string(host.UID)
}

// Marked returns the host with the mark of an orphan.
func Marked(host *bmov1alpha1.BareMetalHost, now time.Time) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.OrphanedSinceAnnotation, now.UTC().Format(time.RFC3339))
	return out
}

// Unmarked returns the host without that mark.
func Unmarked(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Annotations, infrav1.OrphanedSinceAnnotation)
	return out
}

// markOf returns since when a host counts as an orphan. A mark that was moved or restored with
// its host does not count for the time before: its claim could not exist before the host did.
func markOf(host *bmov1alpha1.BareMetalHost) (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, host.Annotations[infrav1.OrphanedSinceAnnotation])
	if err != nil {
		return time.Time{}, false
	}
	if born := host.CreationTimestamp.Time; since.Before(born) {
		return born, true
	}
	return since, true
}

// leftToItsClaim reports whether the host was moved or restored together with a claim
// of its own namespace, which got a new UID on the way. The claim stamps the host
// anew.
func leftToItsClaim(o Observed) bool {
	return o.Claim == Replaced && hasMoved(o.Host) && o.Host.Spec.ConsumerRef.Namespace == o.Host.Namespace
}

// unused reports whether nothing has ever run on the host for the claim that it names: what was asked
// for, if anything, was not written yet. A host that was moved, or restored, waits for its claim,
// and a paused one for its administrator.
func unused(host *bmov1alpha1.BareMetalHost) bool {
	status := host.Status.Provisioning
	return slices.Contains(beforeUse[:], status.State) && status.Image.URL == "" && status.CustomDeploy == nil &&
		!hasMoved(host) && !metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation)
}

// beforeUse are the states of a host on which nothing was provisioned yet.
var beforeUse = [...]bmov1alpha1.ProvisioningState{
	bmov1alpha1.StateAvailable, bmov1alpha1.StateReady, bmov1alpha1.StatePreparing, bmov1alpha1.StateProvisioning,
}

// begun reports whether nothing of the claim is on the host any more but its name: then the release
// has begun, and nothing is left that could be kept.
func begun(host *bmov1alpha1.BareMetalHost) bool {
	return equality.Semantic.DeepEqual(binding.Cleared(host), host)
}

func (o Observed) wait(reason, rest string) Plan {
	return Plan{Step: Wait, Reason: reason, Message: o.subject() + " does not exist any more; " + rest}
}

func (o Observed) release() Plan {
	return Plan{Step: Release, Reason: ReleasingReason, Message: o.subject() + " does not exist any more; the host is wiped and given back"}
}

// subject names the claim.
func (o Observed) subject() string {
	ref := o.Host.Spec.ConsumerRef
	return fmt.Sprintf("HostClaim %s of namespace %s with UID %s", ref.Name, ref.Namespace, ref.UID)
}

// Suspect reports whether a host names a HostClaim and was bound by us. The label counts only
// with the UID that the host names: one that was there when another controller bound the host
// proves nothing.
func Suspect(host *bmov1alpha1.BareMetalHost) bool {
	return binding.ConsumerKey(host) != "" &&
		(metav1.HasAnnotation(host.ObjectMeta, infrav1.BoundHostUIDAnnotation) ||
			host.Labels[infrav1.ClaimUIDLabel] == string(host.Spec.ConsumerRef.UID))
}

// Stray reports whether a host names no claim and still carries traces of a bind: another client
// took its consumerRef away, or the manager died between two writes.
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

// StrayClaim returns the UID of the claim that a stray host was bound to; empty when no trace
// has it.
func StrayClaim(host *bmov1alpha1.BareMetalHost) types.UID {
	return types.UID(host.Labels[infrav1.ClaimUIDLabel])
}

// Fencer is the UID of the claim whose fence is on a host; empty if there is none.
// The pass that puts a fence on a host takes it off, or a later one that finds the host intended by
// the status or the record of the claim. It is a stray if neither intends the host any more.
func Fencer(host *bmov1alpha1.BareMetalHost) types.UID {
	uid, _, _ := strings.Cut(host.Annotations[infrav1.FenceAnnotation], "/")
	return types.UID(uid)
}

// Tidied returns a stray host without the traces. The administrator's cleaning mode comes back only
// when nothing is left on the host: a host that was taken from its claim without being wiped must be
// cleaned before it is given to another.
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
	switch {
	case out.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeMetadata:
		// The administrator has chosen another mode since.
	case binding.Releasable(host).Reason == "":
		out.Spec.AutomatedCleaningMode = bmov1alpha1.AutomatedCleaningMode(former)
	default:
		return out
	}
	delete(out.Annotations, infrav1.FormerCleaningModeAnnotation)
	return out
}

// knowledge is what is known of a claim once it was read; nil if none has the namespace and name
// that the host names.
func knowledge(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) Claim {
	switch {
	case claim == nil:
		return Absent
	case !binding.Owned(host, claim):
		return Replaced
	case binding.Foreign(claim, host):
		return Unaware
	default:
		return Present
	}
}

// intends reports whether a claim is about to have a host, by its status or by an intent annotation that
// may still bind it. One that has the host by its status, or has lost it, puts no fence on it any more.
func intends(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	if names(claim, host) {
		return binding.RecordOf(claim) == binding.Intended
	}
	last, _ := binding.LastIntent(claim)
	return last.Open(host)
}

// names reports whether the status of a claim names a host.
func names(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return binding.StatusNames(claim, types.NamespacedName{Namespace: host.Namespace, Name: host.Name})
}
