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

package machine

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// held is a machine whose server runs, and whose bootstrap data an update in place withdrew for
// the text "1".
type held struct {
	*rebuilt

	config *bootstrapv1.KubeadmConfig
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{rebuilt: &rebuilt{group: workers(t, &die{}, 1)}}
	h.UpdatesInPlace = true
	h.runs()
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}
	h.get(owner)
	h.config = &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{
		Name: "c-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))},
		Annotations: map[string]string{
			clusterv1.UpdateInProgressAnnotation: "", clusterv1.PausedAnnotation: infrav1.UpdatePause, infrav1.RebuildAnnotation: "1",
		},
	}}
	h.create(h.config)
	h.edit(owner, func() {
		owner.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: "c-1",
		}}
	})
	return h
}

// expect reconciles the machine, and checks whether the data is held then.
func (h *held) expect(want bool) {
	h.t.Helper()
	h.pass(3, "m-1")
	h.get(h.config)
	if _, paused := h.config.Annotations[clusterv1.PausedAnnotation]; paused != want {
		h.t.Errorf("the data is held: %t, want %t", paused, want)
	}
}

func (h *held) asks(text string) {
	h.t.Helper()
	m := h.machineNamed("m-1")
	h.edit(m, func() {
		m.Spec.Image.URL = "http://x/" + text
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.RebuildAnnotation, text)
	})
}

// TestDataIsHeldUntilTheServerIsEmpty shows that a server which is empty for another text gets no
// data, and that the one of the update does.
func TestDataIsHeldUntilTheServerIsEmpty(t *testing.T) {
	h := newHeld(t)
	h.asks("0")
	h.expect(true)
	h.play()
	h.expect(true)
	h.asks("1")
	h.expect(true)
	h.play()
	h.expect(false)
	if h.wipes != 2 || h.boots != 0 {
		t.Errorf("%d wipes and %d boots, want 2 and none", h.wipes, h.boots)
	}
}

// TestUpdateThatIsCalledOff shows that data is made for an update that Cluster API does not carry
// on, and only where this manager has to do with updates at all.
func TestUpdateThatIsCalledOff(t *testing.T) {
	h := newHeld(t)
	h.expect(true)
	h.edit(h.config, func() { delete(h.config.Annotations, clusterv1.UpdateInProgressAnnotation) })
	h.UpdatesInPlace = false
	h.expect(true)
	h.UpdatesInPlace = true
	h.expect(false)
}

// TestForbiddenKubeadmConfig shows that missing rights are an error where a server waits for what
// they are for, and nothing where no update can have begun.
func TestForbiddenKubeadmConfig(t *testing.T) {
	h := newHeld(t)
	h.Live = h.through(readsFail[*bootstrapv1.KubeadmConfig](apierrors.NewForbidden(schema.GroupResource{}, "c-1", nil)))
	h.expect(true)
	h.asks("1")
	h.pass(3, "m-1")
	h.play()
	if _, err := h.Reconcile(t.Context(), request(h.namespace, "m-1")); !apierrors.IsForbidden(err) {
		t.Errorf("a server waits for bootstrap data that may not be made: %v", err)
	}
}
