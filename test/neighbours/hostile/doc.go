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

// Package hostile holds what a tenant can aim at the managers: API servers that answer
// slowly, refuse everything or flood their clients, and kubeconfigs that are not what
// they seem.
//
// It needs no cluster and asserts nothing; the suite of neighbors and its benchmark
// decide where it is put and what must hold beside it.
package hostile
