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

package report

import (
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Station is a step on the way of a machine.
type Station struct {
	Name string `json:"name"`
	// At is when the machine got there, nil if it did not, or if that could not be read. A condition that
	// was lost and came back tells the later time.
	At *metav1.Time `json:"at,omitempty"`
	// Took is the time since the station before it that was reached last.
	Took *metav1.Duration `json:"took,omitempty"`
	// Source is where the time stands.
	Source string `json:"source,omitempty"`
}

// Stations returns the way of a machine from its creation to its Node.
func Stations(o Objects) []Station {
	stations := []Station{
		{Name: "Machine created", At: known(ptr.Deref(o.Machine, clusterv1.Machine{}).CreationTimestamp), Source: "Machine"},
		turned("Bootstrap data ready", "Machine", machineConditions(o), clusterv1.BootstrapConfigReadyCondition),
		{Name: "HostClaim created", At: known(ptr.Deref(o.Claim, bmov1alpha1.HostClaim{}).CreationTimestamp), Source: "HostClaim"},
		o.bound(),
		turned("Data rendered", "Metal3Machine", metal3Conditions(o), infrav1.Metal3DataReadyCondition),
		o.imageBegun(),
		o.imageWritten(),
		turned("Node found", "Metal3Machine", metal3Conditions(o), infrav1.KubernetesNodeReadyCondition),
		turned("Node ready", "Machine", machineConditions(o), clusterv1.MachineNodeReadyCondition),
	}
	var last time.Time
	for i := range stations {
		s := &stations[i]
		if s.At == nil {
			s.Source = ""
			continue
		}
		if !last.IsZero() {
			s.Took = &metav1.Duration{Duration: max(0, s.At.Sub(last))}
		}
		if s.At.After(last) {
			last = s.At.Time
		}
	}
	return stations
}

func (o Objects) bound() Station {
	const name = "Host bound"
	if s := turned(name, "HostClaim", claimConditions(o), bmov1alpha1.AssociatedCondition); s.At != nil {
		return s
	}
	return turned(name, "Metal3Machine", metal3Conditions(o), infrav1.AssociateBareMetalHostCondition)
}

// imageBegun is when the host began to write. What it wrote before it was bound was for another claim.
func (o Objects) imageBegun() Station {
	s := Station{Name: "Image begun"}
	if o.Host == nil {
		return s
	}
	if bound := o.bound(); bound.At != nil && !o.Host.Status.OperationHistory.Provision.Start.Before(bound.At) {
		s.At, s.Source = known(o.Host.Status.OperationHistory.Provision.Start), "BareMetalHost"
	}
	return s
}

func (o Objects) imageWritten() Station {
	const name = "Image written"
	begun := o.imageBegun()
	if begun.At != nil && !o.Host.Status.OperationHistory.Provision.End.Before(begun.At) {
		return Station{Name: name, At: known(o.Host.Status.OperationHistory.Provision.End), Source: "BareMetalHost"}
	}
	if s := turned(name, "HostClaim", claimConditions(o), bmov1alpha1.ProvisionedCondition); s.At != nil {
		return s
	}
	return turned(name, "Metal3Machine", metal3Conditions(o), infrav1.HostClaimReadyCondition)
}

// turned is a station that is reached when a condition becomes True.
func turned(name, source string, conditions []metav1.Condition, kind string) Station {
	s := Station{Name: name}
	if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		s.At, s.Source = known(c.LastTransitionTime), source+" "+kind
	}
	return s
}

func machineConditions(o Objects) []metav1.Condition {
	return ptr.Deref(o.Machine, clusterv1.Machine{}).Status.Conditions
}

func metal3Conditions(o Objects) []metav1.Condition {
	return ptr.Deref(o.Metal3Machine, infrav1.Metal3Machine{}).Status.Conditions
}

func claimConditions(o Objects) []metav1.Condition {
	return ptr.Deref(o.Claim, bmov1alpha1.HostClaim{}).Status.Conditions
}
