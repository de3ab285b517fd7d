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
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// selectorProblems finds what the hostclaim manager would not understand of the
// claim that a machine with the selector makes. It is the same code.
func selectorProblems(wanted *infrav1.HostSelector, path *field.Path) field.ErrorList {
	_, err := selection.Parse(claims.Desired(claims.Wanted{Selector: wanted}))
	var problems field.ErrorList
	for _, fault := range all(err) {
		var invalid *selection.InvalidError
		if errors.As(fault, &invalid) {
			problems = append(problems, &field.Error{
				Type: field.ErrorTypeInvalid, BadValue: field.OmitValueType{},
				Field:  path.String() + strings.TrimPrefix(invalid.Field, "spec.hostSelector"),
				Detail: invalid.Problem + "; correct it, or leave it out to take any host",
			})
		}
	}
	return problems
}

// all takes joined errors apart.
func all(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
