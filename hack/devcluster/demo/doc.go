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

// Package demo plays the story of two tenants on one pool of servers to a person at a terminal, on
// a dev cluster that it starts for that.
//
// Every line that it prints comes from an
// object of the real API server. It asserts nothing beyond what the story needs
// to go on; that is the work of the end-to-end tests, which use the same steps.
package demo
