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

// Package v1beta1 holds the kinds of API group infrastructure.cluster.x-k8s.io
// in version v1beta1, which is served for the manifests that users have, and
// deprecated. Objects are stored in v1beta2.
//
// Fields are those of the public Cluster API provider Metal3 in this version,
// and those that this project has added to v1beta2. What both versions have in
// the same form is of the type of v1beta2, with its rules. The conversions are
// not in this package: see controllers/provider/conversion.
//
// Specs, and endpoints in them, are written even if they are empty: the API
// server would take an object that was applied so for another one with each apply.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta1
