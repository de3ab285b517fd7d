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

// TestSmallRun checks that everything is measured; the times of so small a run
// mean nothing, and the counts do.
func TestSmallRun(t *testing.T) {
	benchmark().Small(t, []string{
		"4 identities with 3 machines each, until all are Ready",
		"change of a claim there until it is seen on the Metal3Machine, p99",
		"the same, while 12 claims change, p99", "change of a claim after that, p99",
		"memory of the manager, 4 identities with 3 machines each",
	}, nil, map[string]float64{
		"connections for each identity": 1, "connections for each identity after that": 1,
		"watches on hostclaims there for each identity":        1,
		"watches on hardwaredata there for each identity":      1,
		"watches on secrets there for each identity":           1,
		"machines that left Ready while 4 tokens were renewed": 0,
		"passes of metal3machine in 1s":                        0,
	})
}
