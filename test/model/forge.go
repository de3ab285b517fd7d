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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// forge lets the administrator of a pool write on a free host what only the manager
// writes: that a claim has it, in whole or in part, or the traces of a bind. Or the
// administrator takes such a consumerRef back.
func (w *World) forge() bool {
	if v, found := w.pick(store.Hosts, func(v *store.Version) bool { return w.forged[v.UID] }); found && chance(w.choices, 2) {
		return w.retract(v)
	}
	v, found := w.pick(store.Hosts, func(v *store.Version) bool {
		return !v.Deleting() && hostOf(v).Spec.ConsumerRef == nil && w.infraNamespace(v.Key.Namespace)
	})
	claim, named := w.claim(w.knowsItsHost)
	if !found || !named {
		return false
	}
	w.lives[claim.UID].forged = true
	word := w.choices.Intn(6)
	return w.asForger(v, func(host *bmov1alpha1.BareMetalHost) {
		if word < 4 {
			host.Spec.ConsumerRef = &corev1.ObjectReference{
				APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim",
				Namespace: claim.Key.Namespace, Name: claim.Key.Name, UID: claim.UID,
			}
		}
		switch word {
		case 1:
			host.Spec.ConsumerRef.UID = ""
		case 2, 4:
			host.Labels[infrav1.ClaimUIDLabel] = string(claim.UID)
		case 3:
			host.Labels[infrav1.ClaimUIDLabel] = string(claim.UID)
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.BoundHostUIDAnnotation, string(host.UID))
		case 5:
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.FenceAnnotation, string(claim.UID)+"/"+claim.Object().GetResourceVersion())
		}
	})
}

// knowsItsHost reports whether a claim has more than the traces of a bind to know its host by, unlike one
// whose status was lost, or that a move has just made with its finalizer.
func (w *World) knowsItsHost(claim *bmov1alpha1.HostClaim) bool {
	return !w.lives[claim.UID].wiped && (binding.RecordOf(claim) != binding.Blank || binding.New(claim))
}

// retract takes a forged consumerRef back, unless the claim had chosen the host by itself
// before: then the host would be taken from it.
func (w *World) retract(v *store.Version) bool {
	claim, exists := w.liveClaim(consumer(v))
	if exists {
		if ref := claimOf(claim).Status.BareMetalHost; ref != nil && ref.Namespace == v.Key.Namespace && ref.Name == v.Key.Name {
			return false
		}
	}
	return w.asForger(v, func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = nil })
}

// retractLeft takes back a consumerRef of an administrator that is left when everything else is at rest:
// that of a claim which gave the host up, or went before a manager wrote the host. A host that we did not
// bind is its administrator's business.
func (w *World) retractLeft() bool {
	v, found := w.pick(store.Hosts, func(v *store.Version) bool {
		_, exists := w.liveClaim(consumer(v))
		l := w.lives[consumer(v)]
		return w.forged[v.UID] || (!exists && l != nil && l.handed && !orphan.Suspect(hostOf(v)))
	})
	return found && w.retract(v)
}

// wipeLabel takes a forged label off a free host, and with it all that was written for the
// claim, which keeps them there while its status names the host as lost.
func (w *World) wipeLabel(v *store.Version) {
	host := hostOf(v)
	if l := w.lives[types.UID(host.Labels[infrav1.ClaimUIDLabel])]; l != nil && l.forged && host.Spec.ConsumerRef == nil {
		edit(w, adminName, v, "", func(h *bmov1alpha1.BareMetalHost) {
			delete(h.Labels, infrav1.ClaimUIDLabel)
			delete(h.Annotations, infrav1.BlockMoveAnnotation)
		})
	}
}

func (w *World) asForger(v *store.Version, change func(*bmov1alpha1.BareMetalHost)) bool {
	w.forging = true
	defer func() { w.forging = false }()
	return edit(w, adminName, v, "", change)
}

// observeForged follows the consumerRefs that players wrote, and judges what a manager
// writes on such a host.
func (w *World) observeForged(e store.Event) {
	if e.After == nil {
		delete(w.forged, e.Before.UID)
		return
	}
	before, after := &bmov1alpha1.BareMetalHost{}, hostOf(e.After)
	if e.Before != nil {
		before = hostOf(e.Before)
	}
	byManager := w.forged[e.After.UID] && w.writer != nil
	switch {
	case equality.Semantic.DeepEqual(before.Spec.ConsumerRef, after.Spec.ConsumerRef):
		w.judgePayload(e, byManager && !binding.HasPayload(before) && binding.HasPayload(after))
	case w.forging && after.Spec.ConsumerRef != nil:
		w.forged[e.After.UID] = true
	case byManager && after.Spec.ConsumerRef != nil:
		w.fail(Unbelieved, "host %s was taken from the consumer that its administrator has named", e.Key)
	default:
		delete(w.forged, e.After.UID)
	}
}

// judgePayload fails when a manager writes a forged host that its claim had not chosen. Where
// it had, policy is asked again before the host is written.
func (w *World) judgePayload(e store.Event, written bool) {
	l := w.lives[consumer(e.After)]
	if chosen := l != nil && l.intended[e.Key]; written && !chosen {
		w.fail(Unbelieved, "host %s was written for a claim by the word of another client", e.Key)
	}
}

// observeBelief judges a manager that writes which host a claim has. A host that it had
// chosen and recorded before the word came is the claim's all the same.
func (w *World) observeBelief(e store.Event) {
	claim, l := claimOf(e.After), w.lives[e.After.UID]
	ref := claim.Status.BareMetalHost
	switch record := binding.RecordOf(claim); {
	case ref == nil:
		return
	case record == binding.Lost, record == binding.Bound:
		l.hadHost = true
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if associated(claim).Status == metav1.ConditionUnknown {
		l.intended[key] = true
		l.lost = l.lost || l.forgedGone[key] // a late cache may still show its consumerRef
	}
	for _, v := range w.log.All(store.Hosts) {
		if v.Key != key || !w.forged[v.UID] || associated(claim).Status != metav1.ConditionTrue || consumer(v) != e.After.UID {
			continue
		}
		if !l.intended[key] {
			w.fail(Unbelieved, "claim %s has host %s by the word of another client", e.Key, key)
		}
		l.handed = true
		delete(w.forged, v.UID)
	}
}
