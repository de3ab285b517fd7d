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
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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
	owner := read[clusterv1.Machine](h.world, "m-1")
	h.config = &bootstrapv1.KubeadmConfig{ObjectMeta: metav1.ObjectMeta{
		Name: "c-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, clusterv1.GroupVersion.WithKind("Machine"))},
		Annotations: map[string]string{
			clusterv1.UpdateInProgressAnnotation: "", clusterv1.PausedAnnotation: infrav1.UpdatePause, infrav1.RebuildAnnotation: "1",
		},
	}}
	h.create(h.config)
	m := h.machineNamed("m-1")
	h.edit(m, func() { metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.HeldConfigAnnotation, "c-1") })
	h.edit(owner, func() { owner.Spec.Bootstrap.DataSecretName = nil })
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

// TestUpdateThatIsCalledOff shows that the pause ends with an update that Cluster API does not carry on, also
// while the Machine names its former data, and only where this manager has to do with updates at all.
func TestUpdateThatIsCalledOff(t *testing.T) {
	for name, data := range map[string]*string{"after its data was withdrawn": nil, "while it names its data": ptr.To("boot")} {
		t.Run(name, func(t *testing.T) {
			h := newHeld(t)
			owner := read[clusterv1.Machine](h.world, "m-1")
			h.edit(owner, func() { owner.Spec.Bootstrap.DataSecretName = data })
			h.expect(true)
			h.edit(h.config, func() { delete(h.config.Annotations, clusterv1.UpdateInProgressAnnotation) })
			h.UpdatesInPlace = false
			h.expect(true)
			h.UpdatesInPlace = true
			h.expect(false)
			if config, marked := h.machineNamed("m-1").Annotations[infrav1.HeldConfigAnnotation]; marked {
				t.Errorf("KubeadmConfig %q counts as held", config)
			}
		})
	}
}

// TestForbiddenKubeadmConfig shows that missing rights are an error of a machine whose data is held, and nothing
// for one whose data is not.
func TestForbiddenKubeadmConfig(t *testing.T) {
	h := newHeld(t)
	h.Live = h.through(readsFail[*bootstrapv1.KubeadmConfig](apierrors.NewForbidden(schema.GroupResource{}, "c-1", nil)))
	if _, err := h.Reconcile(t.Context(), request(h.namespace, "m-1")); !apierrors.IsForbidden(err) {
		t.Errorf("the pause of a KubeadmConfig may not be ended: %v", err)
	}
	m := h.machineNamed("m-1")
	h.edit(m, func() { delete(m.Annotations, infrav1.HeldConfigAnnotation) })
	h.expect(true)
}

func TestStaysHeld(t *testing.T) {
	for name, tc := range map[string]struct {
		updating      bool
		held, awaited string
		want          bool
	}{
		"a server that is empty for the update":              {true, "t-2", "t-2", false},
		"a server that is empty for the change before":       {true, "t-2", "t-1", true},
		"an update that has not asked for the server yet":    {true, "t-2", "", true},
		"data that is held for an unknown text, in updating": {true, "", "", true},
		"an update that was called off":                      {false, "t-2", "", false},
		"a server that is empty by hand after the update":    {false, "t-2", "by hand", false},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{infrav1.RebuildAnnotation: tc.held}
			if tc.updating {
				annotations[clusterv1.UpdateInProgressAnnotation] = ""
			}
			expect.Equal(t, tc.want, staysHeld(annotations, tc.awaited))
		})
	}
}
