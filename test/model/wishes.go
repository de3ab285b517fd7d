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
	"slices"
	"strings"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// annotate sets an annotation of a claim.
func annotate(claim *bmov1alpha1.HostClaim, key, value string) {
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[key] = value
}

// working picks a claim, mostly one whose host has something to run.
func (w *World) working() (*store.Version, bool) {
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		host, bound := w.hostNaming(claim.UID)
		return live(claim) && bound && binding.HasPayload(hostOf(host))
	})
	if found && !chance(w.choices, 4) {
		return v, true
	}
	return w.claim(live)
}

// askForReboot asks for a reboot, once.
func (w *World) askForReboot() bool {
	v, found := w.working()
	return found && edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
		annotate(claim, bmov1alpha1.RebootAnnotationPrefix, one(w.choices, []string{"", `{"mode":"hard"}`}))
	})
}

// askForRebuild asks for the server to be written anew.
func (w *World) askForRebuild() bool {
	v, found := w.working()
	w.serial++
	return found && edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
		annotate(claim, infrav1.RebuildAnnotation, fmt.Sprintf("take-%d", w.serial))
	})
}

// reserve does as the provider manager does with the claim of a machine that is replaced: it
// keeps it for the group of the machine, or lets the next machine adopt it.
func (w *World) reserve() bool {
	v, found := w.claim(live)
	if !found {
		return false
	}
	w.lives[v.UID].reserved = true
	group := claims.Keeper{Label: "md-group", Reference: metav1.OwnerReference{
		APIVersion: "v1", Kind: "Group", Name: "group", UID: types.UID("group-of-" + v.Key.Namespace),
	}}
	if reservation.Holds(claimOf(v)) {
		return w.adopt(v, group)
	}
	former := claims.Owner{Namespace: v.Key.Namespace, Name: "former", UID: claims.ConsumerUID(claimOf(v))}
	return edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
		*claim = *claims.Reserve(claim, former, group, w.clock.now.Add(2*time.Minute), false)
		if chance(w.choices, 2) {
			delete(claim.Annotations, infrav1.ReservedUntilAnnotation)
		}
	})
}

// adopt lets two machines of the group adopt the claim as both have seen it.
func (w *World) adopt(v *store.Version, group claims.Keeper) bool {
	adopters := 0
	for range 2 {
		w.serial++
		name := fmt.Sprintf("machine-%d", w.serial)
		machine := claims.Owner{Namespace: v.Key.Namespace, Name: name, UID: types.UID(name)}
		before := claimOf(v)
		adopted := claims.Adopt(before, machine, group, nil)
		withImage(adopted)
		adopted.Spec.PoweredOn = true
		patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(adopted)
		if err != nil {
			w.fail("player", "%v", err)
			return false
		}
		if w.patch(tenantName, v, "", patch) {
			adopters++
		}
	}
	if adopters > 1 {
		w.fail(Handed, "claim %s was adopted by two machines", v.Key)
	}
	if adopters > 0 {
		w.count("claims adopted")
	}
	return adopters > 0
}

// observeHanding judges whose a claim is: it goes from one machine to another only by way of a
// reservation.
func (w *World) observeHanding(e store.Event) {
	if e.Before == nil || e.After == nil || w.restoring {
		return
	}
	was, is := claims.ConsumerUID(claimOf(e.Before)), claims.ConsumerUID(claimOf(e.After))
	if was != "" && is != "" && was != is {
		w.fail(Handed, "claim %s went from machine %s to %s", e.Key, was, is)
	}
}

// requestID is the one-shot reboot that is on its way from a claim; empty for none.
func requestID(v *store.Version) string {
	if v != nil {
		if request := binding.ReadReboots(claimOf(v)).Request; request != nil {
			return request.ID
		}
	}
	return ""
}

