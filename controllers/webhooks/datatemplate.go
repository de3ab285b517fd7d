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
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// DataTemplate validates Metal3DataTemplates.
type DataTemplate struct{}

// ValidateCreate refuses a template that could be rendered for no machine.
func (DataTemplate) ValidateCreate(_ context.Context, template *infrav1.Metal3DataTemplate) (admission.Warnings, error) {
	return warnings(template.Spec), refuse(template)
}

// ValidateUpdate does the same, unless nothing of it has changed or the template
// is on its way out: a finalizer must come off whatever the rules are by then.
func (DataTemplate) ValidateUpdate(_ context.Context, old, template *infrav1.Metal3DataTemplate) (admission.Warnings, error) {
	if !template.DeletionTimestamp.IsZero() || reflect.DeepEqual(old.Spec, template.Spec) {
		return nil, nil
	}
	return warnings(template.Spec), refuse(template)
}

// ValidateDelete allows every deletion; the finalizer sees to the rest.
func (DataTemplate) ValidateDelete(context.Context, *infrav1.Metal3DataTemplate) (admission.Warnings, error) {
	return nil, nil
}

func warnings(spec infrav1.Metal3DataTemplateSpec) admission.Warnings {
	if ptr.Deref(spec.ClusterName, "") == "" { //nolint:staticcheck // the warning is about its use
		return nil
	}
	return admission.Warnings{"spec.clusterName is not used any more: leave it out"}
}

func refuse(template *infrav1.Metal3DataTemplate) error {
	problems := templateProblems(template.Spec, field.NewPath("spec"))
	if len(problems) == 0 {
		return nil
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind("Metal3DataTemplate").GroupKind(), template.Name, problems)
}
