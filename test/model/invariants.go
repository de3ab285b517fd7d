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
	"fmt"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// Violation is an invariant that did not hold.
type Violation struct {
	// Invariant is which one, Rule how it was broken in general, and Detail how
	// in this schedule.
	Invariant, Rule, Detail string
}

// String returns which and how.
func (v *Violation) String() string {
	return v.Invariant + ": " + v.Detail
}

// The invariants, as reports name them.
const (
	OneHost        = "1 one host per claim, one claim per host"
	Allowed        = "2 no bind without policy"
	Clean          = "3 no release before the host is clean"
	NothingLeft    = "4 nothing is left behind"
	NoneForgotten  = "4 no claim waits for a host that is free"
	ComesToRest    = "4 everything comes to rest"
	Handed         = "2 a reserved server stays with its group, and two machines never share it"
	Once           = "3 what is asked for is done once"
	Separate       = "5 tenants are kept apart"
	Unbelieved     = "5 no claim takes a host by the word of another client"
	StatusIsTrue   = "the status tells the truth at rest"
	MovesWhole     = "6 a move changes no server"
	CleaningStored = "the cleaning mode comes back"
	OneController  = "a claim has one controller"
	OthersStay     = "what others have written stays"
)

// fail notes the first violation.
func (w *World) fail(invariant, format string, args ...any) {
	if w.Failure == nil {
		w.Failure = &Violation{Invariant: invariant, Rule: format, Detail: fmt.Sprintf(format, args...)}
	}
}

// observe judges every write.
func (w *World) observe(e store.Event) {
	switch e.Kind {
	case store.Claims:
		w.observeClaim(e)
	case store.Hosts:
		w.observeHost(e)
	case store.Secrets:
		w.observeSecret(e)
	}
}

func (w *World) observeClaim(e store.Event) {
	w.observeControllers(e)
	w.observeReboot(e)
	w.observeEnd(e)
	w.observeHanding(e)
	if e.Before != nil && e.After != nil {
		l := w.lives[e.After.UID]
		l.loose = paused(claimOf(e.After)) && (l.loose || !blocked(e.After))
	}
	switch {
	case e.Before == nil:
		w.lives[e.After.UID] = &life{namespace: e.Key.Namespace, name: e.Key.Name, intended: map[types.NamespacedName]bool{}, forgedGone: map[types.NamespacedName]bool{}}
	case e.After == nil:
		w.claimGone(e.Before)
	case w.writer != nil:
		w.mindText("the status of a claim", e.Key.Namespace, show(e.After))
		w.observeBelief(e)
	}
}

// claimGone judges the end of a claim. A tenant that strips its finalizer ends it
// before its host is free; the orphan reconciler looks after that.
func (w *World) claimGone(claim *store.Version) {
	l := w.lives[claim.UID]
	l.wentUnmoved = !binding.OnHold(claimOf(claim)) || blocked(claim)
	if l.vanishes() {
		return
	}
	if host, found := w.hostNaming(claim.UID); found {
		w.fail(NothingLeft, "claim %s is gone while host %s names it", claim.Key, host.Key)
	}
	if copied, found := w.overlookedCopy(claim.UID, ""); found && w.writer.secretsRead >= 0 {
		w.fail(NothingLeft, "claim %s is gone and secret %s is left of it", claim.Key, copied.Key)
	}
}

// overlookedCopy returns a Secret that was copied for a claim, was there when the
// writer looked for such, if it did, and still is. One whose host goes away goes
// with it. What a pass creates late, because it stalled, is deleted later, and so is what it
// creates by mistake, unless that is next to the host that is being freed.
func (w *World) overlookedCopy(claim types.UID, freed string) (*store.Version, bool) {
	if w.writer == nil {
		return nil, false
	}
	looked := w.writer.secretsRead
	if looked < 0 {
		looked = w.log.Position()
	}
	for _, v := range w.log.At(store.Secrets, looked) {
		still := slices.ContainsFunc(w.log.All(store.Secrets), func(now *store.Version) bool { return now.UID == v.UID })
		if v.Labels()[infrav1.SecretClaimUIDLabel] == string(claim) && still && w.ownerStays(v) &&
			(v.Key.Namespace == freed || !w.mistaken(claim, v.Key.Namespace)) {
			return v, true
		}
	}
	return nil, false
}

