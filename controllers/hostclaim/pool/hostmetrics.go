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

package pool

import (
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
)

// HostMetrics counts the hosts of each namespace by state, and the free ones. It keeps
// the counts as the watch on hosts goes by, so that a scrape costs nothing per
// host. It is a collector of metrics.
type HostMetrics struct {
	hosts, free *prometheus.Desc

	mu         sync.Mutex
	seen       map[types.NamespacedName]seen
	namespaces map[string]*namespaceCounts
}

// seen is what was counted of one host.
type seen struct {
	state string
	free  bool
}

// namespaceCounts is what was counted in one namespace.
type namespaceCounts struct {
	total, free int
	states      map[string]int
}

// NewHostMetrics returns metrics of no hosts.
func NewHostMetrics() *HostMetrics {
	return &HostMetrics{
		hosts: prometheus.NewDesc("hostclaim_hosts",
			"BareMetalHosts by namespace and provisioning state.", []string{"namespace", "state"}, nil),
		free: prometheus.NewDesc("hostclaim_free_hosts",
			"BareMetalHosts by namespace that could be bound to a claim.", []string{"namespace"}, nil),
		seen:       map[types.NamespacedName]seen{},
		namespaces: map[string]*namespaceCounts{},
	}
}

// Observe counts a host as the watch shows it now.
func (c *HostMetrics) Observe(host *bmov1alpha1.BareMetalHost) {
	key := client.ObjectKeyFromObject(host)
	now := seen{state: binding.StateName(host), free: selection.Free(host) == ""}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, found := c.seen[key]; found && before == now {
		return
	}
	c.dropLocked(key)
	c.seen[key] = now
	if c.namespaces[key.Namespace] == nil {
		c.namespaces[key.Namespace] = &namespaceCounts{states: map[string]int{}}
	}
	n := c.namespaces[key.Namespace]
	n.total++
	n.states[now.state]++
	if now.free {
		n.free++
	}
}

// Drop ceases to count a host that is gone.
func (c *HostMetrics) Drop(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(key)
}

func (c *HostMetrics) dropLocked(key types.NamespacedName) {
	before, found := c.seen[key]
	if !found {
		return
	}
	delete(c.seen, key)
	n := c.namespaces[key.Namespace]
	n.total--
	if n.states[before.state]--; n.states[before.state] == 0 {
		delete(n.states, before.state)
	}
	if before.free {
		n.free--
	}
	if n.total == 0 {
		delete(c.namespaces, key.Namespace)
	}
}

// Describe names the metrics.
func (c *HostMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- c.hosts
	out <- c.free
}

// Collect gives the counts. A namespace with hosts always has a count of free
// ones, be it zero.
func (c *HostMetrics) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for namespace, n := range c.namespaces {
		for state, count := range n.states {
			out <- prometheus.MustNewConstMetric(c.hosts, prometheus.GaugeValue, float64(count), namespace, state)
		}
		out <- prometheus.MustNewConstMetric(c.free, prometheus.GaugeValue, float64(n.free), namespace)
	}
}
