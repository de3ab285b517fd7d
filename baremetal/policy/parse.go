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

package policy

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// InvalidError is a policy that cannot be understood and is therefore skipped.
type InvalidError struct {
	// Namespace and Name are those of the policy.
	Namespace, Name string
	// Field is the path of the field or annotation at fault.
	Field string
	// Value is its value, cut where it is long.
	Value string
	// Problem is what is wrong with the value.
	Problem string
	// Remedy is what the author of the policy should do.
	Remedy string
}

// Error names policy, field, problem and remedy in one sentence.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("HostDeployPolicy %s/%s admits nobody, since %s: %s", e.Namespace, e.Name, e.Cause(), e.Remedy)
}

// Cause names field, value and problem, for a reader who knows which policy it
// is about.
func (e *InvalidError) Cause() string {
	return fmt.Sprintf("%s %q is invalid (%s)", e.Field, e.Value, e.Problem)
}

// Validate returns nil for a policy that can be used, and otherwise one
// InvalidError for each field and annotation at fault, joined.
func Validate(p *bmov1alpha1.HostDeployPolicy) error {
	return Compile(p).Err()
}

// Compiled is one version of a policy with its regular expressions compiled, which
// costs far more than to evaluate them. It never changes.
type Compiled struct {
	rule rule
	err  error
}

// Compile compiles a policy. It keeps the policy, which must not be changed afterwards.
func Compile(p *bmov1alpha1.HostDeployPolicy) *Compiled {
	r, err := parse(p)
	return &Compiled{rule: r, err: err}
}

// Err is nil for a policy that can be used, see Validate.
func (c *Compiled) Err() error {
	return c.err
}

// rule is a policy with its regular expressions compiled.
type rule struct {
	policy *bmov1alpha1.HostDeployPolicy

	// nil when the policy has none.
	nameMatches *expression
	// nil when the annotation is absent.
	publishLabels, publishAnnotations, allowedImageURLs *expression

	allowCustomDeploy, allowSkipCleaning, allowUnhealthyMark, sharePreprovisioning bool
}

// maxValue is how many bytes of a value and of a problem an InvalidError keeps.
const maxValue = 256

const (
	regexpRemedy = "write a regular expression in RE2 syntax, or remove it"
	boolRemedy   = `write "true" or "false", or remove it`
)

// parse compiles a policy. Every fault is reported, not only the first.
func parse(p *bmov1alpha1.HostDeployPolicy) (rule, error) {
	r := rule{policy: p}
	var faults []error
	invalid := func(field, value, problem, remedy string) {
		faults = append(faults, &InvalidError{
			Namespace: p.Namespace, Name: p.Name, Field: field, Value: text.Shorten(value, maxValue),
			Problem: text.Shorten(problem, maxValue), Remedy: remedy,
		})
	}
	expressionOf := func(field, value string) *expression {
		compiled, problem := compile(value)
		if problem != "" {
			invalid(field, value, problem, regexpRemedy)
		}
		return compiled
	}
	annotation := func(key string) *expression {
		value, found := p.Annotations[key]
		if !found {
			return nil
		}
		return expressionOf("annotation "+key, value)
	}
	flag := func(key string) bool {
		value, found := p.Annotations[key]
		if found && value != "true" && value != "false" {
			invalid("annotation "+key, value, "neither true nor false", boolRemedy)
		}
		return value == "true"
	}

	if c := p.Spec.HostClaimNamespaces; c != nil && c.NameMatches != "" {
		r.nameMatches = expressionOf("spec.hostClaimNamespaces.nameMatches", c.NameMatches)
	}
	r.publishLabels = annotation(infrav1.PublishLabelsAnnotation)
	r.publishAnnotations = annotation(infrav1.PublishAnnotationsAnnotation)
	r.allowedImageURLs = annotation(infrav1.AllowedImageURLsAnnotation)
	r.allowCustomDeploy = flag(infrav1.AllowCustomDeployAnnotation)
	r.allowSkipCleaning = flag(infrav1.AllowSkipCleaningAnnotation)
	r.allowUnhealthyMark = flag(infrav1.AllowUnhealthyMarkAnnotation)
	r.sharePreprovisioning = flag(infrav1.SharePreprovisioningNetworkDataAnnotation)
	return r, errors.Join(faults...)
}