// mistaken reports whether a pass with a late copy of the claim may have taken a host of a namespace for
// the claim's: it had been intended, and was dropped when its administrator named the claim on it.
func (w *World) mistaken(claim types.UID, namespace string) bool {
	l := w.lives[claim]
	return l.forged && slices.ContainsFunc(slices.Collect(maps.Keys(l.intended)), func(host types.NamespacedName) bool {
		return host.Namespace == namespace
	})
}

// ownerStays reports whether a host owns the Secret and is not being deleted.
func (w *World) ownerStays(secret *store.Version) bool {
	for _, owner := range secret.Object().GetOwnerReferences() {
		for _, host := range w.log.All(store.Hosts) {
			if host.UID == owner.UID && !host.Deleting() {
				return true
			}
		}
	}
	return false
}

// consumer is the claim that a host names; empty for none.
func consumer(v *store.Version) types.UID {
	if v == nil {
		return ""
	}
	return consumerOf(hostOf(v))
}

func consumerOf(host *bmov1alpha1.BareMetalHost) types.UID {
	if host.Spec.ConsumerRef == nil {
		return ""
	}
	return host.Spec.ConsumerRef.UID
}

func (w *World) observeHost(e store.Event) {
	before, after := consumer(e.Before), consumer(e.After)
	forged := e.Before != nil && w.forged[e.Before.UID]
	w.observeForged(e)
	w.mindKept(e)
	w.mindOthers(e)
	if after != "" && !w.forged[e.After.UID] {
		w.onlyHost(e.After, after)
	}
	switch {
	case e.After == nil:
		w.hostGone(e.Before, forged)
	case w.restoring, w.forging:
	case before == after:
		w.mindServer(e)
		w.mindArrival(e)
		w.observeMove(e)
		w.observeWork(e)
	case w.writer == nil:
		w.fail("player", "a player has written a consumerRef")
	case w.takenBack(e, before):
		w.count("binds taken back")
	case before == "":
		w.bound(e, after)
	case after == "":
		w.freed(e.Before, before)
	default:
		w.passedOn(e)
	}
}

// takenBack reports whether a bind to a claim that is gone was undone before anything else happened to the
// host.
func (w *World) takenBack(e store.Event, claim types.UID) bool {
	if e.Before == nil || e.After == nil {
		return false
	}
	server := w.machines[e.Before.UID]
	_, exists := w.liveClaim(claim)
	return server != nil && server.bound == e.Before.RV && !exists && w.writer.controller.name == "hostclaim" &&
		equality.Semantic.DeepEqual(hostOf(server.seen).Spec, hostOf(e.After).Spec) &&
		equality.Semantic.DeepEqual(hostOf(server.seen).Annotations, hostOf(e.After).Annotations)
}

// observeMove judges what a manager writes to a host that was made ready for a move, or
// has no status yet.
func (w *World) observeMove(e store.Event) {
	if w.writer == nil || e.Before == nil {
		return
	}
	before, after := hostOf(e.Before), hostOf(e.After)
	claim, exists := w.liveClaim(consumer(e.Before))
	same := equality.Semantic.DeepEqual(before.Spec, after.Spec)
	switch {
	case exists && !claim.Deleting():
		w.observeMoveOf(claim, before, after, same)
	case !exists && leftBehind(before) && !w.wentUnmoved(e.Before) && (!same || !readyToMove(after)):
		w.fail(MovesWhole, "host %s was written although its claim was moved away", e.Key)
	}
}

