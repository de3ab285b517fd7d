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

package main

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// at is a second of the story.
func at(second int) time.Time { return time.Unix(int64(second), 0) }

func machine(name string, change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	m.Spec.InfrastructureRef.Name = name
	for _, change := range change {
		change(m)
	}
	return m
}

func claim(name, of string) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
	c.Spec.ConsumerRef = &corev1.ObjectReference{Name: of}
	return c
}

func host(kind, consumer string, state bmov1alpha1.ProvisioningState, withImage bool) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "h"}}
	h.Status.Provisioning.State = state
	if consumer != "" {
		h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: kind, Namespace: "n", Name: consumer}
	}
	if withImage {
		h.Spec.Image = &bmov1alpha1.Image{}
	}
	return h
}

func TestSpans(t *testing.T) {
	type event struct {
		second int
		object any
	}
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t-0"}}
	data.Spec.Claim = &infrav1.Metal3ObjectRef{Name: "m"}
	data.Status.Ready = ptr.To(true)
	fed := func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("s") }
	joined := func(m *clusterv1.Machine) { fed(m); m.Status.NodeRef.Name = "m" }
	published := claim("c", "m")
	published.Status.HardwareData = &bmov1alpha1.ObjectReference{Name: "m"}

	tests := map[string]struct {
		events []event
		want   map[site.Mark][]time.Duration
	}{
		"each station counts from the one before": {
			events: []event{
				{1, machine("m")},
				{3, machine("m", fed)},
				{4, claim("c", "m")},
				{5, host("HostClaim", "c", bmov1alpha1.StateAvailable, false)},
				{7, published},
				{10, data},
				{11, host("HostClaim", "c", bmov1alpha1.StateProvisioning, true)},
				{13, host("HostClaim", "c", bmov1alpha1.StateProvisioned, true)},
				{17, machine("m", joined)},
			},
			want: map[site.Mark][]time.Duration{
				bootstrap: {2 * time.Second}, claimed: {time.Second}, bound: {time.Second}, facts: {2 * time.Second},
				rendered: {3 * time.Second}, image: {time.Second}, provisioned: {2 * time.Second}, node: {4 * time.Second},
			},
		},
		"a provider without claims has fewer": {
			events: []event{
				{1, machine("m")},
				{2, host("Metal3Machine", "m", bmov1alpha1.StateAvailable, false)},
				{6, host("Metal3Machine", "m", bmov1alpha1.StateProvisioned, true)},
			},
			want: map[site.Mark][]time.Duration{bound: {time.Second}, image: {4 * time.Second}, provisioned: {0}},
		},
		"a station that is seen again counts once": {
			events: []event{{1, machine("m")}, {2, machine("m", fed)}, {9, machine("m", fed)}},
			want:   map[site.Mark][]time.Duration{bootstrap: {time.Second}},
		},
		"what is written in one request takes no time": {
			events: []event{{1, machine("m", fed)}},
			want:   map[site.Mark][]time.Duration{bootstrap: {0}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLives()
			for _, e := range tc.events {
				l.see(e.object, at(e.second))
			}
			got := l.spans([]types.NamespacedName{{Namespace: "n", Name: "m"}})
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestHostWaitsFromAvailableUntilTaken(t *testing.T) {
	l := newLives()
	l.see(host("", "", bmov1alpha1.StateRegistering, false), at(1))
	l.see(host("", "", bmov1alpha1.StateAvailable, false), at(2))
	l.see(host("HostClaim", "c", bmov1alpha1.StateAvailable, false), at(5))
	got := l.Between(available, taken, []types.NamespacedName{{Namespace: "n", Name: "h"}, {Namespace: "n", Name: "other"}})
	expect.Equal(t, []time.Duration{3 * time.Second}, got)
}

func TestSettle(t *testing.T) {
	tests := map[string]struct {
		flags rolloutFlags
		size  string
		want  rolloutPlan
		fails bool
	}{
		"the size says all":               {rolloutFlags{}, "small", rolloutPlans["small"], false},
		"a flag wins over the size":       {rolloutFlags{rolloutPlan: rolloutPlan{workers: 4, hosts: 6}}, "full", rolloutPlan{4, 6, 5}, false},
		"a roll needs a host to spare":    {rolloutFlags{rolloutPlan: rolloutPlan{workers: 4}}, "small", rolloutPlan{}, true},
		"a program without its manifests": {rolloutFlags{other: "/bin/capm3"}, "small", rolloutPlan{}, true},
		"manifests without a program":     {rolloutFlags{manifests: "/config"}, "small", rolloutPlan{}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.flags.settle(tc.size)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v, want one: %t", err, tc.fails)
			}
			if err == nil && got.rolloutPlan != tc.want {
				t.Errorf("settled %+v, want %+v", got.rolloutPlan, tc.want)
			}
		})
	}
}
