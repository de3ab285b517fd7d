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

package v1beta2

// v1beta2 is the hub: other versions convert to and from it, and from nothing
// else. Each of them has its conversions in its own package, and none is here.

// Hub marks the version that others convert to.
func (*Metal3Cluster) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3ClusterTemplate) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3Machine) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3MachineTemplate) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3DataTemplate) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3DataClaim) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3Data) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3Remediation) Hub() {}

// Hub marks the version that others convert to.
func (*Metal3RemediationTemplate) Hub() {}
