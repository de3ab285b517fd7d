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
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// move pauses a claim with a host in its namespace, or moves one that is paused
// for it, as clusterctl does: both are made anew, the claim without status.
func (w *World) move() bool {
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		host, bound := w.hostNaming(claim.UID)
		return live(claim) && bound && host.Key.Namespace == claim.Namespace &&
			!host.Deleting() && !w.lives[claim.UID].stripped
	})
	if !found {
		return false
	}
	if !w.lives[v.UID].pausedForMove || !paused(claimOf(v)) {
		w.lives[v.UID].pausedForMove = true
		return edit(w, adminName, v, "", pause)
	}
	for _, m := range w.managers {
		if m.cache != nil {
			m.crash() // what is moved has other managers
		}
	}
	host, _ := w.hostNaming(v.UID)
	w.restoring = true
	w.recreate(v, host)
	w.restoring = false
	w.ensureLeader()
	return true
}

// hostNaming returns the host that names a claim.
func (w *World) hostNaming(claim types.UID) (*store.Version, bool) {
	for _, v := range w.log.All(store.Hosts) {
		if ref := hostOf(v).Spec.ConsumerRef; ref != nil && ref.UID == claim {
			return v, true
		}
	}
	return nil, false
}

// recreate makes claim and host anew.
func (w *World) recreate(claim, host *store.Version) {
	w.lives[claim.UID].moved = true
	server := w.machines[host.UID]
	for _, v := range []*store.Version{claim, host} {
		w.patch("clusterctl", v, "", []byte(`{"metadata":{"finalizers":null}}`))
		w.remove("clusterctl", v)
	}
	newHost, ok := w.create(store.Hosts, bare(host))
	if !ok {
		return
	}
	w.machines[newHost.UID] = server
	w.report(newHost, hostOf(host).Status)
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
