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

// Package rbac tests the roles of config/ on a real API server.
//
// It asks: what may the two managers, a tenant, the infrastructure team and an auditor do, in which
// namespace, and what is each of them refused? The roles and bindings are those that config/
// renders, the hardened form unless a test asks for another, and all users are played by
// impersonation. No manager runs.
package rbac
