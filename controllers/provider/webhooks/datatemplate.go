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
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
)

// dataTemplateValidator refuses templates that could be rendered for no machine.
func dataTemplateValidator() validator[*infrav1.Metal3DataTemplate] {
	return validator[*infrav1.Metal3DataTemplate]{
		kind: "Metal3DataTemplate",
		problems: func(c change[*infrav1.Metal3DataTemplate]) field.ErrorList {
			if !c.created && reflect.DeepEqual(c.before.Spec, c.after.Spec) {
				return nil
			}
			return templatecheck.Problems(c.after.Spec, field.NewPath("spec"))
		},
		warnings: func(c change[*infrav1.Metal3DataTemplate]) []string {
			if !c.created && reflect.DeepEqual(c.before.Spec, c.after.Spec) {
				return nil
			}
			return templatecheck.Warnings(c.after.Spec, field.NewPath("spec"))
		},
	}
}
