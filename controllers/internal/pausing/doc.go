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

// Package pausing answers one question: what does the condition Paused of an
// object say? An object is paused by its own annotation or by its Cluster, as
// Cluster API has it, and the condition names which of them has to change.
//
// It takes the object and the Cluster that holds it back, and writes nothing: a
// controller puts the condition into the status that it writes anyway. Those who
// write Paused on its own use Cluster API's util/paused.
package pausing
