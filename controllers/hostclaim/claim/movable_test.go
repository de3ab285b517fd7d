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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

func TestMovable(t *testing.T) {
	abroad := recorded(metav1.ConditionTrue, "x", "")
	unmovable := func(c *bmov1alpha1.HostClaim) {
		setMovable(&c.Status, c, func(m metav1.Condition) { c.Status.Conditions = append(c.Status.Conditions, m) })
	}
	ofOrigin := func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataLabel(&c.ObjectMeta, infrav1.OriginKey, "o-1") }
	tests := map[string]struct {
		given given
		want  string // empty for absent
	}{
		"a claim with a host in another namespace":       {given{claim: newClaim(), step: binding.Keep, host: newHost("infra")}, "False/HostInOtherNamespace"},
		"a claim of a machine in another cluster":        {given{claim: newClaim(unmovable, ofOrigin), step: binding.Keep, host: newHost("infra")}, ""},
		"a claim that lost such a host":                  {given{claim: newClaim(abroad), step: binding.ReportLost}, "False/HostInOtherNamespace"},
		"a claim that goes with such a host":             {given{claim: newClaim(abroad, going), step: binding.Release, host: newHost("infra")}, "False/HostInOtherNamespace"},
		"a claim that has found none":                    {given{claim: newClaim(abroad, unmovable), step: binding.Choose}, ""},
		"a claim that has a host in its own namespace":   {given{claim: newClaim(), step: binding.Keep, host: newHost("tenant")}, ""},
		"a claim that has now one in its own namespace":  {given{claim: newClaim(abroad, unmovable), step: binding.Keep, host: newHost("tenant")}, ""},
		"a claim of which nothing is known in this pass": {given{claim: newClaim(abroad, unmovable)}, "False/HostInOtherNamespace"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := short(tt.given.status(progress.Outcome{}, now))[infrav1.MovableCondition]; got != tt.want {
				t.Errorf("Movable is %q, want %q", got, tt.want)
			}
		})
	}
}