// observeMoveOf judges what is written to a host whose claim is there.
func (w *World) observeMoveOf(claim *store.Version, before, after *bmov1alpha1.BareMetalHost, same bool) {
	switch {
	case w.lives[claim.UID].loose && unpaused(before, after):
		w.fail(MovesWhole, "host %s/%s was unpaused while clusterctl may be moving its claim", before.Namespace, before.Name)
	case !same && binding.WithoutStatus(before):
		w.fail(MovesWhole, "host %s/%s has no status, and was told something", before.Namespace, before.Name)
	}
}

// unpaused reports whether the pause of a move has ended.
func unpaused(before, after *bmov1alpha1.BareMetalHost) bool {
	return binding.PausedForMove(before) && !binding.PausedForMove(after)
}

// wentUnmoved reports whether a pass over a claim writes the host that names it, and no move took the
// claim: the pass has seen that, and the record on the host is of a pause before.
func (w *World) wentUnmoved(host *store.Version) bool {
	l := w.lives[consumer(host)]
	return l != nil && l.wentUnmoved && w.writer.controller.name == "hostclaim"
}

// readyToMove reports whether a host carries all that a move needs.
func readyToMove(host *bmov1alpha1.BareMetalHost) bool {
	return binding.HasMoveRecord(host) && binding.PausedForMove(host)
}

// leftByMove reports whether a host was made ready for a move, or marked by clusterctl.
func leftByMove(host *bmov1alpha1.BareMetalHost) bool {
	return binding.HasMoveRecord(host) || binding.MovedAway(host)
}

// leftBehind reports whether the claim which the host names went by a move, and the host did not,
// and is not given free by its administrator. The record of an earlier claim stays until the one
// that has the host by now has taken it off, and does not show how that one went.
func leftBehind(host *bmov1alpha1.BareMetalHost) bool {
	moved := host.Annotations[infrav1.BoundHostUIDAnnotation] != string(host.UID)
	record := strings.HasPrefix(host.Annotations[infrav1.MovingAnnotation], string(consumerOf(host))+"/")
	return !moved && (record || binding.MovedAway(host)) && !annotated(host, infrav1.ReleaseAnnotation)
}

// hostGone notes who has lost a host. One that was forged counts if the claim had chosen it
// before.
func (w *World) hostGone(host *store.Version, forged bool) {
	l, server := w.lives[consumer(host)], w.machines[host.UID]
	delete(w.machines, host.UID)
	switch {
	case l == nil:
	case forged && !l.intended[host.Key]:
		l.forgedGone[host.Key] = true
	default:
		if l.lost = true; !forged && server != nil {
			w.gone[consumer(host)] = goneHost{host, server}
		}
	}
}

// mindKept wants that no host is kept for a claim that is gone unless there is something to keep.
func (w *World) mindKept(e store.Event) {
	if w.writer == nil || e.Before == nil || e.After == nil || !annotated(hostOf(e.After), infrav1.OrphanedSinceAnnotation) ||
		annotated(hostOf(e.Before), infrav1.OrphanedSinceAnnotation) {
		return
	}
	host := hostOf(e.After)
	used := w.machines[e.After.UID].data != "" || host.Spec.Image != nil || host.Status.Provisioning.Image.URL != ""
	moved := host.Annotations[infrav1.BoundHostUIDAnnotation] != string(host.UID)
	if state := host.Status.Provisioning.State; state == bmov1alpha1.StateAvailable && !used && !moved &&
		!annotated(host, bmov1alpha1.PausedAnnotation) {
		w.fail(NothingLeft, "host %s is kept for claim %s, which is gone and never put it to work", e.Key, consumer(e.After))
	}
}

// mindOthers wants that a manager leaves the annotation of kubectl, which its caches do not hold.
func (w *World) mindOthers(e store.Event) {
	if w.writer != nil && e.Before != nil && e.After != nil &&
		hostOf(e.Before).Annotations[corev1.LastAppliedConfigAnnotation] != hostOf(e.After).Annotations[corev1.LastAppliedConfigAnnotation] {
		w.fail(OthersStay, "the annotation of kubectl on host %s was lost", e.Key)
	}
}

