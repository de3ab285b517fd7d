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
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

const (
	// maxIndexes bounds status.indexes. The list is for people; no decision
	// depends on it, and a template serves more machines than that.
	maxIndexes = 512
	// maxMessage bounds status.errorMessage, and the conditions of a template.
	maxMessage = 512
)

// describeClaim returns the status of a claim as it should be, given its index if the claim is served,
// and its Metal3Data if there is one. The claim stays as it is.
func (s *scope) describeClaim(claim *infrav1.Metal3DataClaim, to assignment, data *infrav1.Metal3Data) infrav1.Metal3DataClaimStatus {
	c := &infrav1.Metal3DataClaim{ObjectMeta: claim.ObjectMeta, Spec: claim.Spec, Status: *claim.Status.DeepCopy()}
	switch {
	case s.suspended(claim):
		capiconditions.Set(c, conditions.Paused(c, s.clusterOf(c)))
		return c.Status
	case !claim.DeletionTimestamp.IsZero():
		return c.Status
	case forbidden(claim):
		refuse(c, infrav1.TemplateForbiddenReason, fmt.Sprintf(
			"Metal3DataTemplate %q is in namespace %q: make a claim on a template of namespace %q",
			claim.Spec.Template.Name, claim.Spec.Template.Namespace, claim.Namespace))
	case s.template == nil && claim.Status.RenderedData == nil:
		refuse(c, infrav1.TemplateNotFoundReason, fmt.Sprintf(
			"Metal3DataTemplate %q does not exist in namespace %q: create it", s.key.Name, s.key.Namespace))
	case s.paused() && claim.Status.RenderedData == nil:
		refuse(c, infrav1.TemplatePausedReason, fmt.Sprintf(
			"Metal3DataTemplate %q is paused: remove its annotation %s", s.key.Name, clusterv1.PausedAnnotation))
	case s.serves(claim):
		reserve(c, infrav1.Metal3ObjectRef{Namespace: s.key.Namespace, Name: dataName(s.key.Name, to.Index)}, to.Exists)
	}
	if data != nil && !s.paused() {
		repeat(c, data)
	}
	return c.Status
}

// forbidden reports whether the claim names a template of another namespace.
func forbidden(claim *infrav1.Metal3DataClaim) bool {
	ref := claim.Spec.Template
	return ref != nil && ref.Namespace != "" && ref.Namespace != claim.Namespace
}

// refuse reports in the claim why it gets nothing, and what its author can do.
func refuse(claim *infrav1.Metal3DataClaim, reason, message string) {
	claim.Status.ErrorMessage = cut(message)
	setReady(claim, metav1.ConditionFalse, reason, message)
	capiconditions.Set(claim, conditions.Paused(claim))
}

// reserve gives the claim an index. It waits for its Metal3Data from then on, until that
// reports a state. A complaint about an earlier attempt to make the Metal3Data is lifted only
// when it exists, or each attempt would change the status twice and cause the next.
func reserve(claim *infrav1.Metal3DataClaim, ref infrav1.Metal3ObjectRef, exists bool) {
	fresh := ptr.Deref(claim.Status.RenderedData, infrav1.Metal3ObjectRef{}) != ref
	complained := capiconditions.GetReason(claim, infrav1.ReadyCondition) == infrav1.NotReadyReason
	claim.Status.RenderedData = &ref
	capiconditions.Set(claim, conditions.Paused(claim))
	if fresh || exists == complained {
		claim.Status.ErrorMessage = ""
		waitFor(claim, ref.Name)
	}
}

// waitFor reports the Metal3Data of the claim as being rendered.
func waitFor(claim *infrav1.Metal3DataClaim, data string) {
	setReady(claim, metav1.ConditionFalse, infrav1.WaitingForMetal3DataReason, fmt.Sprintf("Waiting for Metal3Data %q to be rendered", data))
}

// repeat copies to the claim what its Metal3Data reports, so that the claim shows what is wrong
// with template, pools or host. A host or an address that has not come yet is no fault.
func repeat(claim *infrav1.Metal3DataClaim, data *infrav1.Metal3Data) {
	ready := capiconditions.Get(data, infrav1.ReadyCondition)
	if ready == nil || nameOf(claim.Status.RenderedData) != data.Name {
		return
	}
	claim.Status.ErrorMessage = data.Status.ErrorMessage
	if ComesByItself(ready.Reason) {
		waitFor(claim, data.Name)
		return
	}
	setReady(claim, ready.Status, ready.Reason, ready.Message)
}

// ComesByItself reports whether a Metal3Data with this reason waits for what each one waits for: a host and
// addresses. Neither its claim nor its machine repeats that.
func ComesByItself(reason string) bool {
	return reason == infrav1.WaitingForHostClaimReason || reason == infrav1.WaitingForAddressesReason
}

// finish writes what the pass has found out about the template, and lets a deleted one go once no claim or
// data uses it any more.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	before := s.template.DeepCopy()
	describe(s)
	if !reflect.DeepEqual(before.Status, s.template.Status) {
		s.template.Status.LastUpdated = ptr.To(metav1.NewTime(r.Clock.Now()))
	}
	if !s.template.DeletionTimestamp.IsZero() && !s.paused() && len(s.claims) == 0 && len(s.data) == 0 {
		controllerutil.RemoveFinalizer(s.template, infrav1.DataTemplateFinalizer)
	}
	if err := patch.Changes(ctx, r.Client, before, s.template); err != nil {
		return fmt.Errorf("write Metal3DataTemplate: %w", err)
	}
	return nil
}

// describe computes conditions and indexes of the template from the facts.
func describe(s *scope) {
	capiconditions.Set(s.template, conditions.Paused(s.template))
	if s.paused() {
		return
	}
	s.template.Status.Indexes = indexMap(s.data)
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

// indexMap lists which claim holds which index, lowest first.
func indexMap(data []infrav1.Metal3Data) []infrav1.DataIndex {
	var held []infrav1.DataIndex
	for i := range data {
		if claim := nameOf(data[i].Spec.Claim); claim != "" {
			held = append(held, infrav1.DataIndex{Index: ptr.To(ptr.Deref(data[i].Spec.Index, 0)), Name: claim})
		}
	}
	slices.SortFunc(held, func(a, b infrav1.DataIndex) int { return cmp.Compare(*a.Index, *b.Index) })
	return held[:min(len(held), maxIndexes)]
}

func setReady(object capiconditions.Setter, status metav1.ConditionStatus, reason, message string) {
	capiconditions.Set(object, metav1.Condition{Type: infrav1.ReadyCondition, Status: status, Reason: reason, Message: message})
}

// cut keeps a message within the limit of the API.
func cut(message string) string {
	return text.Cut(message, maxMessage)
}
