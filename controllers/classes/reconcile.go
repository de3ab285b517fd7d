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

// Package classes accepts the HostClaimClasses of a controller, and reads what it needs to judge a claim by its class.
// What a class means is decided by baremetal/hostclass.
package classes

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
)

// +kubebuilder:rbac:groups=hostclaim.metal3.io,resources=hostclaimclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=hostclaim.metal3.io,resources=hostclaimclasses/status,verbs=get;patch

// Reconciler reports whether a controller answers the claims of a class.
type Reconciler struct {
	// Client reads from a cache, and writes as the field owner of the manager.
	Client     client.Client
	Controller hostclass.Controller
}

// SetupWithManager has each change of a class's spec or conditions wake it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("hostclaimclass").
		For(&hostclaimv1.HostClaimClass{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{RateLimiter: queue.Limiter()}).
		Complete(r)
}

// Reconcile writes the condition Accepted of a class of the controller.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	class := &hostclaimv1.HostClaimClass{}
	if err := r.Client.Get(ctx, req.NamespacedName, class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if class.Spec.ControllerName != r.Controller.Name || !class.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	before := class.DeepCopy()
	meta.SetStatusCondition(&class.Status.Conditions, r.Controller.Accept(class))
	if equality.Semantic.DeepEqual(before.Status, class.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, r.Client.Status().Patch(ctx, class, patch.Locked(before))
}
