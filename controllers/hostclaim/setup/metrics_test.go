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

package setup

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// book notes the collectors that are registered with it.
type book struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func (b *book) MustRegister(c ...prometheus.Collector) {
	b.collectors = append(b.collectors, c...)
	b.Registerer.MustRegister(c...)
}

// kindOf names the type of a collector as Prometheus does.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec, prometheus.Counter:
		return "counter"
	default: // a vector of gauges, and what counts when metrics are read
		return "gauge"
	}
}

// rows gives name, type and labels of every metric of the hostclaim manager.
func rows(t *testing.T) []string {
	t.Helper()
	b := &book{Registerer: prometheus.NewRegistry()}
	claim.NewMetrics(b, nil)
	policies.New(nil, nil, b)
	b.MustRegister(pool.New(), &orphan.Reconciler{})
	form := regexp.MustCompile(`^Desc\{fqName: "(hostclaim_[a-z_]+)", help: "([A-Z][^"]+\.)", constLabels: \{\}, variableLabels: \{([a-z,]*)\}\}$`)
	var out []string
	for _, c := range b.collectors {
		descriptions := make(chan *prometheus.Desc, 10)
		c.Describe(descriptions)
		close(descriptions)
		for d := range descriptions {
			parts := form.FindStringSubmatch(d.String())
			if parts == nil {
				t.Errorf("%s: the name must begin with hostclaim_, and the help be a sentence", d)
				continue
			}
			out = append(out, parts[1]+" | "+kindOf(c)+" | "+strings.ReplaceAll(parts[3], ",", ", "))
		}
	}
	slices.Sort(out)
	return out
}

func TestMetricsAreThoseOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/metrics.md")
	expect.NoError(t, err)
	var documented []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), "|")
		name := strings.TrimSpace(cells[min(1, len(cells)-1)])
		// What a namespace costs, and which rights there are, is counted by the manager as a whole.
		whole := strings.HasPrefix(name, "hostclaim_namespace_") || name == "hostclaim_rights_in_all_namespaces"
		if len(cells) == 6 && strings.HasPrefix(name, "hostclaim_") && !whole {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			documented = append(documented, strings.Join(cells[1:4], " | "))
			expect.That(t, cells[4] != "", "%s is not explained", cells[1])
		}
	}
	slices.Sort(documented)
	expect.Equal(t, rows(t), documented) // in docs/reference/metrics.md
}
