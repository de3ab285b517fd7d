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

package datatemplate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
)

// answer changes the status of a claim.
type answer func(claim *infrav1.Metal3DataClaim)

// reserved gives the claim an index. It waits for its Metal3Data from then on,
// until that says something of itself. A complaint about an earlier attempt to
// make the Metal3Data is lifted only when it exists, or each attempt would change
// the status twice and cause the next.
func reserved(template types.NamespacedName, a indexes.Assignment) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		ref := infrav1.Metal3ObjectRef{Namespace: template.Namespace, Name: indexes.Name(template.Name, a.Index)}
		fresh := ptr.Deref(claim.Status.RenderedData, infrav1.Metal3ObjectRef{}) != ref
		complained := conditions.GetReason(claim, infrav1.ReadyCondition) == infrav1.NotReadyReason
		claim.Status.RenderedData = &ref
		conditions.Set(claim, pausing.Condition(claim))
		begins, succeeds := !a.Exists && !complained, a.Exists && complained
		if fresh || begins || succeeds {
			claim.Status.ErrorMessage = ""
			conditions.Set(claim, waitingFor(ref.Name))
		}
	}
}

// waitingFor is the condition of a claim whose Metal3Data is being rendered.
func waitingFor(data string) metav1.Condition {
	return metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.WaitingForMetal3DataReason,
		Message: fmt.Sprintf("Waiting for Metal3Data %q to be rendered", data),
	}
}

// repeated says of a claim what its Metal3Data says of itself, so that the claim shows
// what is wrong with template, pools or host. That an address has not come yet
// is nothing wrong. It is nil when there is nothing new to say.
func repeated(claim *infrav1.Metal3DataClaim, data *infrav1.Metal3Data) answer {
	ready := conditions.Get(data, infrav1.ReadyCondition)
	if ready == nil || ptr.Deref(claim.Status.RenderedData, infrav1.Metal3ObjectRef{}).Name != data.Name {
		return nil
	}
	words := *ready
	if words.Reason == infrav1.WaitingForAddressesReason {
		words = waitingFor(data.Name)
	}
	if said := conditions.Get(claim, infrav1.ReadyCondition); said != nil && sameWords(*said, words) &&
		claim.Status.ErrorMessage == data.Status.ErrorMessage {
		return nil
	}
	return func(claim *infrav1.Metal3DataClaim) {
		claim.Status.ErrorMessage = data.Status.ErrorMessage
		setReady(claim, words.Status, words.Reason, words.Message)
	}
}

// sameWords says whether two conditions say the same.
func sameWords(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// refused says why the claim gets nothing, and what its author can do.
func refused(reason, message string) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		claim.Status.ErrorMessage = cut(message)
		setReady(claim, metav1.ConditionFalse, reason, message)
		conditions.Set(claim, pausing.Condition(claim))
	}
}

// failed says that the claim was not served for a reason that may pass by itself.
func failed(message string) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		setReady(claim, metav1.ConditionFalse, infrav1.NotReadyReason, message)
	}
}

// suspended says that nothing is done for the claim now, and why.
func suspended(s *scope) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		conditions.Set(claim, pausing.Condition(claim, s.clusterOf(claim)))
	}
}

// refusal is what a claim is told that gets nothing; nil for one that is served.
func refusal(s *scope, claim *infrav1.Metal3DataClaim) answer {
	switch {
	case s.suspended(claim):
		return suspended(s)
	case !claim.DeletionTimestamp.IsZero():
		return nil
	case forbidden(claim):
		return refused(infrav1.TemplateForbiddenReason, fmt.Sprintf(
			"Metal3DataTemplate %q is in namespace %q: make a claim on a template of namespace %q",
			claim.Spec.Template.Name, claim.Spec.Template.Namespace, claim.Namespace))
	case s.template == nil && claim.Status.RenderedData == nil:
		return refused(infrav1.TemplateNotFoundReason, fmt.Sprintf(
			"Metal3DataTemplate %q does not exist in namespace %q: create it", s.key.Name, s.key.Namespace))
	case s.paused() && claim.Status.RenderedData == nil:
		return refused(infrav1.TemplatePausedReason, fmt.Sprintf(
			"Metal3DataTemplate %q is paused: remove its annotation %s", s.key.Name, clusterv1.PausedAnnotation))
	default:
		return nil
	}
}

// forbidden says whether the claim names a template of another namespace.
func forbidden(claim *infrav1.Metal3DataClaim) bool {
	ref := claim.Spec.Template
	return ref != nil && ref.Namespace != "" && ref.Namespace != claim.Namespace
}
