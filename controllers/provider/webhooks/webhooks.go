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

// Package webhooks holds the admission webhooks of the provider manager. There
// is one only where CEL cannot see what it takes: a default that depends on
// another field, references between lists, the namespace and the annotations of
// an object, maps of any size, and whether a request is only a rehearsal.
// What is refused is decided by pure functions of an object before and after.
// The conversion webhook is set up beside them; requests in v1beta1 come to the
// admission webhooks as v1beta2.
package webhooks

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/conversion"
)

// SetupWithManager registers all webhooks under the paths that
// config/webhook names.
func SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewWebhookManagedBy(mgr, &infrav1.Metal3Cluster{}).WithDefaulter(Cluster{}).WithValidator(clusterValidator(mgr.GetClient())).Complete()
	if err != nil {
		err = fmt.Errorf("webhook of Metal3Cluster: %w", err)
	}
	return errors.Join(err,
		validate(mgr, clusterTemplateValidator()),
		validate(mgr, machineValidator()),
		validate(mgr, machineTemplateValidator()),
		validate(mgr, dataTemplateValidator()),
		validate(mgr, dataClaimValidator()),
		conversion.SetupWithManager(mgr))
}

func validate[T client.Object](mgr ctrl.Manager, rules validator[T]) error {
	if err := ctrl.NewWebhookManagedBy(mgr, rules.empty).WithValidator(manager.SizeValidator[T]{Validator: rules}).Complete(); err != nil {
		return fmt.Errorf("webhook of %T: %w", rules.empty, err)
	}
	return nil
}

// change is a request to create or update an object.
type change[T client.Object] struct {
	// before is the object as it is stored; an empty one when it is created.
	before T
	// after is the object as it would be.
	after   T
	created bool
	// rehearsed is set for a dry run of Cluster API's topology controller, whose write never
	// follows.
	rehearsed bool
}

// validator refuses, in a few words, what the rules of one kind find wrong. Rules look at what a
// change makes different only: what is stored already holds up nothing else.
type validator[T client.Object] struct {
	empty T
	// problems lists what is wrong with a change.
	problems func(change[T]) field.ErrorList
	// warnings lists what is accepted with a warning; nil for nothing.
	warnings func(context.Context, change[T]) []string
}

// ValidateCreate refuses a new object with a problem.
func (v validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	return v.answer(ctx, change[T]{before: v.empty, after: object, created: true})
}

// ValidateUpdate refuses problems that an update brings in. An object that is being
// deleted may always be changed, or its finalizers could not be removed. There are no warnings of a spec when
// metadata alone are written: the API server has counted the generation when it asks about a spec.
func (v validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if after.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	if before.GetGeneration() > 0 && before.GetGeneration() == after.GetGeneration() {
		v.warnings = nil
	}
	request, err := admission.RequestFromContext(ctx)
	return v.answer(ctx, change[T]{before: before, after: after, rehearsed: err == nil && topology.IsDryRunRequest(request, after)})
}

// ValidateDelete lets every object go; finalizers see to the rest.
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (v validator[T]) answer(ctx context.Context, c change[T]) (admission.Warnings, error) {
	var warnings admission.Warnings
	if v.warnings != nil {
		warnings = v.warnings(ctx, c)
	}
	if problems := text.Problems(slices.Values(v.problems(c))); len(problems) > 0 {
		kind := infrav1.GroupVersion.WithKind(reflect.TypeOf(v.empty).Elem().Name())
		return warnings, apierrors.NewInvalid(kind.GroupKind(), c.after.GetName(), problems)
	}
	return warnings, nil
}
