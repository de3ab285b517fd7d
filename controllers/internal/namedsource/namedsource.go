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

package namedsource

import "sigs.k8s.io/controller-runtime/pkg/source"

// named is a source with a name.
type named struct {
	source.Source

	name string
}

// New returns the source under a name, which says in the log what its events are
// about. It is for sources that need no sync, such as functions and channels.
func New(name string, of source.Source) source.Source {
	return named{of, name}
}

// String is the name.
func (n named) String() string { return n.name }
