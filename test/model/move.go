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
	"encoding/json"
	"maps"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// withHostBeside picks a claim with a host in its namespace.
func (w *World) withHostBeside(fits func(*bmov1alpha1.HostClaim, *bmov1alpha1.BareMetalHost) bool) (claim, host *store.Version, found bool) {
	claim, found = w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		host, bound := w.hostNaming(claim.UID)
		return live(claim) && bound && host.Key.Namespace == claim.Namespace &&
			!host.Deleting() && !w.lives[claim.UID].stripped && fits(claim, hostOf(host))
	})
	if found {
		host, _ = w.hostNaming(claim.UID)
	}
	return claim, host, found
}

// move takes one step of a move by clusterctl: it pauses a claim, moves it once block-move is gone
// from claim and host, and unpauses it in the target cluster. Sometimes it dies when only the claim
// is gone, sometimes the move is called off, or may not be any more.
func (w *World) move() bool {
	if v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		return w.lives[claim.UID].trips > 0 && paused(claim) && !w.lives[claim.UID].pausedForMove
	}); found && chance(w.choices, 2) {
		return edit(w, adminName, v, "", unpause)
	}
	v, host, found := w.withHostBeside(func(claim *bmov1alpha1.HostClaim, _ *bmov1alpha1.BareMetalHost) bool {
		return w.lives[claim.UID].pausedForMove && paused(claim)
	})
	switch {
	case !found:
		return w.beginMove()
	case chance(w.choices, 20):
		return edit(w, adminName, v, "", unpause)
	case chance(w.choices, 20):
		return w.changeMind(v.Key.Namespace)
	case blocked(v) || blocked(host):
		return false
	}
	w.carryOver(v, host)
	return true
}

// carryOver takes a claim and its host to the target cluster, or the claim alone.
func (w *World) carryOver(v, host *store.Version) {
	w.count("moves")
	w.mindMove(v, host)
	if chance(w.choices, 8) {
		w.count("moves without host")
		w.lives[v.UID].moved = true
		w.elsewhere(func() {
			if w.forget(v); chance(w.choices, 2) {
				w.markForMove(host)
			}
		}, func() {})
		return
	}
	w.recreate(v, host, nil)
}

// changeMind takes back that the hosts of a namespace may move, or permits it again.
func (w *World) changeMind(namespace string) bool {
	v, found := w.pick(store.Namespaces, func(v *store.Version) bool { return v.Key.Name == namespace })
	if !found {
		return false
	}
	w.mayMove[namespace] = !w.mayMove[namespace]
	return edit(w, adminName, v, "", func(n *corev1.Namespace) {
		if delete(n.Annotations, infrav1.HostsMayMoveAnnotation); w.mayMove[namespace] {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, infrav1.HostsMayMoveAnnotation, "true")
		}
	})
}

// beginMove pauses a claim. clusterctl waits only for what carries block-move then.
func (w *World) beginMove() bool {
	restless := chance(w.choices, 8)
	v, _, found := w.withHostBeside(func(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
		return !paused(claim) && claim.Annotations[infrav1.BlockMoveAnnotation] != "" && host.Annotations[infrav1.BlockMoveAnnotation] != "" &&
			(restless || (binding.Unrest(claim, host) == "" && binding.IsMoved(claim) && w.mayMove[claim.Namespace]))
	})
	if !found {
		return false
	}
	w.lives[v.UID].pausedForMove = true
	return edit(w, adminName, v, "", pause)
}

// restore makes a claim, its host or both anew, or takes the host away, as a restore from a backup does, which heeds
// no block-move.
func (w *World) restore() bool {
	if w.restoreOlder() || w.withdraw() {
		return true
	}
	v, host, found := w.withHostBeside(func(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
		return !binding.Held(host) && !binding.WithoutStatus(host) && binding.RecordOf(claim) == binding.Bound && !binding.BoundBefore(claim)
	})
	if !found {
		return false
	}
	status := &hostOf(host).Status
	switch w.choices.Intn(4) {
	case 0:
		w.recreate(v, host, status)
	case 1:
		return w.remove(adminName, host)
	case 2:
		w.count("restored without host")
		w.recreate(v, nil, nil)
	default:
		w.count("restored without claim")
		w.recreate(nil, host, status)
	}
	return true
}

