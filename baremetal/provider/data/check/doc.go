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

// Package check finds mistakes of a Metal3DataTemplate that do not depend on the
// machine and that its schema and CEL rules cannot see.
//
// Schema and CEL look at one field, or at one item of a list. These are the rules
// between items: links that others rest on, ids and names that must be unique,
// pools of one name. The input is the spec alone. The webhook of the provider
// manager refuses by these rules, and the preview (hack/render) repeats them.
// Nothing is rendered here, and neither hosts nor pools are asked.
package check
