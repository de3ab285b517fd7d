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

// Package stack brings up a whole dev cluster in one call: it builds what is
// missing, ends what an earlier one left in the state folder, starts a control
// plane and then the managers.
//
// The caller of Up owns the processes; an error or a canceled context leaves none of them behind. The
// demo, the command line and the end-to-end tests all begin here. UpPair starts two:
// one for tenants, and one with the hosts.
package stack
