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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity/kubeconfig"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/tenantsecrets"
)

// kubeconfigKey is the key of a Secret that holds a kubeconfig.
const kubeconfigKey = "kubeconfig"

// credentials are one context of the kubeconfig in one Secret, and where it leads.
// Registry.mu guards them.
type credentials struct {
	ref   identity.Ref
	users map[User]struct{}
	// problem of the Secret or its content; nil if there is none, or before it was
	// looked at.
	problem *identity.Problem
	// current serves the users; nil before the first. next replaces it when it
	// is settled; nil if nothing is being built.
	current, next *connection

	again  chan struct{} // has an entry when the Secret is to be looked at
	cancel context.CancelFunc
}

// credentialsLocked returns the credentials of a reference, and begins to follow
// their Secret unless they are followed already.
func (r *Registry) credentialsLocked(ref identity.Ref) *credentials {
	c, found := r.credentials[ref]
	if !found {
		c = &credentials{ref: ref, users: map[User]struct{}{}, again: make(chan struct{}, 1), cancel: func() {}}
		r.credentials[ref] = c
		r.options.Secrets.Hold(ref.Namespace)
		if r.running != nil {
			r.startLocked(c)
		}
	}
	return c
}

func (r *Registry) startLocked(c *credentials) {
	ctx, cancel := context.WithCancel(r.running)
	c.cancel = cancel
	r.loops.Go(func() {
		r.follow(ctx, c)
		if err := tenantsecrets.Release(context.WithoutCancel(ctx), r.options.Secrets, r.options.Cached, c.ref.Namespace); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Watch of Secrets not ended", "namespace", c.ref.Namespace)
		}
	})
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

// secretChanged has the credentials of a Secret looked at again; no name stands for
// all Secrets of the namespace.
func (r *Registry) secretChanged(_ context.Context, namespace, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, c := range r.credentials {
		if ref.Namespace == namespace && (name == "" || ref.Secret == name) {
			nudge(c.again)
		}
	}
}

// follow reads the Secret whenever it may have changed, until its last user leaves.
func (r *Registry) follow(ctx context.Context, c *credentials) {
	delay := newDelay()
	for {
		var retry <-chan time.Time
		if r.look(ctx, c) {
			delay = newDelay()
		} else {
			// The manager cannot watch the RoleBinding that it lacks.
			retry = time.After(delay.Step())
		}
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-c.again:
		}
	}
}

// look reads the Secret and acts on what it says. False asks for another look without
// a change of the Secret.
func (r *Registry) look(ctx context.Context, c *credentials) bool {
	read, cancel := context.WithTimeout(ctx, r.options.RequestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := r.options.Live.Get(read, client.ObjectKey{Namespace: c.ref.Namespace, Name: c.ref.Secret}, secret)
	switch {
	case ctx.Err() != nil:
		return true
	case apierrors.IsNotFound(err):
		r.use(ctx, c, nil, secretNotFound(c.ref))
		return true
	case apierrors.IsForbidden(err):
		r.use(ctx, c, nil, secretForbidden(c.ref))
		return false
	case err != nil:
		// The management cluster did not answer; what is known of the Secret stays.
		ctrl.LoggerFrom(ctx).Error(err, "Secret of an identityRef not read", "namespace", c.ref.Namespace, "secret", c.ref.Secret)
		return false
	}
	data, found := secret.Data[kubeconfigKey]
	if !found {
		r.use(ctx, c, nil, keyMissing(c.ref))
		return true
	}
	access, err := r.resolve(data, c.ref.Context)
	if err != nil {
		r.use(ctx, c, nil, kubeconfigProblem(c.ref, err))
		return true
	}
	r.use(ctx, c, &access, nil)
	return true
}

// resolve parses one kubeconfig at a time, so that their memory does not add up.
func (r *Registry) resolve(data []byte, context string) (kubeconfig.Access, error) {
	r.parsing.Lock()
	defer r.parsing.Unlock()
	file, err := kubeconfig.Parse(data)
	if err != nil {
		return kubeconfig.Access{}, err
	}
	return file.Resolve(context)
}

// use has credentials lead where the Secret says, or nowhere if there is a problem.
func (r *Registry) use(ctx context.Context, c *credentials, access *kubeconfig.Access, problem *identity.Problem) {
	r.mu.Lock()
	if ctx.Err() != nil {
		r.mu.Unlock()
		return
	}
	before, earlier, oldKey := c.state(), c.problem, c.key()
	c.problem = problem
	if access == nil {
		r.holdLocked(c, nil, nil)
	} else {
		r.leadLocked(c, *access)
	}
	var users []User
	if !before.same(c.state()) {
		users = slices.Collect(maps.Keys(c.users))
	}
	r.mu.Unlock()
	rotated := access != nil && oldKey != "" && oldKey != access.Key()
	announceSecret(ctx, c.ref, earlier, problem, rotated)
	r.wake(ctx, users)
}

// leadLocked chooses the connection for an access: the one that there is for it, the
// present one with another token, or a new one that follows when it is settled.
func (r *Registry) leadLocked(c *credentials, access kubeconfig.Access) {
	key := access.Key()
	if c.current != nil && c.current.access.Key() == key {
		r.holdLocked(c, c.current, nil)
		return
	}
	next, found := r.connections[key]
	if !found {
		next = r.renewedLocked(c, access)
	}
	if next == nil {
		next = r.connectLocked(access)
	}
	switch {
	case next == c.current:
		r.holdLocked(c, next, nil)
	case c.current == nil || !next.state.pending():
		r.holdLocked(c, next, nil)
	default:
		r.holdLocked(c, c.current, next)
	}
}

// renewedLocked gives a connection that only these credentials use another token, if
// nothing else has changed; nil if there is none to do that with.
func (r *Registry) renewedLocked(c *credentials, access kubeconfig.Access) *connection {
	for _, candidate := range []*connection{c.current, c.next} {
		if candidate != nil && len(candidate.holders) == 1 && candidate.access.Line() == access.Line() {
			delete(r.connections, candidate.access.Key())
			candidate.renew(access)
			r.connections[access.Key()] = candidate
			return candidate
		}
	}
	return nil
}

// holdLocked notes which connections credentials use, and ends those without users.
func (r *Registry) holdLocked(c *credentials, current, next *connection) {
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
			delete(r.connections, old.access.Key())
			old.cancel()
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

// kubeconfigProblem says in words of a condition why a kubeconfig is of no use.
func kubeconfigProblem(ref identity.Ref, err error) *identity.Problem {
	var forbidden *kubeconfig.ForbiddenError
	var context *kubeconfig.ContextError
	switch {
	case errors.As(err, &forbidden):
		return ofSecret(forbiddenFeature, ref, err)
	case errors.As(err, &context):
		return ofSecret(contextNotFound, ref, err)
	default:
		return ofSecret(invalidKubeconfig, ref, err)
	}
}
