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
	"maps"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// hosts are all hosts by namespace.
type hosts map[string]*namespaceHosts

// of returns the hosts of a namespace.
func (h hosts) of(namespace string) *namespaceHosts {
	if h[namespace] == nil {
		h[namespace] = &namespaceHosts{free: map[string]*entry{}, unfree: map[string]*bmov1alpha1.BareMetalHost{}}
	}
	return h[namespace]
}

// find returns a free host.
func (h hosts) find(key types.NamespacedName) (*entry, bool) {
	s, found := h[key.Namespace]
	if !found {
		return nil, false
	}
	e, found := s.free[key.Name]
	return e, found
}

// declinedBy notes that a claim had its turn with a host.
func (h hosts) declinedBy(w *waiter, host types.NamespacedName) {
	if e, found := h.find(host); found && w != nil {
		w.declined[e], e.declined[w] = true, true
	}
}

// namespaceHosts holds the hosts of one namespace, as the watch shows them.
type namespaceHosts struct {
	sorted []*entry // the free ones, by name
	free   map[string]*entry
	unfree map[string]*bmov1alpha1.BareMetalHost
}

// entry is a free host, as long as claims see no difference between its versions.
type entry struct {
	host *bmov1alpha1.BareMetalHost
	// declined are the waiting claims that had their turn with the host, the reverse of
	// waiter.declined: whichever of the two goes first leaves nothing with the other.
	declined map[*waiter]bool
}

// put takes in a free host that no claim has declined.
func (n *namespaceHosts) put(host *bmov1alpha1.BareMetalHost) {
	n.remove(host.Name)
	at, _ := n.find(host.Name)
	e := &entry{host: host, declined: map[*waiter]bool{}}
	n.sorted = slices.Insert(n.sorted, at, e)
	n.free[host.Name] = e
}

// set notes a host that is not free.
func (n *namespaceHosts) set(host *bmov1alpha1.BareMetalHost) {
	n.remove(host.Name)
	n.unfree[host.Name] = host
}

func (n *namespaceHosts) remove(name string) {
	delete(n.unfree, name)
	if at, found := n.find(name); found {
		for w := range n.sorted[at].declined {
			delete(w.declined, n.sorted[at])
		}
		n.sorted = slices.Delete(n.sorted, at, at+1)
		delete(n.free, name)
	}
}

func (n *namespaceHosts) has(name string) bool {
	return n.free[name] != nil || n.unfree[name] != nil
}

func (n *namespaceHosts) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(n.sorted, name, func(e *entry, name string) int { return cmp.Compare(e.host.Name, name) })
}

// all adds the hosts to others.
func (n *namespaceHosts) all(to []*bmov1alpha1.BareMetalHost) []*bmov1alpha1.BareMetalHost {
	to = slices.AppendSeq(slices.Grow(to, len(n.unfree)+len(n.sorted)), maps.Values(n.unfree))
	for _, e := range n.sorted {
		to = append(to, e.host)
	}
	return to
}
