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

package site

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// scrape reads the series of one metric from a metrics page.
func scrape(ctx context.Context, c *http.Client, url, name string) ([]*dto.Metric, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	return families[name].GetMetric(), err
}

// label is a label of a series, empty if it has none of that name.
func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// value is that of a counter or gauge.
func value(m *dto.Metric) float64 {
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
}

// Waits is how long items waited in the queue of a controller: how many for at most so many
// seconds, in ascending order.
type Waits struct {
	limits []float64
	counts []float64
}

// Waits are those since the manager's start.
func (m *Manager) Waits(ctx context.Context, controller string) (w Waits, err error) {
	series, err := scrape(ctx, http.DefaultClient, m.url(), "workqueue_queue_duration_seconds")
	for _, one := range series {
		if label(one, "controller") != controller {
			continue
		}
		for _, bucket := range one.GetHistogram().GetBucket() {
			w.limits, w.counts = append(w.limits, bucket.GetUpperBound()), append(w.counts, float64(bucket.GetCumulativeCount()))
		}
	}
	return w, err
}

// Since are the waits that were not over before.
func (w Waits) Since(before Waits) Waits {
	since := Waits{limits: w.limits, counts: slices.Clone(w.counts)}
	for i, count := range before.counts {
		since.counts[i] -= count
	}
	return since
}

// Quantile is the time that a part of all waits did not exceed, between two limits as if the waits
// in between were spread evenly; zero without waits.
func (w Waits) Quantile(part float64) time.Duration {
	if len(w.counts) == 0 || w.counts[len(w.counts)-1] == 0 {
		return 0
	}
	rank, lower, under := part*w.counts[len(w.counts)-1], 0.0, 0.0
	for i, count := range w.counts {
		upper := w.limits[i]
		switch {
		case count < rank:
			lower, under = upper, count
			continue
		case math.IsInf(upper, 1):
			upper = lower
		}
		return time.Duration((lower + (upper-lower)*(rank-under)/(count-under)) * float64(time.Second))
	}
	return 0
}

// Watches is how many watches on a resource are open now.
func (s *Site) Watches(ctx context.Context, resource string) (float64, error) {
	series, err := s.scrape(ctx, "apiserver_longrunning_requests")
	var sum float64
	for _, one := range series {
		if label(one, "resource") == resource && label(one, "verb") == "WATCH" {
			sum += value(one)
		}
	}
	return sum, err
}

// Requests counts the requests that the API server has answered by verb, resource
// and what became of them: "PATCH hostclaims/status", "GET secrets (403)". Watches
// are left out, and so is what does not count.
func (s *Site) Requests(ctx context.Context) (map[string]float64, error) {
	series, err := s.answered(ctx)
	out := map[string]float64{}
	for _, one := range series {
		if name := s.requestName(one); name != "" && !s.ours[strings.TrimSuffix(name, " (409)")] {
			out[name] += value(one)
		}
	}
	return out, err
}

// RequestsSince is what Requests has grown by, for each of so many things that were
// done meanwhile, and the sum of that.
func (s *Site) RequestsSince(ctx context.Context, before map[string]float64, done int) (map[string]float64, float64, error) {
	after, err := s.Requests(ctx)
	each, sum := map[string]float64{}, 0.0
	for name, count := range after {
		if made := (count - before[name]) / float64(done); made > 0 {
			each[name] = made
			sum += made
		}
	}
	return each, sum, err
}

// Quiet returns when the API server has answered no request that counts, nor one of
// the benchmark, for some time.
func (s *Site) Quiet(ctx context.Context, period time.Duration) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for before := -1.0; ; {
		now, err := s.total(ctx)
		if err != nil || now == before {
			return err
		}
		before = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// total is how many requests of any client were answered that concern the counted
// resources.
func (s *Site) total(ctx context.Context) (float64, error) {
	series, err := s.answered(ctx)
	var sum float64
	for _, one := range series {
		if s.requestName(one) != "" {
			sum += value(one)
		}
	}
	return sum, err
}

func (s *Site) answered(ctx context.Context) ([]*dto.Metric, error) {
	return s.scrape(ctx, "apiserver_request_total")
}

// scrape reads a metric of the API server.
func (s *Site) scrape(ctx context.Context, metric string) ([]*dto.Metric, error) {
	c, err := rest.HTTPClientFor(s.Server.Config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(s.Server.Config)
	if err != nil {
		return nil, err
	}
	return scrape(ctx, c, base.JoinPath("metrics").String(), metric)
}

func (s *Site) requestName(m *dto.Metric) string {
	resource := label(m, "resource")
	if !s.counted[resource] || label(m, "verb") == "WATCH" {
		return ""
	}
	if sub := label(m, "subresource"); sub != "" {
		resource += "/" + sub
	}
	name := label(m, "verb") + " " + resource
	if code := label(m, "code"); code >= "300" {
		name += " (" + code + ")"
	}
	return name
}
