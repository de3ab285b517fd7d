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

// Package store answers as an API server does, from memory: resource versions
// and optimistic locks, JSON merge patches, the status apart from the rest,
// finalizers and deletion, preconditions, pages of lists.
//
// It knows the few kinds that the hostclaim manager touches, and every change
// is an Event of a Log, from which any number of caches follow at their own
// pace. Another Backend puts a real API server in its place, with the same log;
// package conformance holds both to the same answers. Nothing here runs on its
// own: time stands still between requests. Fields are not validated.
package store