func (w *World) onlyHost(host *store.Version, claim types.UID) {
	for _, other := range w.log.All(store.Hosts) {
		if other.Key != host.Key && consumer(other) == claim && !w.forged[other.UID] {
			w.fail(OneHost, "claim %s has hosts %s and %s", claim, host.Key, other.Key)
		}
	}
}

// passedOn judges a consumerRef that names another claim than before: only a host
// that was moved with its claim may be stamped anew.
func (w *World) passedOn(e store.Event) {
	w.machines[e.After.UID].bound, w.machines[e.After.UID].seen = e.After.RV, e.Before
	was, is := hostOf(e.Before).Spec.ConsumerRef, hostOf(e.After).Spec.ConsumerRef
	moved := hostOf(e.Before).Annotations[infrav1.BoundHostUIDAnnotation] != string(e.Before.UID)
	if !moved || was.Name != is.Name || was.Namespace != is.Namespace || is.Namespace != e.Key.Namespace {
		w.fail(OneHost, "host %s went from claim %s/%s %s to claim %s/%s %s without having been freed",
			e.Key, was.Namespace, was.Name, was.UID, is.Namespace, is.Name, is.UID)
	}
	if l := w.lives[is.UID]; l != nil && l.hostless { // its host came back apart from it
		l.keeps, l.hostless = e.After.UID, false
	}
	w.count("restamped")
}

// bound judges a bind.
func (w *World) bound(e store.Event, claim types.UID) {
	w.count("binds")
	w.machines[e.After.UID].bound, w.machines[e.After.UID].seen = e.After.RV, e.Before
	l := w.lives[claim]
	if l == nil {
		w.fail(OneHost, "host %s names a claim that never was", e.Key)
		return
	}
	if _, exists := w.liveClaim(claim); !exists && !l.vanishes() {
		w.fail(NothingLeft, "host %s was bound to claim %s/%s, which is gone", e.Key, l.namespace, l.name)
	}
	if l.hostless || w.machines[l.keeps] != nil {
		w.fail(MovesWhole, "claim %s/%s was moved or restored, and got host %s, which it never had", l.namespace, l.name, e.Key)
	}
	if l.hadHost && !l.wiped {
		w.fail(OneHost, "claim %s/%s has lost its host, and got host %s instead", l.namespace, l.name, e.Key)
	}
	if e.Key.Namespace == l.namespace {
		return
	}
	since := w.writer.policyRead
	if since < 0 {
		since = e.Position
	}
	if !w.admittedSince(since, l.namespace, e.Key.Namespace) {
		w.fail(Allowed, "host %s was bound to claim %s/%s, and no policy admitted it since its writer last looked",
			e.Key, l.namespace, l.name)
	}
}

func (w *World) liveClaim(uid types.UID) (*store.Version, bool) {
	for _, v := range w.log.All(store.Claims) {
		if v.UID == uid {
			return v, true
		}
	}
	return nil, false
}

// admittedSince reports whether some policy and some labels of the namespace, of
// moments since a position, let claims of a namespace have hosts of another.
func (w *World) admittedSince(position int, namespace, hosts string) bool {
	labels := []map[string]string{}
	for at := position; at <= w.log.Position(); at++ {
		for _, v := range w.log.At(store.Namespaces, at) {
			if v.Key.Name == namespace {
				labels = append(labels, v.Labels())
			}
		}
		for _, v := range w.log.At(store.Policies, at) {
			for _, l := range labels {
				if v.Key.Namespace == hosts && w.admits(v, namespace, l) {
					return true
				}
			}
		}
	}
	return false
}

// admits reads a policy of those that players write.
func (w *World) admits(v *store.Version, namespace string, labels map[string]string) bool {
	policy, ok := v.Object().(*bmov1alpha1.HostDeployPolicy)
	if !ok || policy.Spec.HostClaimNamespaces == nil {
		return false
	}
	spec := policy.Spec.HostClaimNamespaces
	for _, name := range spec.Names {
		if name != namespace {
			return false
		}
	}
	for _, label := range spec.HasLabels {
		if labels[label.Name] != label.Value {
			return false
		}
	}
	return spec.NameMatches == "" || spec.NameMatches == w.config.Prefix+"tenant[01]"
}

