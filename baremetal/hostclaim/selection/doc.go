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

// Package selection selects the host of a claim, and explains why no host fits.
//
// Its inputs are the Criteria of a claim and an ordered list of hosts that policy
// admits. Select stops at the first host that fits; Explain reads all of them
// and is only for a claim that found nothing. The package performs no IO, uses no
// randomness and looks at no policy.
package selection
