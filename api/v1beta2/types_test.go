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

package v1beta2

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{
		"Metal3Cluster", "Metal3ClusterTemplate", "Metal3Machine", "Metal3MachineTemplate",
		"Metal3DataTemplate", "Metal3DataClaim", "Metal3Data", "Metal3Remediation", "Metal3RemediationTemplate",
	} {
		for _, name := range []string{kind, kind + "List"} {
			if !scheme.Recognizes(GroupVersion.WithKind(name)) {
				t.Errorf("%s is not registered", name)
			}
		}
	}
}

func TestAPIEndpoint(t *testing.T) {
	tests := map[string]struct {
		endpoint  APIEndpoint
		wantZero  bool
		wantValid bool
	}{
		"nothing set is zero and not valid":       {wantZero: true},
		"a host without a port is not valid":      {endpoint: APIEndpoint{Host: "h"}},
		"a port without a host is not valid":      {endpoint: APIEndpoint{Port: 6443}},
		"a host with a port is a usable endpoint": {endpoint: APIEndpoint{Host: "h", Port: 6443}, wantValid: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.endpoint.IsZero(); got != test.wantZero {
				t.Errorf("IsZero() = %t, want %t", got, test.wantZero)
			}
			if got := test.endpoint.IsValid(); got != test.wantValid {
				t.Errorf("IsValid() = %t, want %t", got, test.wantValid)
			}
		})
	}
}

// Server-side apply and merge patches must not claim fields that are not set.
func TestEmptyObjectsAreWrittenWithoutSpecAndStatus(t *testing.T) {
	tests := map[string]runtime.Object{
		"Metal3Cluster":             &Metal3Cluster{},
		"Metal3Machine":             &Metal3Machine{},
		"Metal3MachineTemplate":     &Metal3MachineTemplate{},
		"Metal3DataTemplate":        &Metal3DataTemplate{},
		"Metal3DataClaim":           &Metal3DataClaim{},
		"Metal3Data":                &Metal3Data{},
		"Metal3Remediation":         &Metal3Remediation{},
		"Metal3RemediationTemplate": &Metal3RemediationTemplate{},
	}
	for name, object := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(`{}`, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	want := []metav1.Condition{{Type: ReadyCondition, Status: metav1.ConditionTrue, Reason: ReadyReason}}
	tests := map[string]interface {
		GetConditions() []metav1.Condition
		SetConditions(conditions []metav1.Condition)
	}{
		"Metal3Cluster":      &Metal3Cluster{},
		"Metal3Machine":      &Metal3Machine{},
		"Metal3DataTemplate": &Metal3DataTemplate{},
		"Metal3DataClaim":    &Metal3DataClaim{},
		"Metal3Data":         &Metal3Data{},
		"Metal3Remediation":  &Metal3Remediation{},
	}
	for name, object := range tests {
		t.Run(name, func(t *testing.T) {
			object.SetConditions(want)
			if diff := cmp.Diff(want, object.GetConditions()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestV1Beta1Conditions(t *testing.T) {
	want := clusterv1.Conditions{{Type: ReadyCondition, Status: "True"}}
	tests := map[string]interface {
		GetV1Beta1Conditions() clusterv1.Conditions
		SetV1Beta1Conditions(conditions clusterv1.Conditions)
	}{
		"Metal3Cluster": &Metal3Cluster{},
		"Metal3Machine": &Metal3Machine{},
	}
	for name, object := range tests {
		t.Run(name, func(t *testing.T) {
			if got := object.GetV1Beta1Conditions(); got != nil {
				t.Errorf("an empty object has conditions %v", got)
			}
			object.SetV1Beta1Conditions(want)
			if diff := cmp.Diff(want, object.GetV1Beta1Conditions()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
