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

// TestSmallRun checks that everything is measured; the times of so small a run mean nothing.
func TestSmallRun(t *testing.T) {
	benchmark().Small(t, []string{
		"2 machines in one cluster, until all are Ready", "4 machines in 2 clusters, until each is replaced",
		"4 machines in 2 clusters, until all are gone", "requests of both managers for each of them",
		"4 machines in 2 clusters, the provider manager starts anew, until it is settled",
		"4 machines in 2 clusters, until all are Ready although both leaders die",
	}, []string{
		"4 machines in 2 clusters, hostclaim manager, passes in 1s of rest", "wait in the queue of metal3machine, p99",
	}, map[string]float64{"hosts taken that no machine has": 0})
}
