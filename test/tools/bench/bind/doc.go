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

// Command bind measures how the hostclaim manager binds hosts to claims: many at
// once, one that becomes free under waiting claims, one by one in pools of several
// sizes, and what the manager costs while nothing happens.
//
//	go run ./bench/bind --size=full --json=bind.json
//
// The API server is real, the manager is a process of its own, the hosts are
// played by hostsim in this process. docs/benchmarks.md says what the figures mean.
package main
