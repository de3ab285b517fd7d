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

package manager

import (
	"context"
	"strings"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// results are the series that were counted.
type results map[string]int

func (r results) Increment(_ context.Context, code, method, host string) {
	r[strings.Join([]string{code, method, host}, " ")]++
}

func TestTenantsMakeNoSeries(t *testing.T) {
	got := results{}
	bounded := boundedResults{got, "10.0.0.1:6443"}
	for _, series := range [][3]string{
		{"200", "GET", "10.0.0.1:6443"},
		{"409", "PATCH", "10.0.0.1:6443"},
		{"200", "GET", "tenant-a.example:6443"},
		{"200", "GET", "tenant-b.example:6443"},
		{"777", "GET", "tenant-b.example:6443"},
		{"778", "GET", "tenant-b.example:6443"},
		{"<error>", "GET", "tenant-b.example:6443"},
	} {
		bounded.Increment(t.Context(), series[0], series[1], series[2])
	}
	want := results{
		"200 GET 10.0.0.1:6443": 1, "409 PATCH 10.0.0.1:6443": 1,
		"200 GET other": 2, "other GET other": 2, "<error> GET other": 1,
	}
	expect.Equal(t, want, got)
}
