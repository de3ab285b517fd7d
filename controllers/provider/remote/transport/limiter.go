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

package transport

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
)

// burst is for how many seconds of its rate a namespace may read at once: a list of some
// thousand objects is not slowed.
const burst = 32

// ReadLimiter bounds how fast the answers of API servers are read, by the weight of all that the
// objects of one namespace lead to. Events that are valid cost a processor, too.
type ReadLimiter struct {
	weights *queue.Buckets[string] // by namespace
	clock   clock.PassiveClock
	log     logr.Logger
	metric  *prometheus.Desc

	mu     sync.Mutex
	slowed map[string]bool // namespaces whose bucket has not been full since it was empty
}

// NewReadLimiter returns a limiter of so many bytes of weight a second for each namespace. It
// logs and measures which namespaces are slowed.
func NewReadLimiter(perSecond int64, from clock.PassiveClock, log logr.Logger, into prometheus.Registerer) (*ReadLimiter, error) {
	l := &ReadLimiter{
		weights: queue.NewBuckets[string](rate.Limit(perSecond), int(burst*perSecond)), clock: from, log: log, slowed: map[string]bool{},
		metric: prometheus.NewDesc("capm3_namespace_slowed",
			"1 for a namespace whose remote and workload clusters send more than is read of them in a second.", []string{"namespace"}, nil),
	}
	if err := into.Register(l); err != nil {
		return nil, fmt.Errorf("register metrics of the read limiter: %w", err)
	}
	return l, nil
}

// Of returns what Limits.Delay is for a namespace; nil without a limiter.
func (l *ReadLimiter) Of(namespace string) func(weight int64) time.Duration {
	if l == nil {
		return nil
	}
	return func(weight int64) time.Duration { return l.delay(namespace, weight) }
}

// delay counts a weight that was read, and returns how long to wait before more is.
func (l *ReadLimiter) delay(namespace string, weight int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.forgetLocked(now)
	delay := l.weights.Charge(namespace, int(weight), now)
	if delay > 0 && !l.slowed[namespace] {
		l.slowed[namespace] = true
		l.log.Info("Reading the remote and workload clusters of a namespace more slowly: they send too much", "namespace", namespace)
	}
	return delay
}

// forgetLocked drops the namespaces that are not slowed any more.
func (l *ReadLimiter) forgetLocked(now time.Time) {
	maps.DeleteFunc(l.slowed, func(namespace string, _ bool) bool { return l.weights.Full(namespace, now) })
}

// Describe implements prometheus.Collector.
func (l *ReadLimiter) Describe(out chan<- *prometheus.Desc) { out <- l.metric }

// Collect names the namespaces that are slowed.
func (l *ReadLimiter) Collect(out chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetLocked(l.clock.Now())
	for namespace := range l.slowed {
		out <- prometheus.MustNewConstMetric(l.metric, prometheus.GaugeValue, 1, namespace)
	}
}