// restoreOlder makes the host anew that a claim has lost, from a backup that was made before both were moved: the host
// names the claim by an older UID.
func (w *World) restoreOlder() bool {
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		gone, found := w.gone[claim.UID]
		record := binding.RecordOf(claim)
		return found && live(claim) && gone.host.Key.Namespace == claim.Namespace && !w.lives[claim.UID].stripped &&
			(record == binding.Lost || record == binding.Bound) && binding.StatusNames(claim, gone.host.Key) &&
			!binding.Held(hostOf(gone.host)) && !binding.MovedAway(hostOf(gone.host)) && !binding.WithoutStatus(hostOf(gone.host))
	})
	if !found {
		return false
	}
	gone := w.gone[v.UID]
	delete(w.gone, v.UID)
	older := hostOf(gone.host).DeepCopy()
	older.ObjectMeta = metav1.ObjectMeta{
		Namespace: older.Namespace, Name: older.Name, Labels: older.Labels, Annotations: older.Annotations,
		Finalizers: []string{operatorFinalizer},
	}
	older.Spec.ConsumerRef.UID = "older-than-" + v.UID + "-with-" + gone.host.UID
	w.restoring = true
	defer func() { w.restoring = false }()
	made, ok := w.createTyped(store.Hosts, older)
	if !ok {
		return false
	}
	w.count("restored older hosts")
	w.machines[made.UID], w.lives[v.UID].keeps = gone.server, made.UID
	return w.report(made, older.Status)
}

// withdraw takes a host away that was restored, often while its claim is about to have it again.
func (w *World) withdraw() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool {
		attended := slices.Contains(w.attention, v.Key) || chance(w.choices, 8)
		return binding.MovedKey(hostOf(v)) != "" && w.lives[consumer(v)] == nil && !v.Deleting() && attended
	})
	return found && w.remove(adminName, v)
}

// elsewhere takes objects away while no manager runs, and makes them anew. The managers of the
// target cluster may run before the objects are created.
func (w *World) elsewhere(remove, create func()) {
	for _, m := range w.managers {
		if m.cache != nil {
			m.crash()
		}
	}
	w.restoring = true
	remove()
	if chance(w.choices, 2) {
		w.ensureLeader()
	}
	create()
	w.restoring = false
	w.ensureLeader()
}

// mindMove judges a host that clusterctl is about to move: nothing may happen to it, and
// the status in its annotation must be the current one.
func (w *World) mindMove(claim, v *store.Version) {
	host, kept := hostOf(v), bmov1alpha1.BareMetalHostStatus{}
	if !binding.IsReadyToMove(host, claimOf(claim)) {
		w.fail(MovesWhole, "host %s is moved with claim %s and is not ready", v.Key, claim.Key)
	}
	if err := json.Unmarshal([]byte(host.Annotations[bmov1alpha1.StatusAnnotation]), &kept); err != nil {
		w.fail(MovesWhole, "the status of host %s cannot be read: %v", v.Key, err)
	}
	w.machines[v.UID].moving = nil
	if !changedSince(claimOf(claim), host) {
		w.machines[v.UID].moving = claimOf(claim)
	}
	is := host.Status
	if !binding.WithoutStatus(host) && (kept.Provisioning.State != is.Provisioning.State || kept.PoweredOn != is.PoweredOn ||
		kept.Provisioning.Image.URL != is.Provisioning.Image.URL) {
		w.fail(MovesWhole, "host %s is %s and moves as %s", v.Key, is.Provisioning.State, kept.Provisioning.State)
	}
	if why := binding.Unrest(claimOf(claim), host); why != "" && !changedSince(claimOf(claim), host) {
		w.fail(MovesWhole, "host %s moves although %s", v.Key, why)
	}
}

// mindServer judges what baremetal-operator does to a server that is moved: nothing, as
// long as its claim asks for the same as when the move began.
func (w *World) mindServer(e store.Event) {
	if e.Before == nil || w.machines[e.After.UID] == nil || w.machines[e.After.UID].moving == nil {
		return
	}
	before, after, server := hostOf(e.Before), hostOf(e.After), w.machines[e.After.UID]
	claim, exists := w.liveClaim(consumerOf(after))
	if !exists || claim.Deleting() || !asksTheSame(server.moving, claimOf(claim)) {
		server.moving = nil
		return
	}
	was, is := before.Status.Provisioning.State, after.Status.Provisioning.State
	written := is != was && (is == bmov1alpha1.StateProvisioning || is == bmov1alpha1.StateDeprovisioning)
	if written || (was != bmov1alpha1.StateNone && before.Status.PoweredOn != after.Status.PoweredOn) {
		w.fail(MovesWhole, "server of host %s/%s is changed by a move: from %s, on %t, to %s, on %t", after.Namespace, after.Name,
			was, before.Status.PoweredOn, is, after.Status.PoweredOn)
	}
}

