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
	"cmp"
	"fmt"
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
)

// rebuildStage is how far a rebuild has come that the machine asks for.
//
//	begins ──▶ empties ──▶ boots ──▶ notRebuilding
//
// One write puts the new image, poweredOn false and the text that asks for a rebuild on the
// claim. It has to change the spec even if the image is the same, since the generation in the
// claim's status shows that the rebuild was seen: for a server that is to be off already, it
// removes the name of the former user data. The server is wiped, and gets no image while it is
// to be off. It reads the user data as that is when the empty server is switched on.
type rebuildStage int

const (
	// notRebuilding means that nothing about a rebuild is left to be written to the claim.
	notRebuilding rebuildStage = iota
	// begins means that the rebuild has to be written to the claim.
	begins
	// empties means that the claim asks for the rebuild, and the server is being wiped.
	empties
	// boots means that the server is empty, or was written although it should have been off,
	// since it cannot be switched off.
	boots
)

// rebuildText is the text that asks for the server to be written anew; empty means none.
func (o Observed) rebuildText() string { return o.Machine.Annotations[infrav1.RebuildAnnotation] }

// rebuild returns the stage of the rebuild. A text that the machine has when it gets its first
// image asks for no rebuild.
func (o Observed) rebuild() rebuildStage {
	text, c := o.rebuildText(), o.Claim
	switch {
	case text == "" || text == o.Machine.Annotations[infrav1.RebuiltAnnotation] || refusesRebuild(o).Reason != "" || c.Deployment == nil || !c.HasHost():
		return notRebuilding
	case c.Rebuild != text:
		return begins
	case c.PoweredOn:
		return notRebuilding
	case c.Empty || (c.Phase == claims.Provisioned && c.Synchronized):
		return boots
	default:
		return empties
	}
}

// asksForBootstrap reports whether the user data has not been given to the server yet, or will
// be again.
func (o Observed) asksForBootstrap() bool {
	return o.Claim.Deployment == nil || o.rebuild() != notRebuilding
}

// refusesRebuild returns why the text of a rebuild is ignored; the zero value if it is not. A
// wiped member of a control plane would stay a member of etcd, without its data, and a text in
// a template would wipe all servers of a group at once.
func refusesRebuild(o Observed) metav1.Condition {
	const condition, reason = infrav1.SpecAppliedCondition, infrav1.RebuildRefusedReason
	switch text := o.rebuildText(); {
	case text == "":
		return metav1.Condition{}
	case utf8.RuneCountInString(text) > infrav1.MaxRebuildLength:
		return waiting(condition, infrav1.InvalidRebuildAnnotationReason, fmt.Sprintf(
			"Annotation %s is longer than %d characters and is ignored: write something short and new, such as a date",
			infrav1.RebuildAnnotation, infrav1.MaxRebuildLength))
	case util.IsControlPlaneMachine(o.Owner):
		return waiting(condition, reason, "Annotation "+infrav1.RebuildAnnotation+" is ignored on a machine of the control plane, "+
			"whose member of etcd would lose its data: remove it, and have the Machine replaced")
	case text == o.Owner.Annotations[infrav1.RebuildAnnotation]:
		return waiting(condition, reason, "Annotation "+infrav1.RebuildAnnotation+" is ignored, since the Machine has it too: "+
			"a template would have all servers of its machines wiped at once. Remove it there, and set another text on "+
			"one Metal3Machine after the other")
	default:
		return metav1.Condition{}
	}
}

// rebuildsServer has the server of a machine wiped and written anew. It stops the way of a
// machine that has never been provisioned.
func rebuildsServer(o Observed, p *Plan, named Secrets) bool {
	p.Rebuilt = ""
	var reason, message string
	switch stage := o.rebuild(); {
	case stage == begins && o.Machine.Annotations[infrav1.RebuiltAnnotation] != "":
		// The text of the last rebuild is removed first: it would report this one as done if
		// its text were set again.
	case stage == begins && o.Bootstrap.Reason == infrav1.InvalidConfigurationReason:
		// The claim names the pull secret from now on, so what may not leave the namespace stops it here.
		reason, message = o.Bootstrap.Reason, o.Bootstrap.Message
	default:
		reason, message = rebuildStep(o, p.Claim, named)
	}
	p.wait(infrav1.HostClaimReadyCondition, cmp.Or(reason, infrav1.RebuildingReason),
		cmp.Or(message, "The server is wiped, to be written anew"))
	return !o.established()
}

