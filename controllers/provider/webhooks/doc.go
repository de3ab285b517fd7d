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

// Package webhooks holds the admission webhooks of the provider manager. There
// is one only where CEL cannot see what it takes: a default that depends on
// another field, references between lists, the namespace and the annotations of
// an object, maps of any size, and whether a request is only a rehearsal.
// Decisions are pure functions of an object before and after; nothing is read
// from the API server.
package webhooks
