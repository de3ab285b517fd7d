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
		"rendering the data of one machine",
		"50 Metal3Data from 2 templates and 2 pools, until all are ready",
		"50 Metal3Data from one template and 2 pools, until all are ready",
		"ip-address-manager: claim on a pool until its address, p99",
		"ip-address-manager: first claim on a pool until last address",
		"requests of the manager for each of them", "requests of ip-address-manager for each of them",
		"passes of metal3data for each of them", "memory of the manager, 100 Metal3Data",
	}, []string{"reconciles in 1s with 100 Metal3Data"}, map[string]float64{
		"POST metal3datas": 1, "POST ipclaims": 1, "POST ipaddresses": 1, "lists": 0,
	})
}
