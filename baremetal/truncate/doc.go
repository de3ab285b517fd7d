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

// Package truncate bounds the texts that are shown to users.
//
// Its inputs are findings, names and texts of any number and length, which tenants and
// remote clusters may have written. An answer is read by a person and is kept in memory
// several times on its way there, so it ends early, and says that it does. Findings come
// as sequences, so that what is not shown is not computed. The package keeps the order:
// what comes first is shown.
package truncate
