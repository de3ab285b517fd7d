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

package model

import (
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// maxRestSteps is how many steps a world may take to come to rest.
const maxRestSteps = 4000

// drain ends all faults, mends what people must mend, and lets all players finish.
func (w *World) drain() {
	w.draining = true
	w.tracef("from here on nothing new happens")
	w.oneLeader()
	for w.endDeletion() {
	}
	w.mendAll()
	w.comeToRest()
}

// beginAtRest lets a world come to rest before anything else happens in it, so that its
// claims have servers that could be moved.
func (w *World) beginAtRest() {
	w.draining = true
	w.comeToRest()
	w.draining = false
}

func (w *World) comeToRest() {
	for range maxRestSteps {
		if w.Failure != nil || !w.settle() {
			return
		}
		w.step++
	}
	w.fail(ComesToRest, "%d steps were not enough", maxRestSteps)
}

// oneLeader lets the last manager that was started lead alone. What the others
// have begun they finish at any time.
func (w *World) oneLeader() {
	w.ensureLeader()
	led := false
	for _, m := range slices.Backward(w.managers) {
		m.leads = m.leads && !led
		led = led || m.leads
		for _, p := range m.passes {
			p.sleeps = 0
		}
	}
}

// mendAll does what the people would do about claims and hosts that wait for
// them.
func (w *World) mendAll() {
	for _, v := range w.log.All(store.Claims) {
		if paused(claimOf(v)) {
			edit(w, tenantName, v, "", unpause)
		}
	}
	for range 2 {
		for _, v := range w.log.All(store.Hosts) {
			if w.forged[v.UID] {
				w.retract(v)
			}
			w.wipeLabel(v)
			w.letGo(v)
		}
	}
}

// settle takes one step of the way to rest; false when there is none left.
func (w *World) settle() bool {
	underway := slices.ContainsFunc(w.managers, func(m *manager) bool { return len(m.passes) > 0 })
	if underway && chance(w.choices, 2) {
		return w.goOn()
	}
	if w.leaderSees() {
		return true
	}
	switch {
	case w.begin(), underway && w.goOn(), w.operate(), w.wakeDelayed(), w.collectGarbage(), w.otherEnds():
		return true
	default:
		return w.waitForDeadline() || w.releaseOrphan() || w.retractLeft()
	}
}

// leaderSees brings one kind in the cache of the leader to the present.
func (w *World) leaderSees() bool {
	for _, m := range w.managers {
		for _, kind := range store.Kinds() {
			if m.leads && m.behind(kind) {
				w.catchUp(m, kind)
				return true
			}
		}
	}
	return false
}

// releaseOrphan decides, as an administrator, about a host whose claim was made
// again under its old name, or was moved away.
func (w *World) releaseOrphan() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool {
		host := hostOf(v)
		_, claimed := w.liveClaim(consumer(v))
		left := leftByMove(host) && consumer(v) != "" && !claimed
		// A forged consumerRef is taken back, see retractLeft.
		return (left || annotated(host, infrav1.OrphanedSinceAnnotation)) && !annotated(host, infrav1.ReleaseAnnotation) && !w.forged[v.UID]
	})
	return found && edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations[infrav1.ReleaseAnnotation] = ""
	})
}

// waitForDeadline passes the time until the first key comes back.
func (w *World) waitForDeadline() bool {
	for _, m := range w.managers {
		for _, c := range m.controllers {
			if m.leads && len(c.queue.later) > 0 {
				c.queue.wakeLater(0)
				return true
			}
		}
	}
	return false
}

// checkRest judges what is left when everything has come to rest.
func (w *World) checkRest() {
	for _, v := range w.log.All(store.Hosts) {
		w.checkHost(v)
	}
	for _, v := range w.log.All(store.Secrets) {
		if l := w.lives[uidLabel(v)]; l != nil {
			if _, exists := w.liveClaim(uidLabel(v)); !exists && !w.unseenCopy(v, l) {
				w.fail(NothingLeft, "secret %s is left of claim %s/%s", v.Key, l.namespace, l.name)
			}
		}
	}
	for _, v := range w.log.All(store.Claims) {
		w.checkClaim(v)
	}
}

// unseenCopy reports whether a copy was left where no new leader looks: its host was given to the
// claim, and taken from it, by the administrator, and its namespace has no policy. See ADR 0002 for
// when such a copy goes.
func (w *World) unseenCopy(copied *store.Version, l *life) bool {
	return l.handed && !slices.ContainsFunc(w.log.All(store.Policies), func(v *store.Version) bool {
		return v.Key.Namespace == copied.Key.Namespace
	})
}

