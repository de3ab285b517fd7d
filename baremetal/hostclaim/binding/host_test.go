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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// An administrator of hosts can write everything that a bind writes on a host. It counts
// only if the claim's status names the host, or was lost, which only a claim with our
// finalizer can have.
func TestForgedMarksAreBelievedForNoNewClaim(t *testing.T) {
	finalizer := func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"tenant.example.com/own", infrav1.HostClaimFinalizer}
	}
	foreign := func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"tenant.example.com/own"} }
	goes := func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	waits := func(c *bmov1alpha1.HostClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionFalse}}
	}
	names := func(name string) claimEdit {
		return func(c *bmov1alpha1.HostClaim) {
			c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: name}
		}
	}
	for name, tt := range map[string]struct {
		claim    []claimEdit
		has, new bool
	}{
		"of a new claim": {nil, false, true},
		"of a new claim with another's finalizer":   {[]claimEdit{foreign}, false, true},
		"of a new claim that goes":                  {[]claimEdit{foreign, goes}, false, true},
		"of a claim that waits":                     {[]claimEdit{finalizer, waits}, false, false},
		"of a claim that waits, without finalizer":  {[]claimEdit{waits}, false, false},
		"of a claim that was given another host":    {[]claimEdit{finalizer, names("host-1")}, false, false},
		"of a claim that chose the host":            {[]claimEdit{names("host-0")}, true, false},
		"of a claim whose status was lost":          {[]claimEdit{finalizer}, true, false},
		"of a claim whose status was lost and goes": {[]claimEdit{finalizer, goes}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(tt.claim...)
			if has, isNew := Has(claim, Bind(newHost(), claim)), New(claim); has != tt.has || isNew != tt.new {
				t.Errorf("has the host: %t, is new: %t; want %t, %t", has, isNew, tt.has, tt.new)
			}
		})
	}
}
