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

// Package networkdata renders how a server sets up its network, in the format
// that OpenStack's network_data.json defines and cloud-init reads.
//
// Its inputs are the networkData of a data template and the facts of one
// machine. The output is YAML, the same bytes for the same input. What
// cloud-init would reject is an error that names the link, network or route and
// the remedy. The package asks no pool and writes no secret.
package networkdata
