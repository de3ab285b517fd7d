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

package webhooks

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// change is a request to create or update an object.
type change[T client.Object] struct {
	// before is the object as it is stored; meaningless when it is created.
	before T
	// after is the object as it would be.
	after   T
	created bool
	// rehearsed is set for a dry run of Cluster API's topology controller, whose write never
	// follows.
	rehearsed bool
}

// validator refuses, in a few words, what the rules of one kind find wrong. Rules of an update look
// at what it changes only: what is stored already holds up nothing else.
type validator[T client.Object] struct {
	kind string
	// problems lists what is wrong with a change.
	problems func(change[T]) field.ErrorList
	// warnings lists what is accepted with a warning; nil for nothing.
	warnings func(change[T]) []string
}

// ValidateCreate refuses a new object with a problem.
func (v validator[T]) ValidateCreate(_ context.Context, object T) (admission.Warnings, error) {
	return v.answer(change[T]{after: object, created: true})
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
	return v.answer(change[T]{before: before, after: after, rehearsed: err == nil && topology.IsDryRunRequest(request, after)})
}

// ValidateDelete lets every object go; finalizers see to the rest.
func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (v validator[T]) answer(c change[T]) (admission.Warnings, error) {
	var warnings admission.Warnings
	if v.warnings != nil {
		warnings = v.warnings(c)
	}
	if problems := text.Problems(slices.Values(v.problems(c))); len(problems) > 0 {
		return warnings, apierrors.NewInvalid(infrav1.GroupVersion.WithKind(v.kind).GroupKind(), c.after.GetName(), problems)
	}
	return warnings, nil
}
