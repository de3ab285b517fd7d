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

package endpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestNext(t *testing.T) {
	given := infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
	tests := map[string]struct {
		given Observed
		want  Plan
	}{
		"is known when the Metal3Cluster gives it": {
			given: Observed{Infrastructure: given},
			want:  Plan{Known: true, Message: "The control plane endpoint is given by the Metal3Cluster"},
		},
		"is known when a control plane provider has set it": {
			given: Observed{Cluster: clusterv1.APIEndpoint{Host: "192.0.2.2", Port: 443}},
			want:  Plan{Known: true, Message: "The control plane endpoint is given by the Cluster"},
		},
		"is waited for when nobody has set it": {
			want: Plan{Message: "No control plane endpoint yet: set spec.controlPlaneEndpoint, or let the control plane provider set the endpoint of the Cluster"},
		},
		"lacks a port": {
			given: Observed{Infrastructure: infrav1.APIEndpoint{Host: "192.0.2.1"}},
			want:  Plan{Message: "spec.controlPlaneEndpoint.port is missing: set it"},
		},
		"lacks a host": {
			given: Observed{Infrastructure: infrav1.APIEndpoint{Port: 6443}},
			want: Plan{Message: "spec.controlPlaneEndpoint.host is missing, only port 6443 is given: set it, " +
				"or let the control plane provider set the endpoint of the Cluster"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Next(tc.given)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