// Bounds of one regular expression. A few bytes of text can compile to gigabytes, and
// every pass of every claim evaluates every policy.
const (
	// maxLength is how many bytes an expression may have.
	maxLength = 2048
	// maxSize is how many instructions it may compile to: about 100 KiB, and a name of
	// 63 bytes is matched in a millisecond.
	maxSize = 2000
	// runesPerInstruction is how many runes of a class take the memory of an instruction.
	runesPerInstruction = 10
	// frame are the instructions that every program has besides those of its expression.
	frame = 2
)

// expression is a regular expression that prefers the longest match. It is not
// wrapped in anchors, since a text like "a)|(b" would break out of them.
type expression struct {
	longest *regexp.Regexp
}

// matchesWhole reports whether the expression matches all of value. A match of the
// whole starts at the left end, so the leftmost longest match is it.
func (e *expression) matchesWhole(value string) bool {
	at := e.longest.FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// matchesPart reports whether the expression is found somewhere in value.
func (e *expression) matchesPart(value string) bool {
	return e.longest.MatchString(value)
}

// compile returns an expression, or what is wrong with its text. Length and size are
// checked before anything is compiled.
func compile(text string) (compiled *expression, problem string) {
	if len(text) > maxLength {
		return nil, fmt.Sprintf("it has %d bytes and at most %d are accepted: shorten it, or split it over several policies", len(text), maxLength)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err.Error()
	}
	if needed := size(parsed) + frame; needed > maxSize {
		return nil, fmt.Sprintf("it compiles to about %d instructions and at most %d are accepted: repeat less, or split it over several policies", needed, maxSize)
	}
	longest, err := regexp.Compile(text)
	if err != nil {
		return nil, err.Error()
	}
	longest.Longest()
	return &expression{longest}, ""
}

// size is an upper bound of the instructions that a parsed expression compiles to. The
// parser has bounded the product of nested repetitions, so it cannot overflow.
func size(re *syntax.Regexp) int {
	inner := 0
	for _, sub := range re.Sub {
		inner += size(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return max(1, len(re.Rune))
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/runesPerInstruction
	case syntax.OpRepeat:
		// Each copy brings at most one choice, an open end two instructions.
		copies := max(1, re.Min, re.Max)
		return (inner+1)*copies + frame
	default:
		// Concatenation, alternatives, groups and the operators *, + and ?.
		return inner + max(frame, len(re.Sub))
	}
}

// options are the annotations of a HostDeployPolicy that parse reads.
var options = [...]string{
	infrav1.PublishLabelsAnnotation,
	infrav1.PublishAnnotationsAnnotation,
	infrav1.AllowedImageURLsAnnotation,
	infrav1.AllowCustomDeployAnnotation,
	infrav1.AllowSkipCleaningAnnotation,
	infrav1.AllowUnhealthyMarkAnnotation,
	infrav1.SharePreprovisioningNetworkDataAnnotation,
}

// optionPrefix begins the key of every option.
const optionPrefix = "hostclaim.metal3.io/"

// UnknownOptions returns a sentence for each annotation and label of a policy that has the prefix
// of options and is none, sorted by key. Such a policy is valid: it may be written for a later
// version, so it is reported to the author and not refused.
func UnknownOptions(p *bmov1alpha1.HostDeployPolicy) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		if strings.HasPrefix(key, optionPrefix) && !slices.Contains(options[:], key) {
			out = append(out, fmt.Sprintf("annotation %s is no option of a HostDeployPolicy and has no effect; did you mean %s?",
				key, nearest(key)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if strings.HasPrefix(key, optionPrefix) {
			out = append(out, fmt.Sprintf("label %s has no effect, since options of a HostDeployPolicy are annotations; "+
				"did you mean annotation %s?", key, nearest(key)))
		}
	}
	return out
}

// nearest returns the option that takes the fewest changes to write instead of key.
func nearest(key string) string {
	return slices.MinFunc(options[:], func(a, b string) int { return distance(key, a) - distance(key, b) })
}

// distance counts the bytes that have to be added, removed or replaced to make one
// text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the beginning of a so far: the distance to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
