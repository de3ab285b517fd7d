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

package data

import (
	"testing"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// What as a rule ends at once is no report of its own.
func TestTells(t *testing.T) {
	tests := map[string]struct {
		outcome progress.Outcome
		want    retry.Report
	}{
		"its address is on the way":      {progress.Waiting(infrav1.WaitingForAddressesReason, "x"), retry.Transient},
		"a machine that goes has it":     {progress.Waiting(infrav1.AddressUnavailableReason, "x"), retry.Transient},
		"its machine has gone before it": {progress.Waiting(infrav1.OwnerNotFoundReason, "x"), retry.Transient},
		"its pool is missing":            {progress.Waiting(infrav1.PoolNotFoundReason, "x"), retry.Changed},
		"its secrets are there":          {progress.Outcome{}, retry.Urgent},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{before: &infrav1.Metal3Data{}, data: &infrav1.Metal3Data{}}
			report(s, tc.outcome)
			if got := reportOf(s, tc.outcome); got != tc.want {
				t.Errorf("reportOf() = %v, want %v", got, tc.want)
			}
		})
	}
}

// A claim on a pool that was given back is nothing to ask the API server about.
func TestReleased(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"a claim that is held":              {metav1.ObjectMeta{Finalizers: []string{infrav1.DataFinalizer}}, false},
		"one that is not held, and is left": {metav1.ObjectMeta{}, false},
		"one that is deleted and held":      {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{infrav1.DataFinalizer}}, false},
		"one that its pool has to let go":   {metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"ipclaim.ipam.metal3.io"}}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (addressClaim{object: &ipamv1alpha1.IPClaim{ObjectMeta: tc.meta}}).released(); got != tc.want {
				t.Errorf("released() = %t, want %t", got, tc.want)
			}
		})
	}
}
