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
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/finalizers"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// phase is one step of a pass.
type phase = progress.Step[*scope]

// Reconcile brings the claims on one template a step closer to being answered.
// A template that does not exist has claims too: they are told so.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		r.stale.Forget(req.NamespacedName)
		r.reports.Forget(req.NamespacedName)
		r.made.forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if s.template != nil && !s.paused() {
		if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.template, infrav1.DataTemplateFinalizer); err != nil {
			return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
		}
	}
	return r.stale.Result(ctx, req.NamespacedName, progress.Run(ctx, s, progress.ToTheEnd, r.phases(s)...), r.Clock.Now())
}

// phases lists the steps of this pass in order. Each looks at all claims; one
// claim that fails does not stop the others.
func (r *Reconciler) phases(s *scope) []phase {
	release := releaseSteps{
		client: r.Client, live: r.Live, writtenClaims: &r.writtenClaims, writtenData: &r.writtenData, now: r.Clock.Now,
	}
	allocate := allocateSteps{client: r.Client, live: r.Live, atOnce: r.AtOnce, made: &r.made, clock: r.Clock}
	report := reportSteps{client: r.Client, clock: r.Clock, reports: &r.reports, holdFor: r.HoldReports}
	switch {
	case s.paused():
		return []phase{report.refuse, report.template}
	case s.template == nil:
		return []phase{release.claims, release.orphans, report.refuse, report.repeat}
	default:
		allocate.spec = s.template.Spec
		return []phase{
			release.claims, release.orphans, allocate.allocate, allocate.restore, report.refuse, report.repeat, report.template, release.template,
		}
	}
}
