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

// Package data renders the documents that a data template asks for, for one
// machine.
//
// Its inputs are a template and the facts of the machine, addresses included. The
// controller of Metal3Data and the preview in hack/render both use it, so
// that the preview shows what a server gets. It writes no secret and asks no pool.
package data
