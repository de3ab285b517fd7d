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

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
)

// dataTemplateValidator refuses templates that could be rendered for no machine.
func dataTemplateValidator() validator[*infrav1.Metal3DataTemplate] {
	return validator[*infrav1.Metal3DataTemplate]{
		empty: &infrav1.Metal3DataTemplate{},
		problems: func(c change[*infrav1.Metal3DataTemplate]) field.ErrorList {
			if reflect.DeepEqual(c.before.Spec, c.after.Spec) {
				return nil
			}
			return templatecheck.Problems(c.after.Spec, field.NewPath("spec"))
		},
		warnings: func(_ context.Context, c change[*infrav1.Metal3DataTemplate]) []string {
			return templatecheck.Warnings(c.after.Spec, field.NewPath("spec"))
		},
	}
}

// dataClaimValidator refuses claims on templates of other namespaces.
func dataClaimValidator() validator[*infrav1.Metal3DataClaim] {
	template := func(claim *infrav1.Metal3DataClaim) []reference {
		return []reference{{field.NewPath("spec", "template"), namespaceOf(claim.Spec.Template), "templates"}}
	}
	return validator[*infrav1.Metal3DataClaim]{
		empty: &infrav1.Metal3DataClaim{},
		problems: func(c change[*infrav1.Metal3DataClaim]) field.ErrorList {
			return foreign(c.after.Namespace, template(c.before), template(c.after))
		},
	}
}
