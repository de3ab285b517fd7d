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

// Package truncate answers one question: how much of what is wrong is told?
//
// Its inputs are findings, names and texts, all of which somebody else may have
// written, in any number and length. An answer is read by a person and is kept in
// memory several times on its way there, so it ends early, and says that it does.
// Findings come as sequences, so that what is not told is not even looked for.
// Nothing is ranked here: what comes first is told.
package truncate
