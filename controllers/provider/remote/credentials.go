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
	"maps"
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
)

// credentials are one context of the kubeconfig in one Secret, and where it leads.
// Registry.mu guards them.
type credentials struct {
	ref      identity.Ref
	registry *Registry
	follower *follower
	users    map[User]struct{}
	// problem of the Secret or its content, or that there are too many connections; nil
	// if there is none, or before the Secret was read.
	problem *identity.Problem
	// current serves the users; nil before the first. next replaces it when it
	// is settled; nil if nothing is being built.
	current, next *connection
}

// state is what the users get now.
func (c *credentials) state() state {
	switch {
	case c.problem != nil:
		return state{problem: c.problem}
	case c.current == nil:
		return state{}
	default:
		return c.current.state
	}
}

// key is that of the newest access; empty if there is none.
func (c *credentials) key() string {
	switch {
	case c.next != nil:
		return c.next.access.Key()
	case c.current != nil:
		return c.current.access.Key()
	default:
		return ""
	}
}

// change is what became of credentials: their problem before and after, whether they
// are other ones now, which users are to be woken, and, if a connection was made too
// shortly ago, when to try again.
type change struct {
	before, after *identity.Problem
	rotated       bool
	users         []User
	again         time.Duration
}

// useLocked has credentials lead where the Secret says, or nowhere if there is a
// problem.
func (c *credentials) useLocked(to resolution) change {
	state, oldKey := c.state(), c.key()
	out := change{before: c.problem}
	c.problem = to.problem
	if to.access == nil {
		c.holdLocked(nil, nil)
	} else {
		out.again = c.leadLocked(*to.access)
		out.rotated = c.problem == nil && oldKey != "" && oldKey != c.key()
	}
	if !state.same(c.state()) {
		out.users = slices.Collect(maps.Keys(c.users))
	}
	out.after = c.problem
	return out
}

// leadLocked chooses the connection for an access: the one that there is for it, the
// present one with another token, or a new one that follows when it is settled. New ones
// are made in growing intervals; it returns when to try again.
func (c *credentials) leadLocked(access kubeconfig.Access) time.Duration {
	key := access.Key()
	if c.current != nil && c.current.access.Key() == key {
		c.holdLocked(c.current, nil)
		return 0
	}
	next, found := c.registry.connections[key]
	if !found {
		next = c.renewedLocked(access)
	}
	if next == nil && c.registry.fullLocked(c.ref.Namespace, c.current != nil) {
		c.problem = tooManyConnections(c.ref, c.registry.options.MaxConnections)
		return 0
	}
	if next == nil {
		made, id := c.registry.made, c.ref.Namespace+"/"+c.ref.Secret+"/"+c.ref.Context
		if made.IsInBackOffSinceUpdate(id, made.Clock.Now()) {
			return made.Get(id)
		}
		made.Next(id, made.Clock.Now())
		next = c.registry.connectLocked(access, c.ref.Namespace)
	}
	switch {
	case next == c.current:
		c.holdLocked(next, nil)
	case c.current == nil || !next.state.pending():
		c.holdLocked(next, nil)
	default:
		c.holdLocked(c.current, next)
	}
	return 0
}

// renewedLocked gives a connection that only these credentials use another token, if
// nothing else has changed; nil if there is none to do that with.
func (c *credentials) renewedLocked(access kubeconfig.Access) *connection {
	for _, candidate := range []*connection{c.current, c.next} {
		if candidate != nil && len(candidate.holders) == 1 && candidate.access.Line() == access.Line() {
			delete(c.registry.connections, candidate.access.Key())
			candidate.renew(access)
			c.registry.connections[access.Key()] = candidate
			return candidate
		}
	}
	return nil
}

// holdLocked notes which connections credentials use, and ends those without users.
func (c *credentials) holdLocked(current, next *connection) {
	before := []*connection{c.current, c.next}
	c.current, c.next = current, next
	for _, now := range []*connection{current, next} {
		if now != nil {
			now.holders[c] = struct{}{}
		}
	}
	for _, old := range before {
		if old == nil || old == current || old == next {
			continue
		}
		delete(old.holders, c)
		if len(old.holders) == 0 {
			c.registry.disconnectLocked(old)
		}
	}
}

// nudge leaves an entry in a channel that holds one.
func nudge(channel chan<- struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}
