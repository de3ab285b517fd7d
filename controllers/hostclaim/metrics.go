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

package hostclaim

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
)

// Metrics counts how long binds and releases take and how many claims wait.
type Metrics struct {
	bindSeconds, releaseSeconds prometheus.Histogram
}

// NewMetrics registers the metrics of claims.
func NewMetrics(registry prometheus.Registerer, waiting *pool.Pool) (*Metrics, error) {
	m := &Metrics{
		bindSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostclaim_bind_duration_seconds",
			Help:    "Time from the creation of a HostClaim to the bind of a host.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 10),
		}),
		releaseSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostclaim_release_duration_seconds",
			Help:    "Time from the deletion of a HostClaim to its host being free again.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 10),
		}),
	}
	waitingClaims := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hostclaim_waiting_claims",
		Help: "HostClaims that look for a host.",
	}, func() float64 { return float64(len(waiting.Waiting())) })
	for _, c := range []prometheus.Collector{m.bindSeconds, m.releaseSeconds, waitingClaims} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) bound(after time.Duration) {
	if m != nil {
		m.bindSeconds.Observe(after.Seconds())
	}
}

func (m *Metrics) released(after time.Duration) {
	if m != nil {
		m.releaseSeconds.Observe(after.Seconds())
	}
}
