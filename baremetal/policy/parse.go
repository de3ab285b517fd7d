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

// Compiled is one version of a policy with its regular expressions compiled, which
// costs far more than to evaluate them. It never changes.
type Compiled struct {
	policy *bmov1alpha1.HostDeployPolicy
	// nameMatches is nil when the policy has none.
	nameMatches *regexp.Regexp
	// expressions and flags are the options that the policy has, by annotation.
	expressions map[string]*regexp.Regexp
	flags       map[string]bool
	err         error
}

// Err is nil for a policy that can be used, and otherwise has one sentence for each field and annotation at
// fault, with its remedy.
func (c *Compiled) Err() error {
	return c.err
}

// maxValue is how many bytes of a value and of a problem an error repeats.
const maxValue = 256

const (
	regexpRemedy = "write a regular expression in RE2 syntax, or remove it"
	boolRemedy   = `write "true" or "false", or remove it`
)

// Compile compiles a policy. It keeps the policy, which must not be changed afterwards. Every fault is
// reported, not only the first.
func Compile(p *bmov1alpha1.HostDeployPolicy) *Compiled {
	c := &Compiled{policy: p, expressions: map[string]*regexp.Regexp{}, flags: map[string]bool{}}
	var faults []error
	invalid := func(field, value, problem, remedy string) {
		faults = append(faults, fmt.Errorf("HostDeployPolicy %s/%s admits nobody, since %s %q is invalid (%s): %s",
			p.Namespace, p.Name, field, text.Shorten(value, maxValue), text.Shorten(problem, maxValue), remedy))
	}
	expressionOf := func(field, value string) *regexp.Regexp {
		compiled, problem := compile(value)
		if problem != "" {
			invalid(field, value, problem, regexpRemedy)
		}
		return compiled
	}
	if n := p.Spec.HostClaimNamespaces; n != nil && n.NameMatches != "" {
		c.nameMatches = expressionOf("spec.hostClaimNamespaces.nameMatches", n.NameMatches)
	}
	for _, key := range expressionOptions {
		if value, found := p.Annotations[key]; found {
			c.expressions[key] = expressionOf("annotation "+key, value)
		}
	}
	for _, key := range flagOptions {
		value, found := p.Annotations[key]
		if found && value != "true" && value != "false" {
			invalid("annotation "+key, value, "neither true nor false", boolRemedy)
		}
		c.flags[key] = value == "true"
	}
	c.err = errors.Join(faults...)
	return c
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

// matchesWhole reports whether an expression matches all of value. A match of the whole starts at the left
// end, so the leftmost longest match is it. The expression is not wrapped in anchors, since a text like
// "a)|(b" would break out of them.
func matchesWhole(e *regexp.Regexp, value string) bool {
	at := e.FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// compile returns an expression that prefers the longest match, or what is wrong with its text. Length and
// size are checked before anything is compiled.
func compile(text string) (compiled *regexp.Regexp, problem string) {
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
	if compiled, err = regexp.Compile(text); err != nil {
		return nil, err.Error()
	}
	compiled.Longest()
	return compiled, ""
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

// expressionOptions and flagOptions are the annotations of a HostDeployPolicy that Compile reads.
var (
	expressionOptions = [...]string{
		infrav1.PublishLabelsAnnotation,
		infrav1.PublishAnnotationsAnnotation,
		infrav1.AllowedImageURLsAnnotation,
	}
	flagOptions = [...]string{
		infrav1.AllowCustomDeployAnnotation,
		infrav1.AllowSkipCleaningAnnotation,
		infrav1.AllowUnhealthyMarkAnnotation,
		infrav1.SharePreprovisioningNetworkDataAnnotation,
	}
)

// optionPrefix begins the key of every option.
const optionPrefix = "hostclaim.metal3.io/"

// UnknownOptions returns a sentence for each annotation and label of a policy that has the prefix
// of options and is none, sorted by key. Such a policy is valid: it may be written for a later
// version, so it is reported to the author and not refused.
func UnknownOptions(p *bmov1alpha1.HostDeployPolicy) []string {
	options := slices.Concat(expressionOptions[:], flagOptions[:])
	// nearest returns the option that takes the fewest changes to write instead of key.
	nearest := func(key string) string {
		return slices.MinFunc(options, func(a, b string) int { return distance(key, a) - distance(key, b) })
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		if strings.HasPrefix(key, optionPrefix) && !slices.Contains(options, key) {
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
