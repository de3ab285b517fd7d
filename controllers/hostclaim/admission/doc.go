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

// Package admission validates HostDeployPolicies and HostClaims before they are stored.
// It looks only at what the ValidatingAdmissionPolicies of
// config/hostclaim/admission cannot read: regular expressions, label selectors and
// the arguments of a reboot. The decisions on the first two are those of
// baremetal/hostclaim/policy.Validate and baremetal/selector.Parse, and the controllers
// apply the same to what was stored while the webhook was away. It reads nothing
// but the objects of the request.
package admission
