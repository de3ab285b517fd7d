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
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
)

// kubeconfigKey is the key of a Secret that holds a kubeconfig.
const kubeconfigKey = "kubeconfig"

// follower reads one Secret whenever it may have changed, for all references to it.
type follower struct {
	registry *Registry
	secret   types.NamespacedName
	// credentials by context, and cancel, are guarded by Registry.mu.
	credentials map[string]*credentials
	cancel      context.CancelFunc

	again chan struct{} // has an entry when the Secret is to be read

	// version is that of the Secret from which file and problem come: each is parsed
	// once. Only the goroutine of the follower uses them.
	version string
	file    kubeconfig.File
	problem *identity.Problem // of all references
}

// run reads the Secret until its last user leaves.
func (f *follower) run(ctx context.Context) {
	delay := newDelay()
	for {
		var retry <-chan time.Time
		switch read, again := f.read(ctx); {
		case !read: // The manager cannot watch the RoleBinding that it lacks.
			retry = time.After(delay.Step())
		case again > 0:
			retry = time.After(again)
		default:
			delay = newDelay()
		}
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-f.again:
		}
	}
}

// read reads the Secret and applies what is in it. It returns whether it could, and when
// to do so again although nothing has changed; 0 for never.
func (f *follower) read(ctx context.Context) (ok bool, again time.Duration) {
	limited, cancel := context.WithTimeout(ctx, f.registry.options.RequestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := f.registry.options.Live.Get(limited, f.secret, secret)
	data, found := secret.Data[kubeconfigKey]
	version := string(secret.UID) + "/" + secret.ResourceVersion
	switch {
	case ctx.Err() != nil:
		return true, 0
	case apierrors.IsNotFound(err):
		f.version, f.problem = "", identity.SecretNotFound.Problem(f.secret.Name, f.secret.Namespace, kubeconfigKey)
	case apierrors.IsForbidden(err):
		f.version, f.problem = "", identity.SecretForbidden.Problem(f.secret.Namespace)
	case err != nil:
		// The management cluster did not answer; what is known of the Secret stays.
		ctrl.LoggerFrom(ctx).Error(err, "Secret of an identityRef not read", "namespace", f.secret.Namespace, "secret", f.secret.Name)
		return false, 0
	case !found:
		f.version, f.problem = "", identity.KeyMissing.Problem(f.secret.Name, kubeconfigKey)
	case version != f.version:
		f.version = version
		f.parse(data)
	}
	return err == nil || apierrors.IsNotFound(err), f.apply(ctx)
}

// parse parses one kubeconfig of the manager at a time, so that their memory does not
// add up.
func (f *follower) parse(data []byte) {
	f.registry.parsing.Lock()
	defer f.registry.parsing.Unlock()
	var err error
	f.file, err = kubeconfig.Parse(data)
	f.problem = f.kubeconfigProblem(err)
	f.registry.metrics.parsed.Inc()
}

// resolve returns where a context leads, or why it leads nowhere.
func (f *follower) resolve(context string) (kubeconfig.Access, *identity.Problem) {
	if f.problem != nil {
		return kubeconfig.Access{}, f.problem
	}
	access, err := f.file.Resolve(context)
	return access, f.kubeconfigProblem(err)
}

// apply applies the Secret, or its problem, to all references to it. It returns when to do
// so again; 0 for not before the Secret changes.
func (f *follower) apply(ctx context.Context) (again time.Duration) {
	r := f.registry
	r.mu.Lock()
	contexts := slices.Sorted(maps.Keys(f.credentials))
	r.mu.Unlock()
	for _, name := range contexts {
		access, problem := f.resolve(name)
		r.mu.Lock()
		c, found := f.credentials[name]
		if !found || ctx.Err() != nil {
			r.mu.Unlock()
			continue
		}
		users, after := c.useLocked(ctx, access, problem)
		r.mu.Unlock()
		r.wake(ctx, users)
		if again == 0 || after > 0 && after < again {
			again = after
		}
	}
	return again
}

// kubeconfigProblem returns why a kubeconfig is of no use; nil without an error.
func (f *follower) kubeconfigProblem(err error) *identity.Problem {
	var forbidden *kubeconfig.ForbiddenError
	var context *kubeconfig.ContextError
	cause := identity.KubeconfigInvalid
	switch {
	case err == nil:
		return nil
	case errors.As(err, &forbidden):
		cause = identity.KubeconfigForbidden
	case errors.As(err, &context):
		cause = identity.ContextNotFound
	}
	return cause.Problem(f.secret.Name, err)
}

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

// useLocked has credentials lead to an access, or nowhere if there is a problem. It returns
// which users are to be woken and, if a connection was made too shortly ago, when to try again.
func (c *credentials) useLocked(ctx context.Context, access kubeconfig.Access, problem *identity.Problem) (users []User, again time.Duration) {
	log := ctrl.LoggerFrom(ctx).WithValues("namespace", c.ref.Namespace, "secret", c.ref.Secret)
	state, key, before := c.state(), c.key(), c.problem
	if c.problem = problem; problem == nil {
		again = c.leadLocked(access)
	} else {
		c.holdLocked(nil, nil)
	}
	switch {
	case c.problem != nil && (before == nil || before.Reason != c.problem.Reason):
		log.Info("Cannot use the Secret of an identityRef", "reason", c.problem.Reason)
	case c.problem == nil && key != "" && key != c.key():
		log.Info("Using other credentials for the remote cluster")
	}
	if !state.same(c.state()) {
		users = slices.Collect(maps.Keys(c.users))
	}
	return users, again
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
		c.problem = identity.TooManyConnections.Problem(c.ref.Namespace, c.registry.options.MaxConnections)
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
