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

// Package indexes allocates the indexes of a data template to the claims on it.
//
// Its inputs are the claims on one template and the Metal3Data that exist for
// it. The result is the same for the same input in any order: an index is never
// given twice, one that is held is never changed, and a new one is the lowest
// that is free. Two controllers with different views cannot create the same index
// twice, because the name of a Metal3Data follows from template and index.
package indexes
