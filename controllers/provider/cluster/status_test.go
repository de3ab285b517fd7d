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

package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var noon = metav1.NewTime(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))

func both(infrastructure, ready metav1.Condition) []metav1.Condition {
	infrastructure.Type, ready.Type = "BaremetalInfrastructureReady", "Ready"
	return []metav1.Condition{infrastructure, ready, {Type: "Paused", Status: "False", Reason: "NotPaused"}}
}

func given(change func(*scope)) *scope {
	s := &scope{infra: &infrav1.Metal3Cluster{}, owner: &clusterv1.Cluster{}}
	change(s)
	s.before = s.infra.DeepCopy()
	return s
}

// waiting is the status of a Metal3Cluster without an endpoint.
func waiting(message string) infrav1.Metal3ClusterStatus {
	return infrav1.Metal3ClusterStatus{LastUpdated: &noon, Conditions: both(
		metav1.Condition{Status: "False", Reason: "WaitingForControlPlaneEndpoint", Message: message},
		metav1.Condition{Status: "False", Reason: "NotReady", Message: message},
	)}
}

const noEndpoint = "No control plane endpoint yet: set spec.controlPlaneEndpoint, or let the control plane provider set the endpoint of the Cluster"

func TestReport(t *testing.T) {
	endpoint := infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
	known := metav1.Condition{Status: "True", Reason: "Ready", Message: "The control plane endpoint is given by the Metal3Cluster"}
	tests := map[string]struct {
		given      *scope
		want       infrav1.Metal3ClusterStatus
		wantEvents int
	}{
		"waits for its Cluster": {
			given: given(func(s *scope) { s.owner = nil; s.infra.Spec.ControlPlaneEndpoint = endpoint }),
			want: infrav1.Metal3ClusterStatus{LastUpdated: &noon, Conditions: both(
				metav1.Condition{Status: "False", Reason: "WaitingForClusterOwner", Message: "Waiting for Cluster API to make a Cluster the owner of this Metal3Cluster"},
				metav1.Condition{Status: "False", Reason: "NotReady", Message: "Waiting for Cluster API to make a Cluster the owner of this Metal3Cluster"})},
		},
		"waits for an endpoint": {
			given: given(func(*scope) {}),
			want:  waiting(noEndpoint),
		},
		"is provisioned when a control plane provider has set the endpoint of the Cluster": {
			given: given(func(s *scope) {
				s.owner.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.2", Port: 443}
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions: both(metav1.Condition{Status: "True", Reason: "Ready", Message: "The control plane endpoint is given by the Cluster"},
					metav1.Condition{Status: "True", Reason: "Ready"}),
			},
			wantEvents: 1,
		},
		"names the port that is missing": {
			given: given(func(s *scope) { s.infra.Spec.ControlPlaneEndpoint.Host = endpoint.Host }),
			want:  waiting("spec.controlPlaneEndpoint.port is missing: set it"),
		},
		"names the host that is missing": {
			given: given(func(s *scope) { s.infra.Spec.ControlPlaneEndpoint.Port = endpoint.Port }),
			want: waiting("spec.controlPlaneEndpoint.host is missing, only port 6443 is given: set it, " +
				"or let the control plane provider set the endpoint of the Cluster"),
		},
		"is provisioned once the endpoint is known, and copies failure domains": {
			given: given(func(s *scope) {
				s.infra.Spec.ControlPlaneEndpoint = endpoint
				s.infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "row-1", ControlPlane: ptr.To(true)}}
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				FailureDomains: []clusterv1.FailureDomain{{Name: "row-1", ControlPlane: ptr.To(true)}},
				Conditions:     both(known, metav1.Condition{Status: "True", Reason: "Ready"}),
			},
			wantEvents: 1,
		},
		"stays provisioned when the endpoint goes": {
			given: given(func(s *scope) { s.infra.Status.Initialization.Provisioned = ptr.To(true) }),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions: both(metav1.Condition{Status: "False", Reason: "WaitingForControlPlaneEndpoint", Message: noEndpoint},
					metav1.Condition{Status: "False", Reason: "NotReady", Message: noEndpoint}),
			},
		},
		"is provisioned though the cluster with the hosts cannot be used, and not ready": {
			given: given(func(s *scope) {
				s.infra.Spec.ControlPlaneEndpoint = endpoint
				s.identity = &metav1.Condition{Status: "False", Reason: "Unauthorized", Message: "no"}
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions: append(both(known, metav1.Condition{Status: "False", Reason: "NotReady", Message: "no"}),
					metav1.Condition{Type: "IdentityReady", Status: "False", Reason: "Unauthorized", Message: "no"}),
			},
			wantEvents: 2,
		},
		"says that the cluster with the hosts can be used": {
			given: given(func(s *scope) {
				s.infra.Spec.ControlPlaneEndpoint = endpoint
				s.identity = &metav1.Condition{Status: "True", Reason: "Connected"}
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions: append(both(known, metav1.Condition{Status: "True", Reason: "Ready"}),
					metav1.Condition{Type: "IdentityReady", Status: "True", Reason: "Connected"}),
			},
			wantEvents: 1,
		},
		"forgets the cluster with the hosts when none is named any more": {
			given: given(func(s *scope) {
				s.infra.Spec.ControlPlaneEndpoint = endpoint
				s.infra.Status.Initialization.Provisioned = ptr.To(true)
				s.infra.Status.Conditions = []metav1.Condition{{Type: "IdentityReady", Status: "True", Reason: "Connected"}}
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions:     both(known, metav1.Condition{Status: "True", Reason: "Ready"}),
			},
		},
		"is not ready while it is being deleted": {
			given: given(func(s *scope) {
				s.infra.Spec.ControlPlaneEndpoint = endpoint
				s.infra.DeletionTimestamp = &noon
				s.infra.Status.Initialization.Provisioned = ptr.To(true)
				s.machines = true
			}),
			want: infrav1.Metal3ClusterStatus{
				LastUpdated:    &noon,
				Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: ptr.To(true)},
				Conditions: both(known, metav1.Condition{
					Status: "False", Reason: "Deleting", Message: "Waiting for the machines of the Cluster to be deleted",
				}),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report(tc.given, noon)
			byType := cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })
			noTimes := cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")
			former := cmpopts.IgnoreFields(infrav1.Metal3ClusterStatus{}, "Deprecated") // see TestV1Beta1Conditions
			expect.Equal(t, tc.want, tc.given.infra.Status, byType, noTimes, former)
			again := given(func(s *scope) { *s = *tc.given })
			report(again, metav1.NewTime(noon.Add(time.Hour)))
			expect.That(t, again.infra.Status.LastUpdated == nil || again.infra.Status.LastUpdated.Equal(&noon), "a second report of the same facts changes the status")
			recorder := events.NewFakeRecorder(10)
			(&Reconciler{Recorder: recorder}).announce(t.Context(), tc.given)
			expect.Equal(t, tc.wantEvents, len(recorder.Events))
		})
	}
}

