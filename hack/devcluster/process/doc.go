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

// Package process runs the programs of a dev cluster and ends them again.
//
// Every program gets a session of its own, so that it outlives the command that
// started it and no Ctrl-C of a terminal reaches it, and one log file. The state
// folder records how each was started, and the kernel's start time, because its pid
// may be given to another program later.
//
// It starts a program again only when it is asked to, and knows nothing of what the
// programs do.
package process
