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

// Package localclaims answers one question: does the manager's own cluster serve
// HostClaims and HardwareData by now?
//
// A cluster whose machines all have their hosts elsewhere needs neither kind.
// Where they are there, or come, they are indexed once and watched for every
// controller that asked for it. The package reads no object of those kinds.
package localclaims
