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

// Command data measures how the provider manager makes the data of many machines
// at once, beside a real ip-address-manager, and what it costs.
//
//	go run ./bench/data --size=full --json=data.json
//
// The API server is real, both managers are processes of their own; Machines,
// Metal3Machines and their bound HostClaims are made by this process and stay as
// they are. docs/benchmarks.md says what the figures mean.
package main
