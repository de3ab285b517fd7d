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

// Package components builds the programs of the dev cluster from Go modules.
//
// Programs of others come from the small modules in the folders below,
// which pin them by go.mod and go.sum, and are kept in bin/components under
// their version: what is there is not built again. Our own are built every time,
// which the compiler's cache makes cheap.
//
// It never downloads a finished program and never changes a go.mod.
package components
