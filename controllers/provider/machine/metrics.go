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
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the measurements of the machine controller.
type Metrics struct {
	timeToProvisioned *prometheus.HistogramVec
	stale             prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		timeToProvisioned: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "capm3_machine_time_to_provisioned_seconds",
			Help: "Time from the creation of a Metal3Machine until its server runs the image.",
			// From a simulated server to one with slow firmware in a long queue.
			Buckets: []float64{5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200},
		}, []string{"namespace", "cluster"}),
		stale: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capm3_machine_stale_decisions_total",
			Help: "Passes over a Metal3Machine whose write met a newer object than was read, in this cluster or in that of its HostClaim.",
		}),
	}
	for _, c := range []prometheus.Collector{m.timeToProvisioned, m.stale} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of Metal3Machine: %w", err)
		}
	}
	return m, nil
}

// Forget ends the series of a Cluster that is gone.
func (m *Metrics) Forget(namespace, cluster string) {
	m.timeToProvisioned.DeleteLabelValues(namespace, cluster)
}

func (m *Metrics) provisioned(namespace, cluster string, after time.Duration) {
	m.timeToProvisioned.WithLabelValues(namespace, cluster).Observe(after.Seconds())
}
