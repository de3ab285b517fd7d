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

// Package history shows controllers a namespace as it was, while they write to it
// as it is: what a cache that is behind, a leader that was replaced, or a writer
// that slept sees of a real API server.
//
// A History notes what the API server lists after every write that goes through
// it, so a test that writes in no other way knows at each step what there is. A
// View is the cache of one controller: of each kind it shows a moment, chosen at
// random, and never goes back. Faults are what happens to its requests. All is
// played by one goroutine, so a seed plays the same again. Nothing here answers in
// place of the API server.
package history
