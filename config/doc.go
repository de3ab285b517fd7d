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

// Package config checks the roles of this folder: that no marker in the code and
// no edit by hand gives a manager or a user more than docs/tenants-and-policies.md
// says. It takes nothing but the files. Besides tests it holds the files themselves
// for programs that need the CRDs where there is no cluster.
package config
