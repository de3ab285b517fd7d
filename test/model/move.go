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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
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

// move begins a move by clusterctl, or goes on with one: it pauses a claim, and moves it
// once block-move is gone from claim and host. Sometimes it dies when only the claim is
// gone, sometimes the move is called off.
func (w *World) move() bool {
	v, host, found := w.withHostBeside(func(claim *bmov1alpha1.HostClaim, _ *bmov1alpha1.BareMetalHost) bool {
		return w.lives[claim.UID].pausedForMove && paused(claim)
	})
	switch {
	case !found:
		return w.beginMove()
	case chance(w.choices, 10):
		return edit(w, adminName, v, "", unpause)
	case blocked(v) || blocked(host):
		return false
	}
	w.count("moves")
	w.mindMove(v, host)
	w.elsewhere(func() {
		if chance(w.choices, 4) {
			w.count("moves without host")
			w.lives[v.UID].moved = true
			w.forget(v)
			return
		}
		w.recreate(v, host, nil)
	})
	return true
}

// beginMove pauses a claim. clusterctl waits only for what carries block-move then.
func (w *World) beginMove() bool {
	restless := chance(w.choices, 4)
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

// restore makes a claim and its host anew, as a restore from a backup does, which heeds no
// block-move.
func (w *World) restore() bool {
	v, host, found := w.withHostBeside(func(_ *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) bool {
		return !binding.Held(host) && !binding.WithoutStatus(host)
	})
	if !found {
		return false
	}
	w.elsewhere(func() { w.recreate(v, host, &hostOf(host).Status) })
	return true
}

// elsewhere changes objects while no manager runs: what is moved has other managers.
func (w *World) elsewhere(change func()) {
	for _, m := range w.managers {
		if m.cache != nil {
			m.crash()
		}
	}
	w.restoring = true
	change()
	w.restoring = false
	w.ensureLeader()
}

// mindMove judges a host that clusterctl is about to move: nothing may happen to it, and
// its status must say what is so.
func (w *World) mindMove(claim, v *store.Version) {
	host, kept := hostOf(v), bmov1alpha1.BareMetalHostStatus{}
	if !binding.IsReadyToMove(host, claimOf(claim)) {
		w.fail(MovesWhole, "host %s is moved with claim %s and is not ready", v.Key, claim.Key)
	}
	if err := json.Unmarshal([]byte(host.Annotations[bmov1alpha1.StatusAnnotation]), &kept); err != nil {
		w.fail(MovesWhole, "the status of host %s cannot be read: %v", v.Key, err)
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

// changedSince says that the claim was changed after its host had been made ready.
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

// forget deletes an object without its finalizers.
func (w *World) forget(v *store.Version) {
	w.patch("clusterctl", v, "", []byte(`{"metadata":{"finalizers":null,"annotations":{"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`))
	w.remove("clusterctl", v)
}

// recreate makes claim and host anew, the host with the status if there is one.
func (w *World) recreate(claim, host *store.Version, status *bmov1alpha1.BareMetalHostStatus) {
	w.lives[claim.UID].moved = true
	server := w.machines[host.UID]
	for _, v := range []*store.Version{claim, host} {
		w.forget(v)
	}
	newHost, ok := w.create(store.Hosts, bare(host))
	if !ok {
		return
	}
	w.machines[newHost.UID] = server
	if status != nil {
		w.report(newHost, *status)
	}
	if newClaim, ok := w.create(store.Claims, bare(claim)); ok {
		life := w.lives[newClaim.UID]
		life.keeps, life.reserved = newHost.UID, w.lives[claim.UID].reserved
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