// TestLog shows that each milestone is logged once.
func TestLog(t *testing.T) {
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx := ctrl.LoggerInto(t.Context(), log)
	s := given(func(s *scope) {
		s.infra.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "192.0.2.1", Port: 6443}
		s.infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "row-1"}}
	})
	r := &Reconciler{Recorder: events.NewFakeRecorder(10)}
	for range 2 {
		report(s, noon)
		r.announce(ctx, s)
		s.before = s.infra.DeepCopy()
	}
	sink, ok := log.GetSink().(ktesting.Underlier)
	expect.Must(t, ok, "the log is not kept")
	var got []string
	for _, line := range sink.GetBuffer().Data() {
		got = append(got, line.Message)
	}
	want := []string{"Published failure domains", "Control plane endpoint is known, machines may be created"}
	expect.Equal(t, want, got)
}

// TestV1Beta1Conditions shows what clients of v1beta1 see.
func TestV1Beta1Conditions(t *testing.T) {
	s := given(func(*scope) {})
	report(s, noon)
	want := clusterv1.Conditions{
		{Type: "Ready", Status: "False", Severity: "Info", Reason: "NotReady", Message: noEndpoint},
		{Type: "BaremetalInfrastructureReady", Status: "False", Severity: "Info", Reason: "WaitingForControlPlaneEndpoint", Message: noEndpoint},
	}
	noTimes := cmpopts.IgnoreFields(clusterv1.Condition{}, "LastTransitionTime")
	expect.Equal(t, want, s.infra.GetV1Beta1Conditions(), noTimes)
}