// freed judges a release by what the host was before it.
func (w *World) freed(before *store.Version, claim types.UID) {
	w.count("releases")
	host := hostOf(before)
	status := host.Status.Provisioning
	for _, fault := range []struct {
		what  string
		holds bool
	}{
		{"is in state " + string(status.State), status.State != bmov1alpha1.StateAvailable && status.State != bmov1alpha1.StateReady},
		{"has an image", host.Spec.Image != nil || status.Image.URL != ""},
		{"has a customDeploy", host.Spec.CustomDeploy != nil || status.CustomDeploy != nil},
		{"refers to data", host.Spec.UserData != nil || host.Spec.MetaData != nil || host.Spec.NetworkData != nil},
		{"is not cleaned when it is deprovisioned", host.Spec.AutomatedCleaningMode != bmov1alpha1.CleaningModeMetadata},
		{"is paused", annotated(host, bmov1alpha1.PausedAnnotation)},
		{"is detached", annotated(host, bmov1alpha1.DetachedAnnotation)},
		{"is in error", host.Status.ErrorMessage != "" || host.Status.ErrorType != ""},
		{"is on", mustBeOff(host)},
		{"has data of a tenant on its disks", w.machines[before.UID].data != ""},
	} {
		if fault.holds {
			w.fail(Clean, "host %s was freed and %s", before.Key, fault.what)
		}
	}
	if copied, found := w.overlookedCopy(claim, before.Key.Namespace); found {
		w.fail(Clean, "host %s was freed and secret %s is next to it", before.Key, copied.Key)
	}
	if v, exists := w.liveClaim(claim); exists && !v.Deleting() {
		w.fail(Clean, "host %s was taken from claim %s, which is not being deleted", before.Key, v.Key)
	}
}

// mustBeOff reports whether a free host is on, and is not on the fast track.
func mustBeOff(host *bmov1alpha1.BareMetalHost) bool {
	return host.Spec.Online && host.Annotations[infrav1.FastTrackAnnotation] != "true"
}

// observeSecret judges what a manager writes next to hosts.
func (w *World) observeSecret(e store.Event) {
	if w.writer == nil || e.After == nil {
		return
	}
	secret, ok := e.After.Object().(*corev1.Secret)
	l := w.lives[types.UID(e.After.Labels()[infrav1.SecretClaimUIDLabel])]
	if !ok || l == nil {
		w.fail(Separate, "secret %s was written for no claim", e.Key)
		return
	}
	for key, value := range secret.Data {
		w.mindText("secret "+e.Key.String()+" key "+key, l.namespace, string(value))
	}
}

// mindText judges a text that people of a namespace may read.
func (w *World) mindText(where, namespace, text string) {
	for _, other := range append(w.tenants[:len(w.tenants):len(w.tenants)], w.infra...) {
		if other != namespace && (strings.Contains(text, secretText(other)) || strings.Contains(text, bmcAddress(other))) {
			w.fail(Separate, "%s of namespace %s tells of namespace %s: %s", where, namespace, other, text)
		}
	}
}

// minded judges and notes what a pass is about to ask for.
func (w *World) minded(p *pass, request store.Request) {
	if request.Cached || request.Writes() {
		return
	}
	switch request.Kind {
	case store.Policies, store.Namespaces:
		if p.policyRead < 0 {
			p.policyRead = w.log.Position()
		}
	case store.Secrets:
		w.mindSecrets(p, request)
	}
}

// mindSecrets judges a read of Secrets: those of others are read by their metadata
// at most.
func (w *World) mindSecrets(p *pass, request store.Request) {
	if request.Verb == "list" {
		p.secretsRead = w.log.Position()
	}
	if !request.Partial && (p.controller.name != "hostclaim" ||
		(request.Key.Namespace != p.key.Namespace && !binding.IsCopyName(request.Key.Name))) {
		w.fail(Separate, "%s read secret %s", p, request.Key)
	}
}
