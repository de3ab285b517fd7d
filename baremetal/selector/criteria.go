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

package selector

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Criteria is what one claim asks of its host, parsed. The zero value fits every
// free host.
type Criteria struct {
	// Requirements are conditions on the labels of the host; all must hold.
	Requirements []Requirement
	// InNamespace is the one namespace that the claim accepts; empty means any.
	InNamespace string
	// FailureDomain is the failure domain that the host must have; empty means any.
	FailureDomain string
	// Soft makes FailureDomain a preference instead of a condition.
	Soft bool
}

// Requirement is one condition on the labels of a host.
type Requirement struct {
	labels.Requirement
	// Lack says in an explanation what a host lacks: "without label rack=a1".
	Lack string
}

// InvalidError is a selector that cannot be understood. Only its author can
// correct it.
type InvalidError struct {
	// Field is the path in the claim, Problem what is wrong there.
	Field, Problem string
}

// Error names field and problem.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is invalid: %s", e.Field, e.Problem)
}

// spellings maps each operator that the API accepts, in lower case, to the one of
// the label library.
var spellings = map[string]selection.Operator{
	"in":           selection.In,
	"notin":        selection.NotIn,
	"exists":       selection.Exists,
	"!":            selection.DoesNotExist,
	"doesnotexist": selection.DoesNotExist,
	"=":            selection.Equals,
	"==":           selection.DoubleEquals,
	"!=":           selection.NotEquals,
	"gt":           selection.GreaterThan,
	">":            selection.GreaterThan,
	"lt":           selection.LessThan,
	"<":            selection.LessThan,
}

// Parse reads the hostSelector and the failure domain of a claim. Its errors are
// InvalidErrors, joined. A selector with too many requirements is refused before
// they are parsed, so that its size costs nothing.
func Parse(claim *bmov1alpha1.HostClaim) (Criteria, error) {
	wanted := claim.Spec.HostSelector
	if err := tooMany(wanted); err != nil {
		return Criteria{}, err
	}
	c := Criteria{
		InNamespace:   wanted.InNamespace,
		FailureDomain: claim.Spec.FailureDomain,
		Soft:          claim.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
	faults := []error{
		notNamespace(c.InNamespace),
		tooLong("spec.failureDomain", c.FailureDomain, maxDomainLength),
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.MatchLabels)) {
		faults = append(faults, c.addLabel(key, wanted.MatchLabels[key]))
	}
	for i, e := range wanted.MatchExpressions {
		faults = append(faults, c.addExpression(fmt.Sprintf("spec.hostSelector.matchExpressions[%d]", i), e))
	}
	return c, errors.Join(faults...)
}

// addLabel adds one entry of matchLabels.
func (c *Criteria) addLabel(key, value string) error {
	const field = "spec.hostSelector.matchLabels"
	if err := oversizedLabel(field, key, value); err != nil {
		return err
	}
	return c.add(field, key, selection.Equals, []string{value})
}

// addExpression adds one of the matchExpressions; field is its path.
func (c *Criteria) addExpression(field string, e bmov1alpha1.HostSelectorRequirement) error {
	if err := oversized(field, e); err != nil {
		return err
	}
	op, known := spellings[strings.ToLower(string(e.Operator))]
	if !known {
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"operator %q is none of in, notin, exists, !, =, ==, !=, gt, lt", e.Operator)}
	}
	return c.add(field, e.Key, op, e.Values)
}

func (c *Criteria) add(field, key string, op selection.Operator, values []string) error {
	parsed, err := labels.NewRequirement(key, op, values)
	if err != nil {
		return &InvalidError{Field: field, Problem: err.Error()}
	}
	c.Requirements = append(c.Requirements, Requirement{Requirement: *parsed, Lack: lack(parsed)})
	return nil
}

// lack is the text that explains why a host does not meet a requirement.
func lack(r *labels.Requirement) string {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.Exists:
		return "without label " + r.String()
	case selection.DoesNotExist:
		return "with label " + r.Key()
	default:
		return "not matching " + r.String()
	}
}

// Namespaces narrows the namespaces that policy admits to those that the claim
// accepts. The order is kept.
func (c Criteria) Namespaces(admitted []string) []string {
	if c.InNamespace == "" {
		return admitted
	}
	if slices.Contains(admitted, c.InNamespace) {
		return []string{c.InNamespace}
	}
	return nil
}
