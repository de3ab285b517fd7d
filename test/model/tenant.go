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
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

const (
	tenantName = "tenant"
	maxClaims  = 4
	rackLabel  = "rack"
)

// secretText is what a Secret of a namespace holds; no other namespace may see it.
func secretText(namespace string) string {
	return "SECRET-OF-" + namespace + "."
}

// makeSecret makes a Secret of a tenant.
func (w *World) makeSecret(namespace, name string) bool {
	w.serial++
	value := fmt.Sprintf("%s %s %d", secretText(namespace), name, w.serial)
	_, ok := w.create(store.Secrets, map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     map[string]any{"value": base64.StdEncoding.EncodeToString([]byte(value))},
	})
	return ok
}

// editSecret changes, deletes or restores a Secret of a tenant.
func (w *World) editSecret() bool {
	v, found := w.pick(store.Secrets, func(v *store.Version) bool {
		return slices.Contains(w.tenants, v.Key.Namespace) && v.Key.Name == "boot"
	})
	switch {
	case !found:
		return w.makeSecret(one(w.choices, w.tenants), "boot")
	case chance(w.choices, 3):
		return w.remove(tenantName, v)
	}
	w.serial++
	return edit(w, tenantName, v, "", func(s *corev1.Secret) {
		s.Data["value"] = fmt.Appendf(nil, "%s boot %d", secretText(v.Key.Namespace), w.serial)
	})
}

// makeClaimSometimes makes a claim, often under a name that was used before.
func (w *World) makeClaimSometimes() bool {
	return len(w.log.All(store.Claims)) < maxClaims && w.makeClaim()
}

func (w *World) makeClaim() bool {
	c := w.choices
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: one(c, w.tenants), Name: fmt.Sprintf("claim%d", c.Intn(3))},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	if chance(c, 3) {
		w.makeChoosy(claim)
	}
	if w.beside || chance(c, 2) {
		withImage(claim)
	}
	w.withClass(claim)
	applied(claim)
	if w.beside || !chance(c, 3) {
		metav1.SetMetaDataLabel(&claim.ObjectMeta, infrav1.MoveLabel, "")
	}
	_, ok := w.createTyped(store.Claims, claim)
	return ok
}

// applied marks an object whose name ends in 0 as one of kubectl apply. The API server
// shows that mark and the caches of the managers do not.
func applied(object client.Object) {
	if strings.HasSuffix(object.GetName(), "0") {
		object.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}"})
	}
}

// makeChoosy makes a claim choosy, or not.
func (w *World) makeChoosy(claim *bmov1alpha1.HostClaim) {
	claim.Spec.HostSelector = bmov1alpha1.HostSelector{}
	switch w.choices.Intn(4) {
	case 0:
		claim.Spec.HostSelector.MatchLabels = map[string]string{rackLabel: "a"}
	case 1:
		claim.Spec.HostSelector.MatchLabels = map[string]string{rackLabel: "b"}
	case 2:
		claim.Spec.HostSelector.InNamespace = one(w.choices, w.infra)
	}
}

func withImage(claim *bmov1alpha1.HostClaim) {
	claim.Spec.Image = &bmov1alpha1.Image{URL: "https://images.example.com/os.raw", Checksum: "abc123"}
	claim.Spec.UserData = &corev1.SecretReference{Name: "boot"}
}

// claim picks a claim that fits.
func (w *World) claim(fits func(*bmov1alpha1.HostClaim) bool) (*store.Version, bool) {
	return w.pick(store.Claims, func(v *store.Version) bool { return fits(claimOf(v)) })
}

func live(claim *bmov1alpha1.HostClaim) bool {
	return claim.DeletionTimestamp.IsZero()
}

// askForImage gives a claim an image, other data, or another power state.
func (w *World) askForImage() bool {
	v, found := w.claim(live)
	if !found {
		return false
	}
	return edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
		switch w.choices.Intn(5) {
		case 0:
			claim.Spec.PoweredOn = !claim.Spec.PoweredOn
		case 1:
			claim.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
		case 2:
			claim.Spec.Image, claim.Spec.UserData = nil, nil
		default:
			withImage(claim)
		}
	})
}

func (w *World) deleteClaim() bool {
	v, found := w.claim(live)
	return found && w.remove(tenantName, v)
}

// raceClaim begins to delete a claim that no finalizer holds, or ends what it has begun: a
// finalizer that was written in between is lost.
func (w *World) raceClaim() bool {
	if len(w.deletions) > 0 && chance(w.choices, 2) {
		return w.endDeletion()
	}
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool { return live(claim) && len(claim.Finalizers) == 0 })
	if !found {
		return false
	}
	end, err := w.backend.BeginDelete(w.ctx, v.Kind, v.Key)
	w.tracef("%s: begin to delete %s %s -> %v", tenantName, v.Kind, v.Key, err)
	if err != nil {
		return false
	}
	w.deletions = append(w.deletions, deletion{v, end})
	return true
}

// endDeletion ends the deletion that began first.
func (w *World) endDeletion() bool {
	if len(w.deletions) == 0 {
		return false
	}
	d := w.deletions[0]
	w.deletions = w.deletions[1:]
	if v, found := w.log.Current(d.claim.Kind, d.claim.Key); found {
		w.lives[v.UID].raced = true // a namesake too
	}
	err := d.end()
	w.tracef("%s: delete %s %s -> %v", tenantName, d.claim.Kind, d.claim.Key, err)
	return true
}

// strip takes our finalizer off a claim, or the record of its last intent unless the status was
// wiped.
func (w *World) strip() bool {
	if v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		return claim.Annotations[infrav1.IntendedHostAnnotation] != "" && !w.lives[claim.UID].wiped
	}); found && chance(w.choices, 2) {
		w.lives[v.UID].unrecorded = true
		return edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
			delete(claim.Annotations, infrav1.IntendedHostAnnotation)
		})
	}
	v, found := w.claim(func(claim *bmov1alpha1.HostClaim) bool {
		return slices.Contains(claim.Finalizers, infrav1.HostClaimFinalizer)
	})
	if !found {
		return false
	}
	w.lives[v.UID].stripped = true
	return edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) { claim.Finalizers = nil })
}

func (w *World) editSelector() bool {
	v, found := w.claim(live)
	return found && edit(w, tenantName, v, "", w.makeChoosy)
}

// pauseClaim pauses a claim or ends that.
func (w *World) pauseClaim() bool {
	v, found := w.claim(func(*bmov1alpha1.HostClaim) bool { return true })
	return found && edit(w, tenantName, v, "", func(claim *bmov1alpha1.HostClaim) {
		if paused(claim) {
			unpause(claim)
			return
		}
		pause(claim)
	})
}

func paused(claim *bmov1alpha1.HostClaim) bool {
	_, found := claim.Annotations[clusterv1.PausedAnnotation]
	return found
}

func unpause(claim *bmov1alpha1.HostClaim) {
	delete(claim.Annotations, clusterv1.PausedAnnotation)
}

func pause(claim *bmov1alpha1.HostClaim) {
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[clusterv1.PausedAnnotation] = ""
}
