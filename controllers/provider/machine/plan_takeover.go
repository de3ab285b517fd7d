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

package machine

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
)

// takeOverAsked reports whether the machines of the cluster that CAPM3 has made are to be taken over.
func (o Observed) takeOverAsked() bool {
	return o.Infra != nil && o.Infra.Annotations[infrav1.TakeOverAnnotation] == "true"
}

// formerHost is the name of the host that a machine may have without a claim, since CAPM3 has bound it: in its own
// namespace. It is empty for all other machines, among them those whose claim would be in another cluster.
func (o Observed) formerHost() string {
	namespace, name, _ := strings.Cut(o.Machine.Annotations[infrav1.HostAnnotation], "/")
	without := o.Claim.Phase == claims.Absent && o.InTheWay == nil && o.Remote == nil && !o.TakenOver
	// CAPM3 may have been stopped while it provisioned the host. A machine that had a claim once is ours.
	bound := o.established() || o.takeOverAsked() && o.Machine.Status.HostClaim == nil
	if !without || !bound || namespace != o.Machine.Namespace {
		return ""
	}
	return name
}

// takesOver makes a claim for what the host of the machine runs. The mark on the machine comes before it.
func takesOver(o Observed, p *Plan, host string) bool {
	p.TakeOver = true
	p.wait(infrav1.AssociateBareMetalHostCondition, infrav1.TakingOverReason, fmt.Sprintf(
		"A HostClaim is made that takes over BareMetalHost %q, which CAPM3 has bound to the machine", host))
	if o.Machine.Annotations[infrav1.TakeOverAnnotation] != "true" {
		return true
	}
	p.Claim = wanted(o)
	p.Claim.TakeOver, p.Claim.PoweredOn = host, true
	given := o.Machine.Status
	p.Claim.Deployment = o.deployment(Secrets{
		UserData: firstName(given.UserData, ""), MetaData: firstName(given.MetaData, ""), NetworkData: firstName(given.NetworkData, ""),
		PullSecret: o.pullSecret(),
	})
	return true
}

// notTakenOver is the host of a machine that was deleted before it was taken over, while that is asked for; empty for all
// other machines. One that has been taken over has reported how its claim does.
func (o Observed) notTakenOver() string {
	reported := capiconditions.GetReason(o.Machine, infrav1.HostClaimReadyCondition)
	switch {
	case !o.takeOverAsked():
		return ""
	case o.Claim.Phase == claims.Unbound && !o.Claim.Deleting:
		return o.Claim.TakeOver
	case reported == "" || reported == infrav1.TakingOverReason:
		return o.formerHost()
	default:
		return ""
	}
}

// neverTakenOver returns what such a machine waits for.
func neverTakenOver(host string) []metav1.Condition {
	return []metav1.Condition{waiting(infrav1.HostClaimReadyCondition, infrav1.TakingOverReason, fmt.Sprintf(
		"The machine was deleted before it was taken over, so nothing frees BareMetalHost %q: have the cause in the HostClaim mended, if it "+
			"has one. To let the machine go without its host, which then must be freed by hand, take annotation %s off the Metal3Cluster",
		host, infrav1.TakeOverAnnotation))}
}
