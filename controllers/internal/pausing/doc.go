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

// Package pausing computes the condition Paused of an object. An object is paused
// by its own annotation or by its Cluster, as in Cluster API, and the message of
// the condition names which of them has to change.
//
// The package writes nothing: a controller sets the condition in the status that
// it writes at the end of the pass, so that pausing costs no request of its own.
package pausing