// observeReboot notes that a manager took a one-shot reboot over.
func (w *World) observeReboot(e store.Event) {
	id := requestID(e.After)
	if id == "" || id == requestID(e.Before) || w.restoring {
		return
	}
	if w.accepted[id] {
		w.fail(Once, "claim %s: reboot %s was accepted twice", e.Key, id)
	}
	w.accepted[id] = true
	w.count("reboots accepted")
}

// observeEnd judges a manager that deletes a claim.
func (w *World) observeEnd(e store.Event) {
	if w.writer == nil || e.Before == nil || e.Before.Deleting() || (e.After != nil && !e.After.Deleting()) {
		return
	}
	claim := claimOf(e.Before)
	if until, known := binding.ReservedUntil(claim); !reservation.Holds(claim) || !known || w.clock.now.Before(until) {
		w.fail(Once, "claim %s was deleted and its reservation had not ended", e.Key)
	}
	w.count("reservations ended")
}

// observeWork judges what a manager writes on a host that stays with its claim.
func (w *World) observeWork(e store.Event) {
	if e.Before == nil || consumer(e.After) == "" || w.writer == nil {
		return
	}
	w.observePassed(e)
	claim, exists := w.liveClaim(consumer(e.After))
	if !exists || claim.Deleting() || w.lives[claim.UID].reserved {
		return
	}
	before, after := hostOf(e.Before), hostOf(e.After)
	if !binding.HasPayload(before) || binding.HasPayload(after) {
		return
	}
	w.count("rebuilds")
	if before.Annotations[infrav1.RebuildAnnotation] == after.Annotations[infrav1.RebuildAnnotation] {
		w.fail(Once, "host %s was emptied without a request for a rebuild since the last", e.Key)
	}
}

// observePassed notes that a host was given a one-shot reboot.
func (w *World) observePassed(e store.Event) {
	id := hostOf(e.After).Annotations[infrav1.LastRebootAnnotation]
	if id == "" || id == hostOf(e.Before).Annotations[infrav1.LastRebootAnnotation] {
		return
	}
	here := id + " on " + string(e.After.UID) // another server, after a loss, is another reboot
	if !w.accepted[id] || w.passed[here] {
		w.fail(Once, "host %s was given reboot %s, which was not accepted (%t) or given before (%t)",
			e.Key, id, w.accepted[id], w.passed[here])
	}
	w.passed[id], w.passed[here] = true, true
	w.count("reboots passed")
}

// checkReboots judges at rest whether each reboot that was accepted was passed on.
func (w *World) checkReboots(v *store.Version) {
	waiting := requestID(v)
	for id := range w.accepted {
		if strings.HasPrefix(id, string(v.UID)+"/") && id != waiting && !w.passed[id] {
			w.fail(Once, "claim %s: reboot %s was accepted and lost", v.Key, id)
		}
	}
}

// checkWishes judges at rest what a claim with a host has asked for.
func (w *World) checkWishes(v, hostVersion *store.Version) {
	w.checkReboots(v)
	claim, host := claimOf(v), hostOf(hostVersion)
	if !binding.HasPayload(host) || host.Status.Provisioning.State != bmov1alpha1.StateProvisioned {
		return
	}
	keys := []string{bmov1alpha1.RebootAnnotationPrefix, infrav1.RebootRequestAnnotation}
	revoked := meta.IsStatusConditionFalse(claim.Status.Conditions, infrav1.AdmittedCondition)
	if !revoked && slices.ContainsFunc(keys, func(key string) bool { _, found := claim.Annotations[key]; return found }) && !binding.IsParked(host) {
		w.fail(Once, "claim %s waits for a reboot and its host %s is provisioned", v.Key, hostVersion.Key)
	}
	token := claim.Annotations[infrav1.RebuildAnnotation]
	synchronized := meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.SynchronizedCondition)
	if synchronized && token != "" && host.Annotations[infrav1.RebuildAnnotation] != token {
		w.fail(Once, "claim %s waits for rebuild %s of host %s and says that all is done", v.Key, token, hostVersion.Key)
	}
}
