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

// Package ippool decides which address pools a data template asks, and what follows
// from their answers.
//
// Its inputs are a template with the facts of one machine, and the claim and
// address objects of the two address management APIs. It returns the pools,
// the claims to be applied and the answers in one common form. It never talks
// to a pool.
package ippool
