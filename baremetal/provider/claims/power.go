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

package claims

import (
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Power is what a claim says about the power of its host.
type Power struct {
	// Wanted is the state that the claim asks for, and On the one that the host has.
	Wanted, On bool
	// Problem says why what the claim asks for is not carried out, in words that fit into a
	// condition; empty if it is.
	Problem string
}

// ReadPower says what a claim, nil when there is none, says about the power of its host.
func ReadPower(claim *bmov1alpha1.HostClaim) Power {
	if claim == nil || !Read(claim).HasHost() {
		return Power{}
	}
	p := Power{Wanted: claim.Spec.PoweredOn, On: claim.Status.PoweredOn}
	if c := condition(claim, bmov1alpha1.SynchronizedCondition); c.Status == metav1.ConditionFalse {
		p.Problem = usableMessage(c.Message)
	}
	return p
}
