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

package main

import "testing"

// TestSmallRun checks that everything is measured; the times of so small a run mean
// nothing.
func TestSmallRun(t *testing.T) {
	benchmark().Small(t, []string{
		"created until bound, before a slow tenant came, p99", "created until bound, beside a slow tenant, p99",
		"created until first status, beside a flooding tenant, median", "created until bound, beside a hoarding tenant, median",
		"created until bound, beside a lying tenant, p99", "created until bound, beside a streaming tenant, p99", "p99 over that of the tenant alone",
		"memory of the provider manager, at most, 36 honest machines", "memory of the hostclaim manager, at most, 36 honest machines",
	}, nil, nil)
}
