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

package progress

import "context"

// Step is one step of a pass over an object. It writes what it finds into the scope,
// and returns how it ended.
type Step[Scope any] func(ctx context.Context, s Scope) Outcome

// Rule says after which outcome of a step the steps behind it are left out.
type Rule int

const (
	// UntilError leaves out what follows a step that failed. Steps behind one that
	// waits are carried out: they see in the scope what is missing.
	UntilError Rule = iota
	// UntilWait leaves out what follows a step that waits or failed.
	UntilWait
	// ToTheEnd carries out all steps, whatever becomes of each.
	ToTheEnd
)

// Run carries out the steps in order, and joins their outcomes.
func Run[Scope any](ctx context.Context, s Scope, rule Rule, steps ...Step[Scope]) Outcome {
	var all Outcome
	for _, step := range steps {
		out := step(ctx, s)
		all = all.And(out)
		if rule.ends(out) {
			break
		}
	}
	return all
}

func (r Rule) ends(out Outcome) bool {
	switch r {
	case UntilError:
		return out.Err() != nil
	case UntilWait:
		return !out.Done()
	case ToTheEnd:
		return false
	default:
		return true
	}
}
