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
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/dataindex"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

const (
	// maxIndexes bounds status.indexes. The list is for people; no decision
	// depends on it, and a template serves more machines than that.
	maxIndexes = 512
	// maxMessage bounds status.errorMessage, and what is said about a template.
	maxMessage = 512
)

// answer changes the status of a claim.
type answer func(claim *infrav1.Metal3DataClaim)

// reserved gives the claim an index. It is called ready for that, unless an
// earlier attempt to make the Metal3Data failed: then only exists lifts the
// complaint, or each attempt would change the status twice and cause the next.
func reserved(template types.NamespacedName, a dataindex.Assignment) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		claim.Status.RenderedData = &infrav1.Metal3ObjectRef{
			Namespace: template.Namespace, Name: dataindex.Name(template.Name, a.Index),
		}
		claim.Status.ErrorMessage = ""
		if a.Exists || conditions.GetReason(claim, infrav1.ReadyCondition) != infrav1.NotReadyReason {
			setReady(claim, metav1.ConditionTrue, infrav1.DataAssignedReason, "")
		}
		setPaused(claim, false)
	}
}

// refused says why the claim gets nothing, and what its author can do.
func refused(reason, message string) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		claim.Status.ErrorMessage = cut(message)
		setReady(claim, metav1.ConditionFalse, reason, message)
		setPaused(claim, false)
	}
}

// failed says that the claim was not served for a reason that may pass by itself.
func failed(message string) answer {
	return func(claim *infrav1.Metal3DataClaim) {
		setReady(claim, metav1.ConditionFalse, infrav1.NotReadyReason, message)
	}
}

// suspended says that nothing is done for the claim now.
func suspended(claim *infrav1.Metal3DataClaim) { setPaused(claim, true) }

// writeClaim writes the status of a claim if it changes.
func (r *Reconciler) writeClaim(ctx context.Context, claim *infrav1.Metal3DataClaim, change answer) error {
	before := claim.DeepCopy()
	change(claim)
	if reflect.DeepEqual(before.Status, claim.Status) {
		return nil
	}
	return r.patchClaim(ctx, before, claim)
}

// patchClaim writes the status of a claim. The resourceVersion makes a writer with
// an old copy fail; the copy is brought up to date.
func (r *Reconciler) patchClaim(ctx context.Context, before, claim *infrav1.Metal3DataClaim) error {
	err := r.Client.Status().Patch(ctx, claim, apply.Locked(before))
	if err := staleOr(err); err != nil {
		return fmt.Errorf("write status of Metal3DataClaim %s: %w", claim.Name, err)
	}
	return nil
}

// refuse tells the claims that get nothing why that is so.
func (r *Reconciler) refuse(ctx context.Context, s *scope) progress.Outcome {
	var problems error
	for i := range s.claims {
		claim := &s.claims[i]
		if change := refusal(s, claim); change != nil {
			problems = errors.Join(problems, r.writeClaim(ctx, claim.DeepCopy(), change))
		}
	}
	return progress.Failed(problems)
}

// refusal is what such a claim is told; nil for a claim that is served.
func refusal(s *scope, claim *infrav1.Metal3DataClaim) answer {
	switch {
	case s.suspended(claim):
		return suspended
	case !claim.DeletionTimestamp.IsZero():
		return nil
	case forbidden(claim):
		return refused(infrav1.TemplateForbiddenReason, fmt.Sprintf(
			"Metal3DataTemplate %q is in namespace %q: make a claim on a template of namespace %q",
			claim.Spec.Template.Name, claim.Spec.Template.Namespace, claim.Namespace))
	case s.template == nil && claim.Status.RenderedData == nil:
		return refused(infrav1.TemplateNotFoundReason, fmt.Sprintf(
			"Metal3DataTemplate %q does not exist in namespace %q: create it", s.key.Name, s.key.Namespace))
	default:
		return nil
	}
}

// forbidden says whether the claim names a template of another namespace.
func forbidden(claim *infrav1.Metal3DataClaim) bool {
	ref := claim.Spec.Template
	return ref != nil && ref.Namespace != "" && ref.Namespace != claim.Namespace
}

// reportTemplate writes the status of the template if it changes.
func (r *Reconciler) reportTemplate(ctx context.Context, s *scope) progress.Outcome {
	before := s.template.DeepCopy()
	describe(s)
	if reflect.DeepEqual(before.Status, s.template.Status) {
		return progress.Outcome{}
	}
	s.template.Status.LastUpdated = ptr.To(metav1.NewTime(r.Clock.Now()))
	err := r.Client.Status().Patch(ctx, s.template, apply.Locked(before))
	if err := staleOr(err); err != nil {
		return progress.Failed(fmt.Errorf("write status of Metal3DataTemplate: %w", err))
	}
	return progress.Outcome{}
}

// describe computes conditions and indexes of the template from the facts.
func describe(s *scope) {
	setPaused(s.template, s.paused())
	if s.paused() {
		return
	}
	s.template.Status.Indexes = indexes(s.data)
	problem := errors.Join(ippool.Contradictions(s.template.Spec)...)
	switch {
	case !s.template.DeletionTimestamp.IsZero():
		setReady(s.template, metav1.ConditionFalse, infrav1.DeletingReason,
			"The template is being deleted; it stays until no machine uses it")
	case problem != nil:
		setReady(s.template, metav1.ConditionFalse, infrav1.InvalidTemplateReason, cut(problem.Error()))
	default:
		setReady(s.template, metav1.ConditionTrue, infrav1.DataTemplateReadyReason, "")
	}
}

// indexes lists who holds which index, lowest first.
func indexes(data []infrav1.Metal3Data) []infrav1.DataIndex {
	var held []infrav1.DataIndex
	for i := range data {
		if claim := data[i].Spec.Claim; claim != nil && claim.Name != "" {
			held = append(held, infrav1.DataIndex{Index: ptr.To(ptr.Deref(data[i].Spec.Index, 0)), Name: claim.Name})
		}
	}
	slices.SortFunc(held, func(a, b infrav1.DataIndex) int { return cmp.Compare(*a.Index, *b.Index) })
	return held[:min(len(held), maxIndexes)]
}

func setReady(object conditions.Setter, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(object, metav1.Condition{Type: infrav1.ReadyCondition, Status: status, Reason: reason, Message: message})
}

func setPaused(object conditions.Setter, paused bool) {
	status, reason := metav1.ConditionFalse, infrav1.NotPausedReason
	if paused {
		status, reason = metav1.ConditionTrue, infrav1.PausedReason
	}
	conditions.Set(object, metav1.Condition{Type: infrav1.PausedCondition, Status: status, Reason: reason})
}

// cut keeps a message within the limit of the API, on a character boundary.
func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for end > 0 && message[end]&0xC0 == 0x80 {
		end--
	}
	return message[:end]
}
