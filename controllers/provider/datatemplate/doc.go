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

// Package datatemplate answers the Metal3DataClaims on a Metal3DataTemplate:
// each claim gets an index and a Metal3Data of the name <template>-<index>, and
// a claim that is deleted and no longer held by its machine loses them.
//
//	claim ─▶ finalizer ─▶ index reserved in the claim's status ─▶ Metal3Data created
//
// The reservation is written with the claim's resourceVersion and the name of
// the Metal3Data follows from the index, so a claim never gets two and an index
// is never given twice, however stale the cache is. Which index it is, is
// decided by baremetal/provider/data/indexes. This package renders nothing.
package datatemplate
