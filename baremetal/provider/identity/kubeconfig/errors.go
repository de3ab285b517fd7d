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

package kubeconfig

import (
	"fmt"
	"strings"
)

// InvalidError is a kubeconfig that lacks something or contradicts itself. Its text
// holds no part of a credential.
type InvalidError struct {
	// Problem is what is wrong, Remedy what to write instead.
	Problem, Remedy string
}

// Error names the problem and the remedy.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("kubeconfig: %s: %s", e.Problem, e.Remedy)
}

// ContextError is a kubeconfig without the context that is asked for.
type ContextError struct {
	// Name of the context; empty if the kubeconfig has no current context.
	Name string
}

// Error names the context and the remedy.
func (e *ContextError) Error() string {
	if e.Name == "" {
		return "kubeconfig: no context is current: set current-context, or name a context in identityRef.context"
	}
	return fmt.Sprintf("kubeconfig: there is no context %s: name one that the file has", quote(e.Name))
}

// quote shows a name of a kubeconfig in a message, without characters that could
// pass for something else, and cut where it is too long.
func quote(name string) string {
	const longest = 64
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "..."
	}
	return fmt.Sprintf("%+q", name)
}

// inBrackets shows a name in the path of a field: as it is where it is plain.
func inBrackets(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@"
	if quoted := quote(name); name == "" || strings.Trim(name, plain) != "" || len(quoted) > len(name)+len(`""`) {
		return quoted
	}
	return name
}
