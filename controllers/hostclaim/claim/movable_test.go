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

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/moving"
)

func TestMovable(t *testing.T) {
	tests := map[string]struct {
		plan moving.Plan
		want string // empty for absent
	}{
		"while its host is not ready": {moving.Plan{Step: moving.Wait, Reason: "HostNotAtRest", Message: "x"}, "False/HostNotAtRest"},
		"when its host is ready":      {moving.Plan{Step: moving.Ready, Reason: "ReadyToMove", Message: "x"}, "True/ReadyToMove"},
		"of a claim without a host":   {moving.Plan{Step: moving.Nothing}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := bmov1alpha1.HostClaimStatus{}
			setMovable(&status, moving.Plan{Step: moving.Wait, Reason: "Before"}, 1, now)
			setMovable(&status, tt.plan, 2, now)
			if got := short(status)[infrav1.MovableCondition]; got != tt.want {
				t.Errorf("Movable is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMovableIsGoneWhenTheClaimIsNotPausedAnyMore(t *testing.T) {
	claim := newClaim()
	setMovable(&claim.Status, moving.Plan{Step: moving.Wait, Reason: "HandOverNotConfirmed"}, 1, now)
	given := given{claim: claim, step: binding.Keep, host: newHost("tenant")}
	if found := meta.FindStatusCondition(given.status(true, now).Conditions, infrav1.MovableCondition); found != nil {
		t.Errorf("Movable is %v, want none", found)
	}
}
