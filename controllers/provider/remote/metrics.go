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

package remote

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// measurements are those of the connections. No label names a cluster: tenants could
// make up any number of them.
type measurements struct {
	registry    *Registry
	requests    *prometheus.CounterVec
	parsed      prometheus.Counter
	connections *prometheus.Desc
	users       *prometheus.Desc
	held        *prometheus.Desc
}

func newMeasurements(r *Registry, into prometheus.Registerer) (*measurements, error) {
	m := &measurements{
		registry: r,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capm3_remote_requests_total",
			Help: "Requests to other clusters, by answer: 2xx to 5xx, 401, 403, 429, other, or none if there was none.",
		}, []string{"answer"}),
		parsed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capm3_remote_kubeconfigs_parsed_total",
			Help: "Kubeconfigs of identityRefs that were parsed.",
		}),
		connections: prometheus.NewDesc("capm3_remote_connections",
			"Connections to other clusters, by their state: Connected, or a reason of IdentityReady.", []string{"state"}, nil),
		users: prometheus.NewDesc("capm3_remote_users",
			"Objects with an identityRef, by kind.", []string{"kind"}, nil),
		held: prometheus.NewDesc("capm3_remote_held_bytes",
			"Memory of the objects of other clusters that connections hold, by the namespace of the identityRef.", []string{"namespace"}, nil),
	}
	for _, c := range []prometheus.Collector{m.requests, m.parsed, m} {
		if err := into.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of other clusters: %w", err)
		}
	}
	return m, nil
}

// sent counts a request. No answer is nil.
func (m *measurements) sent(response *http.Response) {
	answer := "none"
	if response != nil {
		answer = class(response.StatusCode)
	}
	m.requests.WithLabelValues(answer).Inc()
}

// class returns the label value for a status code: one of a fixed list, since another cluster
// could make up any number of codes.
func class(code int) string {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests:
		return strconv.Itoa(code)
	case code >= 100 && code < 600:
		return strconv.Itoa(code/100) + "xx"
	default:
		return "other"
	}
}

// Describe implements prometheus.Collector.
func (m *measurements) Describe(out chan<- *prometheus.Desc) {
	out <- m.connections
	out <- m.users
	out <- m.held
}

// Collect counts connections and users as they are.
func (m *measurements) Collect(out chan<- prometheus.Metric) {
	states, kinds := map[string]int64{}, map[string]int64{}
	m.registry.mu.Lock()
	for _, c := range m.registry.connections {
		states[c.state.name()]++
	}
	for user := range m.registry.users {
		kinds[user.Kind]++
	}
	m.registry.mu.Unlock()
	for _, gauge := range []struct {
		of     *prometheus.Desc
		values map[string]int64
	}{{m.connections, states}, {m.users, kinds}, {m.held, m.registry.budget.byNamespace()}} {
		for label, n := range gauge.values {
			out <- prometheus.MustNewConstMetric(gauge.of, prometheus.GaugeValue, float64(n), label)
		}
	}
}
