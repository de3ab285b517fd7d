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

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/tenantsecrets"
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

	// version is that of the Secret from which file or invalid come: each is parsed
	// once. Only the goroutine of the follower uses them.
	version string
	file    kubeconfig.File
	invalid error
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
			f.release(context.WithoutCancel(ctx))
			return
		case <-retry:
		case <-f.again:
		}
	}
}

// release ends the watch of the Secrets of the namespace, if it is not needed any more.
func (f *follower) release(ctx context.Context) {
	o := f.registry.options
	if err := tenantsecrets.Release(ctx, o.Secrets, o.Cached, f.secret.Namespace); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Watch of Secrets not ended", "namespace", f.secret.Namespace)
	}
}

// read reads the Secret and acts on what it says. It returns whether it could, and in
// how long it is to be acted on again although nothing has changed; 0 for never.
func (f *follower) read(ctx context.Context) (ok bool, again time.Duration) {
	limited, cancel := context.WithTimeout(ctx, f.registry.options.RequestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := f.registry.options.Live.Get(limited, f.secret, secret)
	switch {
	case ctx.Err() != nil:
		return true, 0
	case apierrors.IsNotFound(err):
		return true, f.use(ctx, failed(identity.SecretNotFound.Problem(f.secret.Name, f.secret.Namespace, kubeconfigKey)))
	case apierrors.IsForbidden(err):
		f.use(ctx, failed(identity.SecretForbidden.Problem(f.secret.Namespace)))
		return false, 0
	case err != nil:
		// The management cluster did not answer; what is known of the Secret stays.
		ctrl.LoggerFrom(ctx).Error(err, "Secret of an identityRef not read", "namespace", f.secret.Namespace, "secret", f.secret.Name)
		return false, 0
	}
	data, found := secret.Data[kubeconfigKey]
	if !found {
		return true, f.use(ctx, failed(identity.KeyMissing.Problem(f.secret.Name, kubeconfigKey)))
	}
	if version := string(secret.UID) + "/" + secret.ResourceVersion; version != f.version {
		f.version = version
		f.parse(data)
	}
	return true, f.use(ctx, f.resolve)
}

// parse parses one kubeconfig of the manager at a time, so that their memory does not
// add up.
func (f *follower) parse(data []byte) {
	f.registry.parsing.Lock()
	defer f.registry.parsing.Unlock()
	f.file, f.invalid = kubeconfig.Parse(data)
	f.registry.metrics.parsed.Inc()
}

// resolution is where a reference leads, or why it does not.
type resolution struct {
	access  *kubeconfig.Access
	problem *identity.Problem
}

// failed gives every reference the same problem.
func failed(problem *identity.Problem) func(identity.Ref) resolution {
	return func(identity.Ref) resolution { return resolution{problem: problem} }
}

func (f *follower) resolve(ref identity.Ref) resolution {
	if f.invalid != nil {
		return resolution{problem: kubeconfigProblem(ref, f.invalid)}
	}
	access, err := f.file.Resolve(ref.Context)
	if err != nil {
		return resolution{problem: kubeconfigProblem(ref, err)}
	}
	return resolution{access: &access}
}

// use has all references to the Secret lead where it says, or nowhere if there is a
// problem. It returns when to do so again; 0 for not before the Secret changes.
func (f *follower) use(ctx context.Context, resolve func(identity.Ref) resolution) (again time.Duration) {
	r := f.registry
	r.mu.Lock()
	contexts := slices.Sorted(maps.Keys(f.credentials))
	r.mu.Unlock()
	for _, name := range contexts {
		resolved := resolve(identity.Ref{Namespace: f.secret.Namespace, Secret: f.secret.Name, Context: name})
		r.mu.Lock()
		c, found := f.credentials[name]
		if !found || ctx.Err() != nil {
			r.mu.Unlock()
			continue
		}
		became := c.useLocked(resolved)
		r.mu.Unlock()
		logSecret(ctx, c.ref, became.before, became.after, became.rotated)
		r.wakeups.wake(ctx, became.users)
		if again == 0 || became.again > 0 && became.again < again {
			again = became.again
		}
	}
	return again
}

// kubeconfigProblem returns why a kubeconfig is of no use.
func kubeconfigProblem(ref identity.Ref, err error) *identity.Problem {
	var forbidden *kubeconfig.ForbiddenError
	var context *kubeconfig.ContextError
	cause := identity.KubeconfigInvalid
	switch {
	case errors.As(err, &forbidden):
		cause = identity.KubeconfigForbidden
	case errors.As(err, &context):
		cause = identity.ContextNotFound
	}
	return cause.Problem(ref.Secret, err)
}

// logSecret logs that the Secret of an identityRef cannot be used, or holds
// other credentials than before.
func logSecret(ctx context.Context, ref identity.Ref, before, after *identity.Problem, rotated bool) {
	log := ctrl.LoggerFrom(ctx).WithValues("namespace", ref.Namespace, "secret", ref.Secret)
	switch {
	case after != nil:
		if before == nil || before.Reason != after.Reason {
			log.Info("Cannot use the Secret of an identityRef", "reason", after.Reason)
		}
	case rotated:
		log.Info("Using other credentials for the remote cluster")
	}
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
