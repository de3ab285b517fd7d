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

// Command render shows what a Metal3DataTemplate makes of a machine before any
// server boots:
//
//	go run ./hack/render --template f.yaml --hardware hd.yaml --machine m.yaml
//
// It reads the template, the HardwareData of a host and a Metal3Machine from
// files, checks the template as the API server and the webhook of the manager
// would, and prints its warnings, which addresses would be
// asked for and both documents, as the controller would render them. Addresses
// come from the pools in --pools, or are placeholders from the ranges that are
// reserved for documentation. It needs no cluster and talks to none.
package main
