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

// Package selector parses what a claim asks of its host: hostSelector, failure
// domain, and whether that is a preference.
//
// The hostclaim manager selects hosts by the result, and the webhook of the provider
// manager refuses with the same parser what the hostclaim manager would not
// understand. The package is given a HostClaim and returns Criteria or InvalidErrors.
// It bounds the size of what it parses and looks at no host.
package selector
