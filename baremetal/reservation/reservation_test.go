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

package reservation

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*bmov1alpha1.HostClaim)
		want   bool
	}{
		"with the label alone":   {func(*bmov1alpha1.HostClaim) {}, true},
		"not without the label":  {func(c *bmov1alpha1.HostClaim) { c.Labels = nil }, false},
		"not with an empty one":  {func(c *bmov1alpha1.HostClaim) { c.Labels[infrav1.NodeReuseLabel] = "" }, false},
		"not while it is used":   {func(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = &corev1.ObjectReference{} }, false},
		"not with an image":      {func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{} }, false},
		"not with custom deploy": {func(c *bmov1alpha1.HostClaim) { c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{}
			claim.Labels = map[string]string{infrav1.NodeReuseLabel: "md-workers"}
			tc.change(claim)
			expect.Equal(t, tc.want, Holds(claim))
		})
	}
}
