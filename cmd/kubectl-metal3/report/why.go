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
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Answer is why an object waits.
type Answer struct {
	// Path are the objects from the one that was asked about to the cause.
	Path []Link `json:"path"`
	// Cause is the object whose condition the others wait for; nil if nothing waits.
	Cause *Link `json:"cause,omitempty"`
	// LookAt is the command that shows more of the cause.
	LookAt string `json:"lookAt,omitempty"`
}

// Why follows the way of a machine as far as one object waits for the next. What could not be read
// ends the path, and the object before it is the cause.
func Why(o Objects) Answer {
	path := o.machine()
	bootstrap := len(path) > 0 && path[0].Condition == clusterv1.BootstrapConfigReadyCondition && path[0].Waits()
	if !bootstrap {
		machine := o.metal3Machine()
		path = append(append(path, machine...), o.below(machine)...)
	}
	answer := Explain(path)
	if bootstrap {
		if ref := o.Machine.Spec.Bootstrap.ConfigRef; ref.Name != "" {
			answer.LookAt = describe(ref.Kind, o.Machine.Namespace, ref.Name)
		}
	}
	return answer
}

// Explain returns the answer of a path whose last object that waits is the cause.
func Explain(path []Link) Answer {
	answer := Answer{Path: path}
	for _, l := range slices.Backward(path) {
		if l.Waits() {
			answer.Cause, answer.LookAt = &l, describe(l.Kind, l.Namespace, l.Name)
			break
		}
	}
	return answer
}

// below returns what a Metal3Machine waits for by its condition; the claim, if there is no machine.
func (o Objects) below(machine []Link) []Link {
	if len(machine) == 0 || machine[0].Unread != "" {
		return o.claimPath()
	}
	switch machine[0].Condition {
	case infrav1.Metal3DataReadyCondition:
		return o.data()
	case infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimReadyCondition, clusterv1.ReadyCondition:
		return o.claimPath()
	default:
		return nil
	}
}

// claimPath leads to the host where the claim waits for what is done with it.
func (o Objects) claimPath() []Link {
	path := o.claim()
	if len(path) == 0 || path[0].Unread != "" || !path[0].Waits() {
		return append(path, o.host()...)
	}
	host := o.host()
	switch path[0].Condition {
	case bmov1alpha1.ProvisionedCondition, bmov1alpha1.AvailableForProvisioningCondition, clusterv1.ReadyCondition:
		path = append(path, host...)
	}
	return path
}

func describe(kind, namespace, name string) string {
	return fmt.Sprintf("kubectl describe %s %s -n %s", strings.ToLower(kind), name, namespace)
}

// WhyCluster answers for a Cluster whose infrastructure or pause holds all machines, else for each machine that
// waits, and for the Cluster alone if none does.
func WhyCluster(root Link, machines []Objects) []Answer {
	path := []Link{root}
	for _, l := range root.Children {
		if l.Kind == "Metal3Cluster" {
			path = append(path, l)
		}
	}
	for i := range path {
		path[i].Children = nil
	}
	own := Explain(path)
	if root.Condition == "spec.paused" || (own.Cause != nil && own.Cause.Kind == "Metal3Cluster") {
		return []Answer{own}
	}
	var answers []Answer
	for _, o := range machines {
		if answer := Why(o); answer.Cause != nil {
			answers = append(answers, answer)
		}
	}
	if len(answers) == 0 {
		return []Answer{own}
	}
	return answers
}
