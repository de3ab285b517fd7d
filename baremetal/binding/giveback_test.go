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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// A host is given back as CAPM3 has it, and only while nothing is done to it or asked for it.
func TestGiveBack(t *testing.T) {
	image := &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"}
	machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "infra", Name: "machine", Labels: map[string]string{clusterv1.ClusterNameLabel: "a"},
	}}
	for name, tt := range map[string]struct {
		claim claimEdit
		host  hostEdit
		want  string
	}{
		"at rest":       {},
		"of another":    {host: func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.UID = "other" }, want: "does not have the host"},
		"not paused":    {claim: func(c *bmov1alpha1.HostClaim) { c.Annotations = nil }, want: "is not paused yet"},
		"host paused":   {host: annotated(bmov1alpha1.PausedAnnotation, ""), want: "remove annotation baremetalhost.metal3.io/paused"},
		"on its way":    {host: annotated(bmov1alpha1.PausedAnnotation, infrav1.MovePausedValue), want: "paused to be moved"},
		"unhealthy":     {claim: func(c *bmov1alpha1.HostClaim) { c.Annotations[infrav1.UnhealthyClaimAnnotation] = "true" }, want: "marked unhealthy"},
		"off":           {host: func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = false }, want: "set spec.poweredOn"},
		"rebooting":     {host: annotated("reboot.metal3.io", "{}"), want: "a reboot or an inspection was asked for"},
		"not yet there": {host: func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = bmov1alpha1.StateProvisioning }, want: "until it is provisioned"},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *bmov1alpha1.HostClaim) {
				c.Namespace, c.Spec.Image, c.Spec.PoweredOn = "infra", image, true
				c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
				c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			})
			free := newHost(func(h *bmov1alpha1.BareMetalHost) { h.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled })
			host := Bind(free, claim)
			host.Spec.Online, host.Status.PoweredOn, host.Spec.Image = true, true, image
			host.Status.Provisioning.State, host.Status.Provisioning.Image = bmov1alpha1.StateProvisioned, *image
			if tt.claim != nil {
				tt.claim(claim)
			}
			if tt.host != nil {
				tt.host(host)
			}
			err := CheckGiveBack(claim, host)
			if tt.want != "" {
				expect.Error(t, tt.want, err)
				return
			}
			expect.NoError(t, err)
			given := GivenBack(host, machine)
			expect.That(t, OfMachine(given) && given.Spec.ConsumerRef.Name == "machine", "consumer %v", given.Spec.ConsumerRef)
			expect.Equal(t, map[string]string{clusterv1.ClusterNameLabel: "a"}, given.Labels)
			expect.Equal(t, map[string]string{infrav1.BlockMoveAnnotation: ""}, given.Annotations)
			expect.Equal(t, bmov1alpha1.CleaningModeDisabled, given.Spec.AutomatedCleaningMode)
			expect.Equal(t, image, given.Spec.Image)
			machine := machine.DeepCopy()
			machine.Spec.AutomatedCleaningMode = infrav1.CleaningModeMetadata
			expect.Equal(t, bmov1alpha1.CleaningModeMetadata, GivenBack(host, machine).Spec.AutomatedCleaningMode)
		})
	}
}
