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

package selection

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Criteria are the wishes of one claim, parsed. The zero value fits every free
// host.
type Criteria struct {
	requirements []requirement
	inNamespace  string

	failureDomain string
	// soft makes failureDomain a preference instead of a condition.
	soft bool
}

// requirement is one condition on the labels of a host.
type requirement struct {
	parsed labels.Requirement
	// lack says in an explanation what a host lacks: "without label rack=a1".
	lack string
}

// InvalidError is a selector that cannot be understood. Only its author can
// mend it.
type InvalidError struct {
	// Field is the path in the claim, Problem what is wrong there.
	Field, Problem string
}

// Error names field and problem.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s is invalid: %s", e.Field, e.Problem)
}

// spellings maps what the API accepts as operator, in lower case, to what the
// label library calls it.
var spellings = map[string]operators.Operator{
	"in":           operators.In,
	"notin":        operators.NotIn,
	"exists":       operators.Exists,
	"!":            operators.DoesNotExist,
	"doesnotexist": operators.DoesNotExist,
	"=":            operators.Equals,
	"==":           operators.DoubleEquals,
	"!=":           operators.NotEquals,
	"gt":           operators.GreaterThan,
	">":            operators.GreaterThan,
	"lt":           operators.LessThan,
	"<":            operators.LessThan,
}

// Parse reads the wishes of a claim. Its errors are InvalidErrors, joined. A
// selector that is too large is turned down before its parts are looked at.
func Parse(claim *bmov1alpha1.HostClaim) (Criteria, error) {
	selector := claim.Spec.HostSelector
	if err := tooMany(selector); err != nil {
		return Criteria{}, err
	}
	c := Criteria{
		inNamespace:   selector.InNamespace,
		failureDomain: claim.Spec.FailureDomain,
		soft:          claim.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
	faults := []error{
		notNamespace(c.inNamespace),
		tooLong("spec.failureDomain", c.failureDomain, maxDomainLength),
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		faults = append(faults, c.addLabel(key, selector.MatchLabels[key]))
	}
	for i, e := range selector.MatchExpressions {
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
	return c.add(field, key, operators.Equals, []string{value})
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

func (c *Criteria) add(field, key string, op operators.Operator, values []string) error {
	parsed, err := labels.NewRequirement(key, op, values)
	if err != nil {
		return &InvalidError{Field: field, Problem: err.Error()}
	}
	c.requirements = append(c.requirements, requirement{parsed: *parsed, lack: lack(parsed)})
	return nil
}

// lack words what a host lacks that does not meet a requirement.
func lack(r *labels.Requirement) string {
	switch r.Operator() {
	case operators.Equals, operators.DoubleEquals, operators.Exists:
		return "without label " + r.String()
	case operators.DoesNotExist:
		return "with label " + r.Key()
	default:
		return "not matching " + r.String()
	}
}

// Namespaces narrows the namespaces that policy admits to those that the claim
// accepts. The order is kept.
func (c Criteria) Namespaces(admitted []string) []string {
	if c.inNamespace == "" {
		return admitted
	}
	if slices.Contains(admitted, c.inNamespace) {
		return []string{c.inNamespace}
	}
	return nil
}

// InNamespace is the one namespace that the claim accepts; empty means any.
func (c Criteria) InNamespace() string {
	return c.inNamespace
}
