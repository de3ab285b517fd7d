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

// TestSmallRun checks that everything is measured; the numbers of so small a run
// mean nothing.
func TestSmallRun(t *testing.T) {
	benchmark().Small(t, []string{
		"one bind, 60 hosts, requests", "in turn with one among 10 hosts, median", "cost among 60 compared with 10 hosts",
		"10 claims on 20 hosts, until all are bound", "processor time of the manager for each of them",
		"PATCH baremetalhosts", "one claim told why it has no host, 60 hosts, median",
		"host becomes available among 60 until it is claimed, p99", "the same with 3 at once, p99",
		"memory of the manager, 66 hosts, 21 bound", "after a restart",
	}, []string{ // these may be zero: the clock of the processor ticks every 10 ms
		"reconciles in 1s with 10 bound claims",
		"one claim told why it has no host, 60 hosts, processor time of the manager",
	}, nil)
}
