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

// Package room is what the benchmark of binds measures in: a site with hosts and
// tenants, and a policy that lets them come together.
//
// Hosts are made as they are after their inspection, about 8 KiB each with their
// HardwareData, and played by hostsim from then on. What a figure means is not
// known here.
package room