// asksTheSame reports whether a claim asks for the same of its server as before it was moved.
func asksTheSame(before, after *bmov1alpha1.HostClaim) bool {
	at := after.DeepCopy()
	at.UID = before.UID
	for _, claim := range []*bmov1alpha1.HostClaim{at, before} {
		unpause(claim)
		// What the manager notes changes on the way.
		for _, key := range []string{infrav1.BlockMoveAnnotation, infrav1.BoundClaimUIDAnnotation, infrav1.IntendedHostAnnotation} {
			delete(claim.Annotations, key)
		}
	}
	return binding.SameInputs(before, at)
}

// mindArrival notes that a host has come out of a move with its claim.
func (w *World) mindArrival(e store.Event) {
	l := w.lives[consumer(e.After)]
	if e.Before == nil || l == nil || l.keeps != e.After.UID || l.arrived || !binding.Held(hostOf(e.Before)) || binding.Held(hostOf(e.After)) {
		return
	}
	l.arrived, w.machines[e.After.UID].moving = true, nil
	w.count("moves that came to an end")
	if l.trips >= 2 && !w.thereAndBack {
		w.thereAndBack = true
		w.count("schedules with a move there and back")
	}
}

// changedSince reports whether the claim was changed after its host had been made ready.
func changedSince(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
	return !binding.IsRecorded(host, claim)
}

func blocked(v *store.Version) bool {
	_, found := v.Object().GetAnnotations()[infrav1.BlockMoveAnnotation]
	return found
}

// hostNaming returns the host that names a claim, and not by the word of another client.
func (w *World) hostNaming(claim types.UID) (*store.Version, bool) {
	for _, v := range w.log.All(store.Hosts) {
		if ref := hostOf(v).Spec.ConsumerRef; ref != nil && ref.UID == claim && !w.forged[v.UID] {
			return v, true
		}
	}
	return nil, false
}

// markForMove replaces all annotations of a host, as clusterctl does before it deletes the
// host, and then dies.
func (w *World) markForMove(host *store.Version) {
	w.machines[host.UID].mode = "" // nothing remembers it
	edit(w, "clusterctl", host, "", func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}
	})
}

// forget deletes an object without its finalizers.
func (w *World) forget(v *store.Version) {
	w.patch("clusterctl", v, "", []byte(`{"metadata":{"finalizers":null,"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`))
	w.remove("clusterctl", v)
}

// recreate makes claim and host anew, the host with the status if there is one. Nil keeps
// what is there.
func (w *World) recreate(claim, host *store.Version, status *bmov1alpha1.BareMetalHostStatus) {
	kept := types.UID("")
	if host != nil {
		kept = host.UID
	}
	server := w.machines[kept]
	remove := func() {
		if claim != nil {
			w.lives[claim.UID].moved = true
			w.forget(claim)
		}
		if host != nil {
			w.forget(host)
		}
	}
	w.elsewhere(remove, func() {
		if host != nil {
			made, ok := w.create(store.Hosts, bare(host))
			if !ok {
				return
			}
			if w.machines[made.UID] = server; status != nil {
				w.report(made, *status)
			}
			kept = made.UID
		}
		if claim != nil {
			w.recreateClaim(claim, kept)
		} else if l := w.lives[consumer(host)]; l != nil {
			l.keeps, l.lost = kept, false
		}
	})
}

// recreateClaim makes a claim anew that must have a host again; empty if it must have none.
func (w *World) recreateClaim(claim *store.Version, host types.UID) {
	if made, ok := w.create(store.Claims, bare(claim)); ok {
		before, life := w.lives[claim.UID], w.lives[made.UID]
		life.keeps, life.hostless, life.reserved, life.trips = host, host == "", before.reserved, before.trips+1
	}
}

// bare is an object as clusterctl would create it again.
func bare(v *store.Version) map[string]any {
	out := maps.Clone(v.JSON)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			delete(meta, key)
		}
		out["metadata"] = meta
	}
	return out
}
