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
	"maps"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/selection"
)

// Pool is the set of hosts and waiting claims of one manager.
type Pool struct {
	mu    sync.Mutex
	hosts hosts
	// taken are the hosts that were picked, by the claims that try to bind them.
	taken   map[types.NamespacedName]types.NamespacedName
	waiting waitingList
	// passes are the claims of which a pass is under way.
	passes map[types.NamespacedName]bool
	wake   waker // nil until the source has started
}

// New returns an empty pool.
func New() *Pool {
	return &Pool{
		hosts:   hosts{},
		taken:   map[types.NamespacedName]types.NamespacedName{},
		waiting: newWaitingList(),
		passes:  map[types.NamespacedName]bool{},
	}
}

// Observe takes note of a host that was seen in the watch. A free one is
// offered to the first waiting claim that it could suit. One whose labels have
// changed may suit others than before, so it is offered anew from the start of
// the list. The host is kept, so it must not be changed afterwards.
func (p *Pool) Observe(host *bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observeLocked(host)
}

func (p *Pool) observeLocked(host *bmov1alpha1.BareMetalHost) {
	key := client.ObjectKeyFromObject(host)
	if selection.Free(host) != "" {
		p.withdrawLocked(key)
		p.hosts.of(key.Namespace).set(host)
		return
	}
	before, known := p.hosts.find(key)
	if known && maps.Equal(before.host.Labels, host.Labels) {
		before.host = host
	} else {
		p.waiting.withdraw(key)
		if known {
			p.waiting.restart(before)
		}
		p.hosts.of(key.Namespace).put(host)
	}
	p.offerLocked(key)
}

// Correct takes note of what a claim has read of a host past the watch; nil if it
// does not exist. One that the watch has seen go stays gone.
func (p *Pool) Correct(key types.NamespacedName, host *bmov1alpha1.BareMetalHost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.hosts.of(key.Namespace).has(key.Name)
	p.forgetLocked(key)
	if known && host != nil {
		p.observeLocked(host)
	}
}

// Bound takes a host out of the pool until it is observed as free again.
func (p *Pool) Bound(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawLocked(key)
	if e, free := p.hosts.find(key); free {
		p.hosts.of(key.Namespace).set(e.host)
	}
}

// Forget takes note that a host is gone.
func (p *Pool) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLocked(key)
}

// Hosts are all hosts of some namespaces, for selection.Explain.
func (p *Pool) Hosts(namespaces []string) []*bmov1alpha1.BareMetalHost {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*bmov1alpha1.BareMetalHost
	for _, namespace := range namespaces {
		if s, found := p.hosts[namespace]; found {
			out = s.all(out)
		}
	}
	return out
}

// Pick returns the first free host that fits a waiting claim, and keeps it from
// other claims until it is bound, corrected or gone, or the claim's pass ends. A host on offer to an
// claim that comes first is left to that one. Namespaces are gone through in the claim's order, hosts by name.
func (p *Pool) Pick(claim types.NamespacedName) (*bmov1alpha1.BareMetalHost, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, waits := p.waiting.byKey[claim]
	if !waits {
		return nil, false
	}
	host, found := selection.Select(w.Criteria, p.inLocked(w))
	if found {
		p.taken[client.ObjectKeyFromObject(host)] = claim
	}
	return host, found
}

// inLocked runs through the free hosts that a claim may pick. Most hosts of a large
// pool do not suit it, so that is asked first, and what is kept from it last.
func (p *Pool) inLocked(w *waiter) iter.Seq[*bmov1alpha1.BareMetalHost] {
	return func(yield func(*bmov1alpha1.BareMetalHost) bool) {
		for _, namespace := range w.Namespaces {
			s, found := p.hosts[namespace]
			if !found {
				continue
			}
			for _, e := range s.sorted {
				_, taken := p.taken[client.ObjectKeyFromObject(e.host)]
				if selection.Suits(w.Criteria, e.host) != "" || p.waiting.keepFrom(w, e, taken) {
					continue
				}
				if !yield(e.host) {
					return
				}
			}
		}
	}
}

// withdrawLocked takes a host from the claims that picked it or have it on offer.
func (p *Pool) withdrawLocked(key types.NamespacedName) {
	delete(p.taken, key)
	p.waiting.withdraw(key)
	if e, free := p.hosts.find(key); free {
		p.waiting.restart(e)
	}
}

func (p *Pool) forgetLocked(key types.NamespacedName) {
	p.withdrawLocked(key)
	p.hosts.of(key.Namespace).remove(key.Name)
}
