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
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

const (
	// firstDelay and maxDelay bound the pause before a cluster that cannot be used is
	// tried again: nothing of it can be watched.
	firstDelay = 500 * time.Millisecond
	maxDelay   = 30 * time.Second
	// calm is how long a connection has to hold before the pauses begin at firstDelay again.
	calm = time.Minute
	// spacing is the pause between two looks at a connection that works although its
	// requests fail.
	spacing = 5 * time.Second
)

// state is what the users of a connection get: a site, or a problem. The zero value
// means that neither is known yet.
type state struct {
	site    Site
	problem *identity.Problem
}

func (s state) pending() bool {
	return s.problem == nil && s.site.Client == nil
}

// same says that users need not be woken for the change to the other state.
func (s state) same(other state) bool {
	if s.problem != nil && other.problem != nil {
		return *s.problem == *other.problem
	}
	return s.problem == other.problem && s.site.Client == other.site.Client
}

// name is Connected, or a reason of the condition IdentityReady.
func (s state) name() string {
	switch {
	case s.problem != nil:
		return s.problem.Reason
	case s.pending():
		return infrav1.IdentityConnectingReason
	default:
		return infrav1.IdentityConnectedReason
	}
}

// connection reaches one namespace of one cluster with one set of credentials.
type connection struct {
	// access, state and holders are guarded by Registry.mu.
	access  kubeconfig.Access
	state   state
	holders map[*credentials]struct{}

	registry  *Registry
	namespace string // of the reference for which the connection was made
	name      string // tells it from others; the hash of the first access
	held      *meter
	transport *transport.Transport
	renewed   chan struct{} // has an entry when the token is another one
	cancel    context.CancelFunc
}

// connectLocked begins a new connection for a reference of a namespace.
func (r *Registry) connectLocked(access kubeconfig.Access, namespace string) *connection {
	ctx, cancel := context.WithCancel(r.running)
	c := &connection{
		access: access, holders: map[*credentials]struct{}{},
		registry: r, namespace: namespace, name: access.Key(), held: r.budget.meter(namespace, access.Target()),
		renewed: make(chan struct{}, 1), cancel: cancel,
	}
	limits := r.options.limits()
	limits.Reading, limits.Event, limits.Pace = c.held.reading, c.held.reading, r.options.Paces.Of(namespace)
	c.transport = transport.New(access, limits, r.options.UserAgent, r.metrics.sent)
	r.connections[access.Key()] = c
	r.loops.Go(func() { c.run(ctx, access.Target()) })
	return c
}

// renew gives the connection the token of an access that differs in nothing else. The
// next request carries it; the watches go on. The caller holds Registry.mu.
func (c *connection) renew(access kubeconfig.Access) {
	c.access = access
	c.transport.Authorize(access.Authorization())
	nudge(c.renewed)
}

// run keeps the connection up until its last user leaves:
//
//	look ─▶ fill the cache ─▶ serve until a look finds a problem ─▶ pause ─▶ look ...
//
// While there is a problem, nothing but the looks reaches the cluster. The pauses grow
// as long as the connection does not hold, and a new token ends them.
func (c *connection) run(ctx context.Context, target identity.Target) {
	defer c.transport.Close()
	defer c.held.close()
	delay := newDelay()
	for {
		held, problem := c.serve(ctx, target)
		if ctx.Err() != nil {
			return
		}
		switch {
		case problem.Reason == infrav1.IdentityMemoryLimitReason:
			delay = wait.Backoff{Duration: maxDelay, Jitter: 0.5} // reading it all again is expensive
		case held >= calm:
			delay = newDelay()
		}
		c.registry.settle(ctx, c, state{problem: problem})
		select {
		case <-ctx.Done():
			return
		case <-c.renewed:
			delay = newDelay()
		case <-time.After(delay.Step()):
		}
	}
}

func newDelay() wait.Backoff {
	return wait.Backoff{Duration: firstDelay, Factor: 2, Jitter: 0.5, Steps: 10, Cap: maxDelay}
}

// serve connects and stays until there is a problem. It returns that, and how long
// the connection was of use.
func (c *connection) serve(ctx context.Context, target identity.Target) (time.Duration, *identity.Problem) {
	if problem := c.look(ctx, target, true); problem != nil {
		return 0, problem
	}
	ctx, cancel := context.WithCancel(ctx)
	opened, problem := c.open(ctx, target)
	defer func() {
		opened.close(cancel)
		c.held.end()
	}()
	if problem != nil {
		return 0, problem
	}
	since := c.registry.options.Clock.Now()
	c.registry.settle(ctx, c, state{site: opened.site})
	problem = c.guard(ctx, target)
	return c.registry.options.Clock.Since(since), problem
}

// guard looks at the connection whenever a request has failed or the token changes,
// until there is a problem. A cluster whose requests fail although nothing is found
// is not looked at all the time.
func (c *connection) guard(ctx context.Context, target identity.Target) *identity.Problem {
	var found transport.Failures
	var doubt bool
	var rest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case problem := <-c.held.over:
			return problem
		case <-rest:
			rest = nil
		case <-c.renewed:
			found.Forbidden, doubt, rest = true, true, nil
		case <-c.transport.Failed():
			found, doubt = found.And(c.transport.Take()), true
		}
		if found.Problem != nil {
			return found.Problem
		}
		if !doubt || rest != nil {
			continue
		}
		if problem := c.look(ctx, target, found.Forbidden); problem != nil {
			return problem
		}
		found, doubt, rest = transport.Failures{}, false, time.After(wait.Jitter(spacing, 0.5))
	}
}
