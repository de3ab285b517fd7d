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

package binding

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The stories of test/hostclaim refuse by who names whom; these by what the host does.
func TestOnlyAHostAtRestIsTakenOver(t *testing.T) {
	image := &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"}
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Namespace, c.Spec.Image = "infra", image
		c.Annotations = map[string]string{infrav1.TakeOverAnnotation: "host-0"}
		c.Spec.ConsumerRef = &corev1.ObjectReference{Kind: MachineKind, Name: "machine", UID: "machine-uid"}
	})
	machine := metav1.ObjectMeta{UID: "machine-uid", Annotations: map[string]string{
		infrav1.HostAnnotation: "infra/host-0", infrav1.TakeOverAnnotation: "true",
	}}
	for name, tt := range map[string]struct {
		edit hostEdit
		want string
	}{
		"at rest":     {func(*bmov1alpha1.BareMetalHost) {}, ""},
		"in error":    {failed, "it is in error"},
		"deleted":     {func(h *bmov1alpha1.BareMetalHost) { h.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0))) }, "being deleted"},
		"paused":      {annotated(bmov1alpha1.PausedAnnotation, ""), "remove annotation baremetalhost.metal3.io/paused"},
		"detached":    {annotated(bmov1alpha1.DetachedAnnotation, ""), "remove annotation baremetalhost.metal3.io/detached"},
		"external":    {func(h *bmov1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true }, "externally"},
		"empty":       {func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = nil }, "before it wrote an image"},
		"held off":    {annotated("reboot.metal3.io/metal3-remediation-x", "{}"), "a reboot or an inspection was asked for"},
		"rebooting":   {annotated("reboot.metal3.io", "{}"), "a reboot or an inspection was asked for"},
		"inspected":   {annotated(bmov1alpha1.InspectAnnotationPrefix, ""), "a reboot or an inspection was asked for"},
		"off":         {func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = false }, "set spec.online to true"},
		"going on":    {func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = false }, "its power is being switched"},
		"in progress": {func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = bmov1alpha1.StateProvisioning }, "its state is provisioning"},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(func(h *bmov1alpha1.BareMetalHost) {
				h.Spec.Online, h.Status.PoweredOn, h.Spec.Image = true, true, image
				h.Spec.ConsumerRef = &corev1.ObjectReference{
					APIVersion: infrav1.GroupVersion.String(), Kind: MachineKind, Namespace: "infra", Name: "machine",
				}
				h.Status.Provisioning.State, h.Status.Provisioning.Image = bmov1alpha1.StateProvisioned, *image
			}, tt.edit)
			err := CheckTakeOver(claim, host, machine)
			if tt.want == "" {
				expect.NoError(t, err)
				return
			}
			expect.Error(t, tt.want, err)
		})
	}
}
