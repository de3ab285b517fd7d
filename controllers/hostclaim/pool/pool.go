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
	"iter"
	"slices"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Pool is the set of free hosts and waiting claims of one manager.
type Pool struct {
	mu      sync.Mutex
	free    map[string]*shelf // by namespace
	taken   map[types.NamespacedName]bool
	waiting waitingList
	wake    func(types.NamespacedName) // nil until the source has started
}

// shelf holds the free hosts of one namespace, sorted by name.
type shelf struct {
	names []string
	hosts map[string]*bmov1alpha1.BareMetalHost
}

// New returns an empty pool.
func New() *Pool {
	return &Pool{
		free:    map[string]*shelf{},
		taken:   map[types.NamespacedName]bool{},
		waiting: newWaitingList(),
	}
}

// Observe takes note of a host that was seen in the watch. A free one is
// offered to the first waiting claim that it could suit. The host is kept, so
// it must not be changed afterwards.
func (p *Pool) Observe(host *bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := client.ObjectKeyFromObject(host)
	if selection.Free(host) != "" {
		p.dropLocked(key)
		return
	}
	p.shelfOf(key.Namespace).put(host)
	p.offerLocked(host, nil)
}

// Drop takes a host out of the pool until it is observed as free again: it was
// bound, is gone, or proved to be in use.
func (p *Pool) Drop(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(key)
}

// Pick returns the first free host of the namespaces that fits, and keeps it
// from other claims until Drop or Return. Namespaces are gone through in the
// order given, hosts by name.
func (p *Pool) Pick(c selection.Criteria, namespaces []string) (*bmov1alpha1.BareMetalHost, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host, found := selection.Select(c, p.inLocked(namespaces))
	if found {
		p.taken[client.ObjectKeyFromObject(host)] = true
	}
	return host, found
}

// Return puts a picked host back that was not bound after all.
func (p *Pool) Return(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, key)
	if host, found := p.lookup(key); found {
		p.offerLocked(host, nil)
	}
}

// inLocked runs through the free hosts of the namespaces that nobody has picked.
func (p *Pool) inLocked(namespaces []string) iter.Seq[*bmov1alpha1.BareMetalHost] {
	return func(yield func(*bmov1alpha1.BareMetalHost) bool) {
		for _, namespace := range namespaces {
			s, found := p.free[namespace]
			if !found {
				continue
			}
			for _, name := range s.names {
				if p.taken[types.NamespacedName{Namespace: namespace, Name: name}] {
					continue
				}
				if !yield(s.hosts[name]) {
					return
				}
			}
		}
	}
}

func (p *Pool) lookup(key types.NamespacedName) (*bmov1alpha1.BareMetalHost, bool) {
	s, found := p.free[key.Namespace]
	if !found {
		return nil, false
	}
	host, found := s.hosts[key.Name]
	return host, found
}

func (p *Pool) dropLocked(key types.NamespacedName) {
	delete(p.taken, key)
	p.waiting.withdraw(key)
	if s, found := p.free[key.Namespace]; found {
		s.remove(key.Name)
	}
}

func (p *Pool) shelfOf(namespace string) *shelf {
	if _, found := p.free[namespace]; !found {
		p.free[namespace] = &shelf{hosts: map[string]*bmov1alpha1.BareMetalHost{}}
	}
	return p.free[namespace]
}

func (s *shelf) put(host *bmov1alpha1.BareMetalHost) {
	if at, found := slices.BinarySearch(s.names, host.Name); !found {
		s.names = slices.Insert(s.names, at, host.Name)
	}
	s.hosts[host.Name] = host
}

func (s *shelf) remove(name string) {
	if at, found := slices.BinarySearch(s.names, name); found {
		s.names = slices.Delete(s.names, at, at+1)
	}
	delete(s.hosts, name)
}
