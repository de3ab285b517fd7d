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
	"fmt"
	"regexp"
	"regexp/syntax"
)

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

// matchesWhole says that the expression matches all of value. A match of the
// whole starts at the left end, so the leftmost longest match is it.
func (e *expression) matchesWhole(value string) bool {
	at := e.longest.FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// matchesPart says that the expression is found somewhere in value.
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
