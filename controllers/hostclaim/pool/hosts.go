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
	"cmp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// hosts are all hosts by namespace, as the watch shows them.
type hosts map[string]*namespaceHosts

// namespaceHosts are the hosts of one namespace, all by name, and the free ones sorted by it.
type namespaceHosts struct {
	all  map[string]*bmov1alpha1.BareMetalHost
	free []*bmov1alpha1.BareMetalHost
}

// of returns the hosts of a namespace.
func (h hosts) of(namespace string) *namespaceHosts {
	if h[namespace] == nil {
		h[namespace] = &namespaceHosts{all: map[string]*bmov1alpha1.BareMetalHost{}}
	}
	return h[namespace]
}

// free returns a free host.
func (h hosts) free(key types.NamespacedName) (host *bmov1alpha1.BareMetalHost, found bool) {
	n := h.of(key.Namespace)
	at, found := n.find(key.Name)
	if !found {
		return nil, false
	}
	return n.free[at], true
}

// find returns the place of a host among the free ones.
func (n *namespaceHosts) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(n.free, name, func(h *bmov1alpha1.BareMetalHost, name string) int { return cmp.Compare(h.Name, name) })
}

// put takes in a host, which may be another version of one that is known.
func (n *namespaceHosts) put(host *bmov1alpha1.BareMetalHost, free bool) {
	n.remove(host.Name)
	n.all[host.Name] = host
	if free {
		at, _ := n.find(host.Name)
		n.free = slices.Insert(n.free, at, host)
	}
}

func (n *namespaceHosts) remove(name string) {
	delete(n.all, name)
	if at, found := n.find(name); found {
		n.free = slices.Delete(n.free, at, at+1)
	}
}

// describe returns the descriptions of the metrics of hosts.
func describe() (states, free *prometheus.Desc) {
	return prometheus.NewDesc("hostclaim_hosts", "BareMetalHosts by namespace and provisioning state.", []string{"namespace", "state"}, nil),
		prometheus.NewDesc("hostclaim_free_hosts", "BareMetalHosts by namespace that could be bound to a claim.", []string{"namespace"}, nil)
}

// Describe names the metrics of hosts.
func (p *Pool) Describe(out chan<- *prometheus.Desc) {
	states, free := describe()
	out <- states
	out <- free
}

// Collect counts the hosts. A namespace with hosts always has a count of free ones, be it zero.
func (p *Pool) Collect(out chan<- prometheus.Metric) {
	states, free := describe()
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, n := range p.hosts {
		counts := map[string]int{}
		for _, host := range n.all {
			counts[binding.StateName(host)]++
		}
		for state, count := range counts {
			out <- prometheus.MustNewConstMetric(states, prometheus.GaugeValue, float64(count), namespace, state)
		}
		if len(counts) > 0 {
			out <- prometheus.MustNewConstMetric(free, prometheus.GaugeValue, float64(len(n.free)), namespace)
		}
	}
}
