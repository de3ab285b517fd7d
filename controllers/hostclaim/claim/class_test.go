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

package claim

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestUntouched shows which claims may get the default class.
func TestUntouched(t *testing.T) {
	annotated := func(key string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			c.Annotations = map[string]string{key: string(c.UID) + "/infra/host-0/1/2"}
		}
	}
	says := func(status metav1.ConditionStatus, reason string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: reason})
		}
	}
	tests := map[string]struct {
		claim func(*bmov1alpha1.HostClaim)
		want  bool
	}{
		"a new claim":                          {func(*bmov1alpha1.HostClaim) {}, true},
		"one whose former class did not exist": {says(metav1.ConditionFalse, infrav1.ClassNotFoundReason), true},
		"one that a controller answers":        {func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"hostclaim.metal3.io/machines"} }, false},
		"one that takes over a host":           {annotated(infrav1.TakeOverAnnotation), false},
		"one that was moved":                   {annotated(infrav1.BoundClaimUIDAnnotation), false},
		"one that was about to be bound":       {annotated(infrav1.IntendedHostAnnotation), false},
		"one that has had a host": {func(c *bmov1alpha1.HostClaim) {
			says(metav1.ConditionTrue, bmov1alpha1.BareMetalHostAssociatedReason)(c)
			c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-0"}
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "c", UID: "claim"}}
			tt.claim(claim)
			expect.Equal(t, tt.want, untouched(claim))
		})
	}
}
