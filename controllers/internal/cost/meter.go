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

package cost

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

const (
	// maxNamespaces is how many namespaces have a series of their own. What others cost
	// is added up as other, so that no number of namespaces makes a metric grow.
	maxNamespaces = 1000
	// other is the label value of all namespaces past maxNamespaces. No namespace has
	// such a name.
	other = "_other"
	// idle is how long a namespace that costs nothing keeps its series: longer than
	// Prometheus needs to read it, and not much longer than a namespace that was deleted
	// is of interest. One that comes back begins at zero, as counters do after a restart.
	idle = time.Hour
)

// Meter is a counter with the label namespace and a bounded number of series.
type Meter struct {
	desc  *prometheus.Desc
	clock clock.PassiveClock

	mu     sync.Mutex
	series map[string]*amount
}

type amount struct {
	total float64
	last  time.Time
}

// New registers a counter of that name.
func New(registry prometheus.Registerer, clock clock.PassiveClock, name, help string) (*Meter, error) {
	m := &Meter{
		desc: prometheus.NewDesc(name, help, []string{"namespace"}, nil), clock: clock, series: map[string]*amount{},
	}
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("register metric %s: %w", name, err)
	}
	return m, nil
}

// Add counts what an object of the namespace has cost. Objects without one cost no tenant
// anything and are not counted.
func (m *Meter) Add(namespace string, n float64) {
	if namespace == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.series[namespace] == nil && len(m.series) >= maxNamespaces {
		namespace = other
	}
	if m.series[namespace] == nil {
		m.series[namespace] = &amount{}
	}
	m.series[namespace].total += n
	m.series[namespace].last = m.clock.Now()
}

// AddSeconds is Add with a duration.
func (m *Meter) AddSeconds(namespace string, d time.Duration) { m.Add(namespace, d.Seconds()) }

// Describe tells Prometheus of the counter.
func (m *Meter) Describe(out chan<- *prometheus.Desc) { out <- m.desc }

// Collect reports the counts, without namespaces that have cost nothing for an hour.
func (m *Meter) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for namespace, a := range m.series {
		if m.clock.Since(a.last) >= idle {
			delete(m.series, namespace)
			continue
		}
		out <- prometheus.MustNewConstMetric(m.desc, prometheus.CounterValue, a.total, namespace)
	}
}
