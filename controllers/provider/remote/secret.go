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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity/kubeconfig"
)

// kubeconfigKey is the key of a Secret that holds a kubeconfig.
const kubeconfigKey = "kubeconfig"

// follower is what was read of one Secret, for all references to it.
type follower struct {
	registry    *Registry
	secret      ctrl.Request
	credentials map[string]*credentials // by context; Registry.mu guards them

	// version is that of the Secret from which file and problem come: each is parsed
	// once. Only readSecrets uses them.
	version string
	file    kubeconfig.File
	problem *identity.Problem // of all references
}

// readSecrets reads each Secret that may have changed. One that cannot be read is tried again in growing
// intervals: the manager cannot watch the RoleBinding that it lacks.
func (r *Registry) readSecrets(ctx context.Context) {
	for {
		secret, over := r.secrets.Get()
		if over {
			return
		}
		r.mu.Lock()
		f, followed := r.followers[secret.NamespacedName]
		r.mu.Unlock()
		if !followed || f.read(ctx) {
			r.secrets.Forget(secret)
		} else {
			r.secrets.AddRateLimited(secret)
		}
		r.secrets.Done(secret)
	}
}

// read reads the Secret and applies what is in it. It returns whether it could.
func (f *follower) read(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, f.registry.options.RequestTimeout)
	defer cancel()
	secret, name := &corev1.Secret{}, f.secret.NamespacedName
	err := f.registry.options.Live.Get(limited, name, secret)
	data, found := secret.Data[kubeconfigKey]
	version := string(secret.UID) + "/" + secret.ResourceVersion
	switch {
	case ctx.Err() != nil:
		return true
	case apierrors.IsNotFound(err):
		f.version, f.problem = "", identity.SecretNotFound.Problem(name.Name, name.Namespace, kubeconfigKey)
	case apierrors.IsForbidden(err):
		f.version, f.problem = "", identity.SecretForbidden.Problem(name.Namespace)
	case err != nil:
		// The management cluster did not answer; what is known of the Secret stays.
		ctrl.LoggerFrom(ctx).Error(err, "Secret of an identityRef not read", "namespace", name.Namespace, "secret", name.Name)
		return false
	case !found:
		f.version, f.problem = "", identity.KeyMissing.Problem(name.Name, kubeconfigKey)
	case version != f.version:
		file, invalid := kubeconfig.Parse(data)
		f.version, f.file, f.problem = version, file, f.kubeconfigProblem(invalid)
		f.registry.metrics.parsed.Inc()
	}
	f.apply(ctx)
	return err == nil || apierrors.IsNotFound(err)
}

// apply applies the Secret, or its problem, to all references to it.
func (f *follower) apply(ctx context.Context) {
	r := f.registry
	r.mu.Lock()
	contexts := slices.Sorted(maps.Keys(f.credentials))
	r.mu.Unlock()
	for _, name := range contexts {
		access, problem := kubeconfig.Access{}, f.problem
		if problem == nil {
			var err error
			access, err = f.file.Resolve(name)
			problem = f.kubeconfigProblem(err)
		}
		var users []User
		r.mu.Lock()
		if c, found := f.credentials[name]; found {
			users = c.useLocked(ctx, access, problem)
		}
		r.mu.Unlock()
		r.wake(ctx, users)
	}
}

// kubeconfigProblem returns why a kubeconfig is of no use; nil without an error.
func (f *follower) kubeconfigProblem(err error) *identity.Problem {
	if problem, ok := errors.AsType[*identity.Problem](err); ok {
		return &identity.Problem{Reason: problem.Reason, Message: fmt.Sprintf("Secret %q: %s", f.secret.Name, problem.Message)}
	}
	return nil
}

// credentials are one context of the kubeconfig in one Secret, and where it leads.
// Registry.mu guards them.
type credentials struct {
	ref      identity.Ref
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
		return connecting()
	default:
		return c.current.state
	}
}

// useLocked has credentials lead to an access, or nowhere if there is a problem. It returns
// which users are to be woken.
func (c *credentials) useLocked(ctx context.Context, access kubeconfig.Access, problem *identity.Problem) []User {
	before, known := c.state(), c.problem
	if c.problem = problem; problem == nil {
		c.leadLocked(ctx, access)
	} else {
		c.holdLocked(nil, nil)
	}
	if c.problem != nil && (known == nil || known.Reason != c.problem.Reason) {
		c.log(ctx).Info("Cannot use the Secret of an identityRef", "reason", c.problem.Reason)
	}
	if before.same(c.state()) {
		return nil
	}
	return slices.Collect(maps.Keys(c.users))
}

func (c *credentials) log(ctx context.Context) logr.Logger {
	return ctrl.LoggerFrom(ctx).WithValues("namespace", c.ref.Namespace, "secret", c.ref.Secret)
}

// leadLocked chooses the connection for an access: the one that there is for it, the
// present one with another token, or a new one that follows when it is settled. New ones
// are made in growing intervals.
func (c *credentials) leadLocked(ctx context.Context, access kubeconfig.Access) {
	r, key, newest := c.follower.registry, access.Key(), cmp.Or(c.next, c.current)
	other := newest != nil && newest.access.Key() != key
	next := c.foundLocked(access)
	if next == nil && r.fullLocked(c.ref.Namespace, c.current != nil) {
		c.problem = identity.TooManyConnections.Problem(c.ref.Namespace, r.options.MaxConnections)
		return
	}
	if next == nil {
		id := c.ref.Namespace + "/" + c.ref.Secret + "/" + c.ref.Context
		if r.made.IsInBackOffSinceUpdate(id, r.made.Clock.Now()) {
			r.secrets.AddAfter(c.follower.secret, r.made.Get(id))
			return
		}
		r.made.Next(id, r.made.Clock.Now())
		next = r.connectLocked(ctx, access, c.ref.Namespace)
	}
	if other {
		c.log(ctx).Info("Using other credentials for the remote cluster")
	}
	if c.current == nil || next == c.current || !next.state.pending() {
		c.holdLocked(next, nil)
	} else {
		c.holdLocked(c.current, next)
	}
}

// foundLocked returns the connection that there is for an access, or gives one that only these credentials
// use another token if nothing else has changed; nil if there is none.
func (c *credentials) foundLocked(access kubeconfig.Access) *connection {
	if found := c.follower.registry.connections[access.Key()]; found != nil {
		return found
	}
	for _, candidate := range []*connection{c.current, c.next} {
		if candidate != nil && len(candidate.holders) == 1 && candidate.access.Line() == access.Line() {
			delete(c.follower.registry.connections, candidate.access.Key())
			candidate.renew(access)
			c.follower.registry.connections[access.Key()] = candidate
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
			c.follower.registry.disconnectLocked(old)
		}
	}
}