// checkHost judges a host at rest.
func (w *World) checkHost(v *store.Version) {
	host := hostOf(v)
	if uid := consumer(v); uid != "" {
		l := w.lives[uid]
		if _, exists := w.liveClaim(uid); !exists {
			w.fail(NothingLeft, "host %s is booked for ever for claim %s/%s, which is gone", v.Key, l.namespace, l.name)
		}
		return
	}
	// One that was taken from its claim by hand, and has a payload, keeps the cleaning.
	clean := binding.Releasable(host).Reason == "" || host.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeMetadata
	w.checkAnnotations(v, clean)
	if blocked(v) || host.Labels[infrav1.MoveHierarchyLabel] != "" || binding.PausedForMove(host) || binding.MovedAway(host) {
		w.fail(NothingLeft, "host %s is free and has marks of a move", v.Key)
	}
	if _, found := host.Labels[infrav1.ClaimUIDLabel]; found {
		w.fail(NothingLeft, "host %s is free and has the label of a claim", v.Key)
	}
	if mode := w.machines[v.UID].mode; clean && mode != "" && mode != host.Spec.AutomatedCleaningMode {
		w.fail(CleaningStored, "host %s came back with cleaning mode %s instead of %s", v.Key, host.Spec.AutomatedCleaningMode, mode)
	}
}

// checkAnnotations judges those of a free host at rest. The fast track is its administrator's.
func (w *World) checkAnnotations(v *store.Version, clean bool) {
	for key := range hostOf(v).Annotations {
		kept := key == infrav1.FastTrackAnnotation || key == infrav1.FormerCleaningModeAnnotation && !clean
		if strings.HasPrefix(key, "hostclaim.metal3.io/") && !kept {
			w.fail(NothingLeft, "host %s is free and has annotation %s", v.Key, key)
		}
	}
}

// checkClaim judges a claim at rest.
func (w *World) checkClaim(v *store.Version) {
	l := w.lives[v.UID]
	host, bound := w.hostNaming(v.UID)
	switch {
	case v.Deleting():
		w.fail(NothingLeft, "claim %s is deleted and does not go", v.Key)
	case w.machines[l.keeps] != nil && (!bound || host.UID != l.keeps):
		w.fail(OneHost, "claim %s was moved with its host and does not have it", v.Key)
	case bound:
		w.checkBound(v, host)
	default:
		w.checkUnbound(v, l)
	}
}

// associated is the condition Associated of a claim; empty while there is none.
func associated(claim *bmov1alpha1.HostClaim) metav1.Condition {
	if c := meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.AssociatedCondition); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// checkBound checks the status of a claim with a host.
func (w *World) checkBound(v, host *store.Version) {
	w.checkWishes(v, host)
	ref := claimOf(v).Status.BareMetalHost
	// Where no policy admits the claim, nothing is written to a host that was handed to it.
	if binding.Held(hostOf(host)) || !blocked(v) || (!blocked(host) && !w.lives[v.UID].handed) {
		w.fail(MovesWhole, "claim %s is not paused, and could be moved with host %s", v.Key, host.Key)
	}
	if associated(claimOf(v)).Status != metav1.ConditionTrue {
		w.fail(StatusIsTrue, "claim %s has a host and does not say so", v.Key)
	}
	if ref == nil || ref.Name != host.Key.Name || ref.Namespace != host.Key.Namespace {
		w.fail(StatusIsTrue, "claim %s names another host than its own", v.Key)
	}
}

// checkUnbound checks the status of a claim without a host, and that it has to wait.
func (w *World) checkUnbound(v *store.Version, l *life) {
	claim := claimOf(v)
	if w.judgeClass(v) {
		return
	}
	switch c := associated(claim); {
	case meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.StoodDownCondition):
		w.fail(StatusIsTrue, "claim %s was given up for a controller that does not exist", v.Key)
	case c.Status == metav1.ConditionTrue:
		w.fail(StatusIsTrue, "claim %s has no host and says it has", v.Key)
	case c.Reason == infrav1.HostNotMovedReason:
		if !l.hostless && l.keeps == "" {
			w.fail(StatusIsTrue, "claim %s waits for the host that it had, and was never moved", v.Key)
		}
	case c.Reason != bmov1alpha1.MissingBareMetalHostReason:
		w.checkWaiting(v)
	case !l.lost:
		w.fail(StatusIsTrue, "claim %s reports the loss of a host and never lost one", v.Key)
	}
}

// checkWaiting judges a claim without a host.
func (w *World) checkWaiting(v *store.Version) {
	claim := claimOf(v)
	criteria, err := selection.Parse(claim)
	if err != nil {
		return
	}
	for _, host := range w.log.All(store.Hosts) {
		admitted := host.Key.Namespace == v.Key.Namespace ||
			w.admittedSince(w.log.Position(), v.Key.Namespace, host.Key.Namespace)
		if admitted && selection.Fits(criteria, hostOf(host)) == "" {
			w.fail(NoneForgotten, "claim %s waits and host %s is free for it", v.Key, host.Key)
		}
	}
}

func uidLabel(v *store.Version) types.UID {
	return types.UID(v.Labels()[infrav1.SecretClaimUIDLabel])
}
