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
	"unicode/utf8"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

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
	// Lack names in an explanation what a host lacks: "without label rack=a1".
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

// Parse reads the hostSelector and the failure domain of a claim. Its errors are
// InvalidErrors, joined. A selector with too many requirements is refused before
// they are parsed, so that its size costs nothing.
func Parse(claim *bmov1alpha1.HostClaim) (Criteria, error) {
	wanted := claim.Spec.HostSelector
	if err := tooMany(wanted); err != nil {
		return Criteria{}, errors.Join(err)
	}
	c := Criteria{
		InNamespace:   wanted.InNamespace,
		FailureDomain: claim.Spec.FailureDomain,
		Soft:          claim.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
	faults := []error{tooLong("spec.failureDomain", c.FailureDomain, maxDomainLength)}
	if problems := validation.IsDNS1123Label(c.InNamespace); c.InNamespace != "" && len(problems) > 0 {
		faults = append(faults, &InvalidError{Field: "spec.hostSelector.inNamespace", Problem: fmt.Sprintf(
			"%.80q is no name of a namespace: %s", c.InNamespace, strings.Join(problems, "; "))})
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.MatchLabels)) {
		faults = append(faults, c.add("spec.hostSelector.matchLabels",
			bmov1alpha1.HostSelectorRequirement{Key: key, Operator: operators.Equals, Values: []string{wanted.MatchLabels[key]}}))
	}
	for i, e := range wanted.MatchExpressions {
		faults = append(faults, c.add(fmt.Sprintf("spec.hostSelector.matchExpressions[%d]", i), e))
	}
	return c, errors.Join(faults...)
}

// add adds one requirement; field is its path.
func (c *Criteria) add(field string, e bmov1alpha1.HostSelectorRequirement) error {
	for _, part := range append([]string{e.Key, string(e.Operator)}, e.Values...) {
		if err := tooLong(field, part, maxPartLength); err != nil {
			return err
		}
	}
	op, known := spellings[strings.ToLower(string(e.Operator))]
	if !known {
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"operator %q is none of in, notin, exists, !, =, ==, !=, gt, lt", e.Operator)}
	}
	parsed, err := labels.NewRequirement(e.Key, op, e.Values)
	if err != nil {
		return &InvalidError{Field: field, Problem: err.Error()}
	}
	c.Requirements = append(c.Requirements, Requirement{Requirement: *parsed, Lack: lack(parsed)})
	return nil
}

// portable are the operators that the webhook of baremetal-operator 0.14 takes, in exactly this spelling.
var portable = [...]operators.Operator{
	operators.In, operators.NotIn, operators.Exists, operators.DoesNotExist, operators.Equals, operators.DoubleEquals, operators.NotEquals,
}

// CheckNew returns why a new claim is refused: what Parse returns, or an error for each operator that Parse
// understands and baremetal-operator 0.14 does not. Its errors are InvalidErrors, joined.
func CheckNew(claim *bmov1alpha1.HostClaim) error {
	if _, err := Parse(claim); err != nil {
		return err
	}
	var faults []error
	for i, e := range claim.Spec.HostSelector.MatchExpressions {
		parsed, known := spellings[strings.ToLower(string(e.Operator))]
		if !known || slices.Contains(portable[:], e.Operator) {
			continue
		}
		fault := &InvalidError{Field: fmt.Sprintf("spec.hostSelector.matchExpressions[%d]", i)}
		if slices.Contains(portable[:], parsed) {
			fault.Problem = fmt.Sprintf("operator %q is spelled %q in a claim", e.Operator, parsed)
		} else {
			fault.Problem = fmt.Sprintf(
				"operator %q is not one that a HostClaim may have; label the hosts by class, as size=large, and compare by in or =", e.Operator)
		}
		faults = append(faults, fault)
	}
	return errors.Join(faults...)
}

// lack is the text that explains why a host does not meet a requirement.
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
	if c.InNamespace == "" {
		return admitted
	}
	if slices.Contains(admitted, c.InNamespace) {
		return []string{c.InNamespace}
	}
	return nil
}

// Limits of what a claim may ask for. A tenant writes the selector, and comparing it
// with hosts takes time from all tenants, so its cost is bounded: the largest one takes about a
// microsecond for a host, of which each waiting claim costs as much when it becomes free.
const (
	// maxRequirements bounds matchLabels and matchExpressions together.
	maxRequirements = 32
	// maxValues bounds the values of all requirements together.
	maxValues = 128
	// maxPartLength is that of the longest key of a label: a prefix, a slash and a name. The label library
	// knows the limits of each part, and repeats what passes them.
	maxPartLength = validation.DNS1123SubdomainMaxLength + 1 + validation.LabelValueMaxLength
	// maxDomainLength is what Cluster API allows.
	maxDomainLength = 256
)

// tooMany refuses a selector with more requirements or values than are looked at.
func tooMany(selector bmov1alpha1.HostSelector) error {
	requirements, values := len(selector.MatchLabels)+len(selector.MatchExpressions), len(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		values += len(e.Values)
	}
	const field, remedy = "spec.hostSelector", "ask for a label that the hosts have in common"
	switch {
	case requirements > maxRequirements:
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"it has %d requirements, matchLabels and matchExpressions together; at most %d are allowed: %s", requirements, maxRequirements, remedy)}
	case values > maxValues:
		return &InvalidError{Field: field, Problem: fmt.Sprintf(
			"it has %d values in all; at most %d are allowed: %s", values, maxValues, remedy)}
	}
	return nil
}

// tooLong refuses a text that exceeds its limit, without repeating it.
func tooLong(field, text string, limit int) error {
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return nil
	}
	return &InvalidError{Field: field, Problem: fmt.Sprintf("it has %d characters; at most %d are allowed", n, limit)}
}
