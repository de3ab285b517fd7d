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

// Package tenant attacks the hostclaim manager as a tenant could.
//
// It shows what a user can reach who has the role of a tenant in one namespace,
// and knows everything about this project. The API server is a real one with the
// roles and rules of config/; the manager runs under its own account; the tenants
// have certificates of their own and nothing but their role. Each test carries its
// attack in its name, and looks at what became of the hosts, of the secrets next
// to them and of the other tenant, not only at the answer that the attacker got.
// A loop stands for baremetal-operator and moves the hosts on.
package tenant
