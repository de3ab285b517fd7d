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

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

func TestServerThatIsOffIsShownAsOff(t *testing.T) {
	on := newClaim(func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn, c.ResourceVersion = true, "7" })
	off := newClaim(func(c *bmov1alpha1.HostClaim) { c.ResourceVersion = "7" })
	tests := map[string]struct {
		before, after *bmov1alpha1.HostClaim
		want          string
	}{
		"switched off":      {on, off, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":false}}`},
		"off as before":     {off, off, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":false}}`},
		"switched on":       {off, on, `{"metadata":{"resourceVersion":"7"},"status":{"poweredOn":true}}`},
		"on, and no change": {on, on, `{"metadata":{"resourceVersion":"7"}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := (powerPatch{patch.Locked(tt.before)}).Data(tt.after); err != nil || string(got) != tt.want {
				t.Errorf("patch %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}
