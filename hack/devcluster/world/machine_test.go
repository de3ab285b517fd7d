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

package world

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func condition(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message}}
}

func machine(change ...func(*clusterv1.Machine)) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m"}}
	m.Spec.InfrastructureRef.Name = "m3"
	for _, f := range change {
		f(m)
	}
	return m
}

func joined(m *clusterv1.Machine) { m.Status.NodeRef.Name = "node" }

func metal3(conditions ...metav1.Condition) *infrav1.Metal3Machine {
	return &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m3", UID: "m3-uid"},
		Status:     infrav1.Metal3MachineStatus{Conditions: conditions},
	}
}

func claim(conditions ...metav1.Condition) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "claim", UID: "claim-uid"},
		Spec:       bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{UID: "m3-uid"}},
		Status:     bmov1alpha1.HostClaimStatus{Conditions: conditions},
	}
}

func host(image string, state bmov1alpha1.ProvisioningState) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "server-1"}}
	h.Spec.ConsumerRef = &corev1.ObjectReference{UID: "claim-uid"}
	h.Status.Provisioning.State = state
	if image != "" {
		h.Spec.Image = &bmov1alpha1.Image{URL: image}
	}
	return h
}

func TestStep(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		given Machine
		want  string
	}{
		"no infrastructure yet": {Machine{Machine: machine()}, "is new"},
		"no claim, and the provider says why": {
			Machine{Machine: machine(), Metal3: metal3(condition(infrav1.AssociateBareMetalHostCondition, "False", infrav1.WaitingForBootstrapDataReason, "")...)},
			"waits: WaitingForBootstrapData",
		},
		"a new claim": {Machine{Machine: machine(), Metal3: metal3(), Claim: claim()}, "asks for a server"},
		"a claim without a host repeats the explanation": {
			Machine{Machine: machine(), Metal3: metal3(), Claim: claim(condition(bmov1alpha1.AssociatedCondition, "False", "NoBareMetalHost", "8 hosts seen: 8 in use")...)},
			"waits for a server: 8 hosts seen: 8 in use",
		},
		"a claim in the middle of its bind does not wait": {
			Machine{Machine: machine(), Metal3: metal3(), Claim: claim(condition(bmov1alpha1.AssociatedCondition, "Unknown", "Binding", "x")...)},
			"asks for a server",
		},
		"bound":     {Machine{Machine: machine(), Metal3: metal3(), Claim: claim(), Host: host("", "available")}, "has server-1, its configuration is being rendered"},
		"writing":   {Machine{Machine: machine(), Metal3: metal3(), Claim: claim(), Host: host("u", "provisioning")}, "has server-1, which gets its image"},
		"booting":   {Machine{Machine: machine(), Metal3: metal3(), Claim: claim(), Host: host("u", "provisioned")}, "has server-1, which boots; Cluster API waits for its Node"},
		"a Node":    {Machine{Machine: machine(joined), Metal3: metal3(), Claim: claim(), Host: host("u", "provisioned")}, "is Node node on server-1"},
		"host lost": {Machine{Machine: machine(joined), Metal3: metal3(), Claim: claim()}, "is Node node on a server that is gone"},
		"wiped": {
			Machine{Machine: machine(joined, func(m *clusterv1.Machine) { m.DeletionTimestamp = &now }), Host: host("", "deprovisioning")},
			"is being deleted, server-1 is deprovisioning",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.given.Step(); got != tt.want {
				t.Errorf("Step() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStuck(t *testing.T) {
	paused := condition(clusterv1.PausedCondition, "False", "NotPaused", "")[0]
	ready := condition(clusterv1.ReadyCondition, "False", "NotReady", "summary")[0]
	data := condition(infrav1.Metal3DataReadyCondition, "False", infrav1.TemplateNotFoundReason, "no template x")[0]
	tests := map[string]struct {
		given Machine
		want  string
	}{
		"the cause, not the summary": {Machine{Machine: machine(), Metal3: metal3(paused, ready, data)}, "Metal3DataReady: no template x"},
		"Cluster API's word where the provider is content": {
			Machine{Machine: machine(func(m *clusterv1.Machine) { m.Status.Conditions = []metav1.Condition{ready} }), Metal3: metal3(paused)},
			"Ready: summary",
		},
		"no condition at all": {Machine{Machine: machine()}, "no condition says why"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.given.Stuck(); got != tt.want {
				t.Errorf("Stuck() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJoinFollowsUIDsAndNotNames(t *testing.T) {
	stale := claim()
	stale.Name, stale.UID, stale.Spec.ConsumerRef.UID = "m3", "old", "other-claim"
	others := host("u", "provisioned")
	others.Name, others.Spec.ConsumerRef.UID = "server-2", "old"
	got := join(machine(), []infrav1.Metal3Machine{*metal3()}, []bmov1alpha1.HostClaim{*stale, *claim()},
		[]bmov1alpha1.BareMetalHost{*others, *host("u", "provisioned")})
	if got.Claim == nil || got.Claim.Name != "claim" || got.Host == nil || got.Host.Name != "server-1" {
		t.Errorf("join() found claim %v and host %v", got.Claim, got.Host)
	}
}

func TestWaitsForHostOnlyWhileAlive(t *testing.T) {
	now := metav1.Now()
	unanswered := claim(condition(bmov1alpha1.AssociatedCondition, "False", "NoBareMetalHost", "why")...)
	alive := Machine{Machine: machine(), Metal3: metal3(), Claim: unanswered}
	if reason, waits := alive.WaitsForHost(); !waits || reason != "why" {
		t.Errorf("WaitsForHost() = %q, %v", reason, waits)
	}
	dying := Machine{Machine: machine(func(m *clusterv1.Machine) { m.DeletionTimestamp = &now }), Claim: unanswered}
	if _, waits := dying.WaitsForHost(); waits {
		t.Error("a machine that is being deleted waits for a server")
	}
}
