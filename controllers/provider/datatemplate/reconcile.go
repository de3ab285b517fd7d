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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// phase is one step of a pass.
type phase func(ctx context.Context, s *scope) progress.Outcome

// Reconcile brings the claims on one template a step closer to being answered.
// A template that does not exist has claims too: they are told so.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, found, err := r.load(ctx, req.NamespacedName)
	if err != nil || !found {
		return ctrl.Result{}, err
	}
	if s.template != nil && !s.paused() {
		if _, err := finalizers.EnsureFinalizer(ctx, r.Client, s.template, infrav1.DataTemplateFinalizer); err != nil {
			return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
		}
	}
	var out progress.Outcome
	for _, step := range r.phases(s) {
		out = out.And(step(ctx, s))
	}
	return out.Result(r.Clock.Now())
}

// phases lists the steps of this pass in order. Each looks at all claims; one
// claim that fails does not stop the others.
func (r *Reconciler) phases(s *scope) []phase {
	switch {
	case s.paused():
		return []phase{r.refuse, r.reportTemplate}
	case s.template == nil:
		return []phase{r.releaseClaims, r.releaseOrphans, r.refuse, r.repeat}
	default:
		return []phase{r.releaseClaims, r.releaseOrphans, r.allocate, r.refuse, r.repeat, r.reportTemplate, r.dropFinalizer}
	}
}

// dropFinalizer lets a deleted template go once no claim or data uses it any more.
func (r *Reconciler) dropFinalizer(ctx context.Context, s *scope) progress.Outcome {
	if s.template.DeletionTimestamp.IsZero() {
		return progress.Outcome{}
	}
	if len(s.claims) > 0 || len(s.data) > 0 {
		return progress.Waiting(infrav1.DeletingReason, "claims or data of the template are left")
	}
	return progress.Failed(r.removeFinalizers(ctx, s.template.DeepCopy(), infrav1.DataTemplateFinalizer))
}

// removeFinalizers takes finalizers off an object. Others write the same list:
// hence the lock. What they held must not go before they are off, so a conflict
// is told.
func (r *Reconciler) removeFinalizers(ctx context.Context, object client.Object, finalizers ...string) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	removed := false
	for _, finalizer := range finalizers {
		removed = controllerutil.RemoveFinalizer(object, finalizer) || removed
	}
	if !removed {
		return nil
	}
	err := r.Client.Patch(ctx, object, apply.Locked(before))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove finalizers of %s: %w", object.GetName(), err)
	}
	return nil
}
