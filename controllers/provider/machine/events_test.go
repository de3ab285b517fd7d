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

package machine

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestForgetEndsTheSeriesOfACluster(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.provisioned("n", "gone", time.Minute)
	m.provisioned("n", "stays", time.Minute)
	m.Forget("n", "gone")
	m.Forget("n", "never-was")
	if left, err := testutil.GatherAndCount(registry, "capm3_machine_time_to_provisioned_seconds"); err != nil || left != 1 {
		t.Errorf("left are %d series, error %v", left, err)
	}
}
