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

package process

import (
	"os"
	"runtime/debug"
)

// garbagePercent is how much garbage there may be, in percent of what is in use. Most of a manager's
// memory are its caches, which stay, and collection is little of its processor time.
const garbagePercent = 80

// BoundGarbage has garbage collected earlier than Go does by itself, which is at 100 percent, unless
// the environment variable GOGC says when.
func BoundGarbage() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
}
