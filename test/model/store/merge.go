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

package store

import "maps"

// merge applies a JSON merge patch (RFC 7386): null deletes, maps are merged,
// everything else is replaced. Neither argument is changed, and the answer may
// share parts with both.
func merge(target any, patch map[string]any) map[string]any {
	out := map[string]any{}
	if object, ok := target.(map[string]any); ok {
		maps.Copy(out, object)
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			out[key] = merge(out[key], value)
		default:
			out[key] = value
		}
	}
	return out
}
