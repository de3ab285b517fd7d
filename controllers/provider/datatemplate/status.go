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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/truncate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

const (
	// maxIndexes bounds status.indexes. The list is for people; no decision
	// depends on it, and a template serves more machines than that.
	maxIndexes = 512
	// maxMessage bounds status.errorMessage, and what is said about a template.
	maxMessage = 512
)

// reportSteps write what a pass found into the status of claims and template.
type reportSteps struct {
	client  client.Client
	clock   clock.PassiveClock
	reports *retry.Reports
	// holdFor is how long the list of indexes waits for more of them.
	holdFor time.Duration
}

// changes says whether an answer changes the status of a claim, which stays as it is.
func changes(claim *infrav1.Metal3DataClaim, change answer) bool {
	changed := *claim
	changed.Status.Conditions = slices.Clone(claim.Status.Conditions)
	change(&changed)
	return !reflect.DeepEqual(claim.Status, changed.Status)
}

// writeClaim writes the status of a claim if it changes, and returns the claim as it is
// afterwards. The one that is given stays as it is, and may be that of the cache.
func writeClaim(
	ctx context.Context, writer client.Client, claim *infrav1.Metal3DataClaim, change answer,
) (*infrav1.Metal3DataClaim, error) {
	if !changes(claim, change) {
		return claim, nil
	}
	changed := claim.DeepCopy()
	change(changed)
	return changed, patchClaim(ctx, writer, claim, changed)
}

// patchClaim writes the status of a claim. The resourceVersion makes a writer with
// an old copy fail; the copy is brought up to date.
func patchClaim(ctx context.Context, writer client.Client, before, claim *infrav1.Metal3DataClaim) error {
	err := writer.Status().Patch(ctx, claim, apply.Locked(before))
	if err := staleOr(err); err != nil {
		return fmt.Errorf("write status of Metal3DataClaim %s: %w", claim.Name, err)
	}
	return nil
}

// refuse tells the claims that get nothing why that is so.
func (r reportSteps) refuse(ctx context.Context, s *scope) progress.Outcome {
	var problems error
	for i := range s.claims {
		claim := &s.claims[i]
		if change := refusal(s, claim); change != nil {
			_, err := writeClaim(ctx, r.client, claim, change)
			problems = errors.Join(problems, err)
		}
	}
	return progress.Failed(problems)
}

// repeat tells the claims that have their Metal3Data what it says of itself.
func (r reportSteps) repeat(ctx context.Context, s *scope) progress.Outcome {
	answers := map[types.UID]*infrav1.Metal3Data{}
	for i := range s.data {
		answers[s.claimOf[s.data[i].UID]] = &s.data[i]
	}
	var problems error
	for i := range s.claims {
		claim := &s.claims[i]
		data, found := answers[claim.UID]
		if !found || !claim.DeletionTimestamp.IsZero() || s.suspended(claim) {
			continue
		}
		if change := repeated(claim, data); change != nil {
			_, err := writeClaim(ctx, r.client, claim, change)
			problems = errors.Join(problems, err)
		}
	}
	return progress.Failed(problems)
}

// template writes the status of the template if it changes. The list of indexes, which
// changes with each machine, is written once for those that come within holdFor.
func (r reportSteps) template(ctx context.Context, s *scope) progress.Outcome {
	before := s.template.DeepCopy()
	describe(s)
	if reflect.DeepEqual(before.Status, s.template.Status) {
		r.reports.Forget(s.key)
		return progress.Outcome{}
	}
	report := retry.Urgent
	if onlyIndexes(before.Status, s.template.Status) {
		report = retry.Transient
	}
	if until, held := r.reports.Hold(s.key, report, r.clock.Now(), r.holdFor); held {
		s.template.Status = before.Status
		return progress.Until(until, "", "")
	}
	s.template.Status.LastUpdated = ptr.To(metav1.NewTime(r.clock.Now()))
	err := r.client.Status().Patch(ctx, s.template, apply.Locked(before))
	if err := staleOr(err); err != nil {
		return progress.Failed(fmt.Errorf("write status of Metal3DataTemplate: %w", err))
	}
	return progress.Outcome{}
}

// onlyIndexes says that two statuses differ in nothing but the list of indexes.
func onlyIndexes(before, after infrav1.Metal3DataTemplateStatus) bool {
	before.Indexes = after.Indexes
	return reflect.DeepEqual(before, after)
}

// describe computes conditions and indexes of the template from the facts.
func describe(s *scope) {
	conditions.Set(s.template, pausing.Condition(s.template))
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

// cut keeps a message within the limit of the API.
func cut(message string) string {
	return truncate.Cut(message, maxMessage)
}