// rebuildStep puts the next step of the rebuild on the claim, and returns what is in the way of one; empty if nothing is.
func rebuildStep(o Observed, claim *claims.Wanted, named Secrets) (reason, message string) {
	d := *claim.Deployment
	claim.Deployment, claim.Rebuild, claim.PoweredOn = &d, o.rebuildText(), false
	switch stage := o.rebuild(); {
	case stage == begins:
		d.Image = claims.ImageOf(o.Machine.Spec.Image, named.PullSecret)
		d.CustomDeploy = (*bmov1alpha1.CustomDeploy)(o.Machine.Spec.CustomDeploy)
		if !o.Claim.PoweredOn {
			d.UserData = "" // the power does not change the spec here
		}
	case stage == empties && o.Claim.Phase == claims.Failed:
		return o.Claim.Reason, o.Claim.Message
	case stage == boots && o.Bootstrap.Reason != "" && o.Claim.Empty:
		return o.Bootstrap.Reason, "The server is empty. " + o.Bootstrap.Message
	case stage == boots && o.Bootstrap.Reason != "":
		return o.Bootstrap.Reason, "The server is on still. " + o.Bootstrap.Message
	case stage == boots:
		d.UserData, d.MetaData, d.NetworkData = named.UserData, named.MetaData, named.NetworkData
		d.Image = claims.WithPullSecret(d.Image, named.PullSecret)
		claim.PoweredOn = true
	}
	return "", ""
}

// awaitsData returns the text of the rebuild for which the server waits for bootstrap data;
// empty if it is not being rebuilt. Nothing is found while the server is being wiped, since
// data that is made then would expire.
func (o Observed) awaitsData() (text string, found bool) {
	switch o.rebuild() {
	case notRebuilding:
		return "", o.Claim.Deployment != nil
	case boots:
		return o.rebuildText(), true
	default:
		return "", false
	}
}

// staysHeld reports whether a KubeadmConfig with these annotations is to make no bootstrap data yet. Awaited is the
// text of the rebuild that its server is empty for; empty if the server is not being rebuilt. While Cluster API
// updates the Machine, that has to be the text which the data is held for: a server that is empty for the change
// before is wiped again.
func staysHeld(annotations map[string]string, awaited string) bool {
	_, updating := annotations[clusterv1.UpdateInProgressAnnotation]
	return updating && (awaited == "" || awaited != annotations[infrav1.RebuildAnnotation])
}

// rebuiltSecrets are the machine's own secrets for a server that is written anew. What is
// rendered stays as it was, so that the server keeps its addresses.
func rebuiltSecrets(o Observed, former Secrets) Secrets {
	return Secrets{
		UserData:    o.Bootstrap.Secret,
		MetaData:    firstName(o.Machine.Spec.MetaData, former.MetaData),
		NetworkData: firstName(o.Machine.Spec.NetworkData, former.NetworkData),
		PullSecret:  o.pullSecret(),
	}
}

// tellsRefused adds to the plan why the text of the machine is ignored, and reports whether it
// is. A text of a template is used up: Cluster API takes it off the Machine before it takes it
// off the Metal3Machine, which is then alone with it for a moment.
func tellsRefused(o Observed, p *Plan) bool {
	text, refused := o.rebuildText(), refusesRebuild(o)
	if refused.Reason == "" || text == o.Claim.Rebuild {
		return false
	}
	p.Conditions = append(p.Conditions, refused)
	if refused.Reason == infrav1.RebuildRefusedReason && text == o.Owner.Annotations[infrav1.RebuildAnnotation] {
		p.Rebuilt = text
	}
	return true
}

// endsRebuild notes the text that the server was rebuilt for.
func endsRebuild(o Observed, p *Plan) {
	text, c := o.rebuildText(), o.Claim
	if text != "" && text == c.Rebuild && c.PoweredOn && c.Phase == claims.Provisioned && c.Synchronized {
		p.Rebuilt = text
	}
}
