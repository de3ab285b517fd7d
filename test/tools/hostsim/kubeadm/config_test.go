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

package kubeadm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
)

func TestNodeRegistration(t *testing.T) {
	type facts struct {
		ProviderID string
		Labels     map[string]string
		Taints     []corev1.Taint
	}
	tests := map[string]struct {
		given   string
		want    facts
		wantErr string
	}{
		"reads arguments as a list, the last one wins": {
			given: "kubeletExtraArgs: [{name: provider-id, value: a}, {name: provider-id, value: b}, {name: node-labels, value: 'x=1, y=,'}]",
			want:  facts{ProviderID: "b", Labels: map[string]string{"x": "1", "y": ""}},
		},
		"reads arguments as a map": {
			given: "kubeletExtraArgs: {provider-id: a, node-labels: x=1}",
			want:  facts{ProviderID: "a", Labels: map[string]string{"x": "1"}},
		},
		"tells no taints from default taints": {
			given: "taints: []",
			want:  facts{Labels: map[string]string{}, Taints: []corev1.Taint{}},
		},
		"takes null as default taints": {given: "taints: null", want: facts{Labels: map[string]string{}}},
		"refuses a label without value": {
			given: "kubeletExtraArgs: {node-labels: x}", wantErr: `"x", which is not key=value`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var registration NodeRegistration
			if err := yaml.Unmarshal([]byte(tc.given), &registration); err != nil {
				t.Fatal(err)
			}
			labels, err := registration.Labels()
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			got := facts{ProviderID: registration.ProviderID(), Labels: labels, Taints: registration.Taints}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestTrusts(t *testing.T) {
	own, other := sample.NewAuthority("own"), sample.NewAuthority("other")
	tests := map[string]struct {
		given BootstrapToken
		want  bool
	}{
		"accepts a pinned authority":                  {BootstrapToken{CACertHashes: []string{other.Pin(), own.Pin()}}, true},
		"compares pins without regard to case":        {BootstrapToken{CACertHashes: []string{strings.ToUpper(own.Pin())}}, true},
		"refuses an authority that is not pinned":     {BootstrapToken{CACertHashes: []string{other.Pin()}}, false},
		"refuses everything without pins":             {BootstrapToken{}, false},
		"accepts everything if told so, without pins": {BootstrapToken{UnsafeSkipCAVerification: true}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.given.Trusts(own.Certificate); got != tc.want {
				t.Errorf("Trusts() = %v, want %v", got, tc.want)
			}
		})
	}
}
