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

// Package remote connects objects with an identityRef to the cluster that holds their
// hosts, and reports why a connection cannot be used.
//
// It takes identityRefs and the Secrets that they name, and gives each user a Site:
// cached reads and live writes in one namespace of the remote cluster. Users with the
// same credentials share one connection, which runs in a goroutine of its own. Asking
// for a Site never waits for the network; users are woken when it changes. The package
// writes nothing by itself, keeps no content of Secrets, and follows only what
// baremetal/identity/kubeconfig permits.
package remote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
)

// OriginIndex is the name of the field index on the claims of a Site by the value of
// their label hostclaim.metal3.io/origin.
const OriginIndex = "hostclaim.origin"

// User is one object that needs a connection.
type User struct {
	// Kind is Metal3Machine or Metal3Cluster.
	Kind string
	types.NamespacedName
}

// Registry holds the connections of one manager. The controllers share it.
type Registry struct {
	options Options
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	metrics *measurements
	budget  *budget
	secrets workqueue.TypedRateLimitingInterface[ctrl.Request] // that are to be read
	made    *flowcontrol.Backoff                               // of the connections for a reference, by the reference

	mu          sync.Mutex
	subscribers []subscriber
	users       map[User]*member
	origins     map[string]sets.Set[User] // those whose claims have an origin
	followers   map[types.NamespacedName]*follower
	connections map[string]*connection // by kubeconfig.Access.Key
	loops       sync.WaitGroup
}

// member is a user that was seen. Registry.mu guards it.
type member struct {
	credentials *credentials // nil before the first call of Site
	origin      string       // empty before Bind
}

// New returns a Registry without connections. It makes none before a manager starts
// it.
func New(o Options) (*Registry, error) {
	o.setDefaults()
	scheme, mapper, err := kinds()
	if err != nil {
		return nil, fmt.Errorf("kinds of other clusters: %w", err)
	}
	r := &Registry{
		options: o, scheme: scheme, mapper: mapper, made: flowcontrol.NewBackOff(time.Second, maxDelay),
		budget: newBudget(o.ConnectionMemory, o.Memory),
		// One Secret is read at a time, so that the memory of kubeconfigs does not add up. Namespaces take turns.
		secrets: queue.New(1, nil)("identity-secrets", workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstDelay, maxDelay)),
		users:   map[User]*member{}, origins: map[string]sets.Set[User]{},
		followers: map[types.NamespacedName]*follower{}, connections: map[string]*connection{},
	}
	if r.metrics, err = newMeasurements(r, o.Metrics); err != nil {
		return nil, err
	}
	o.Secrets.Subscribe(r.secretChanged)
	return r, nil
}

// Start keeps the connections until ctx ends.
func (r *Registry) Start(ctx context.Context) error {
	r.loops.Go(func() { r.readSecrets(ctx) })
	<-ctx.Done()
	r.secrets.ShutDown()
	r.loops.Wait()
	return nil
}

// Site returns the site that a reference leads to, for a user whom changes of it wake from now
// on, or why there is no usable connection at present. It never waits for the network. A user has
// one connection, which another reference replaces.
func (r *Registry) Site(user User, ref identity.Ref) (Site, *identity.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memberLocked(user)
	if m.credentials == nil || m.credentials.ref != ref {
		before := m.credentials
		m.credentials = r.credentialsLocked(ref)
		m.credentials.users[user] = struct{}{}
		r.leaveLocked(user, before)
	}
	s := m.credentials.state()
	return s.site, s.problem
}

// Release forgets a user. The connection of the last one is closed.
func (r *Registry) Release(user User) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, found := r.users[user]
	if !found {
		return
	}
	r.unbindLocked(user, m)
	delete(r.users, user)
	r.leaveLocked(user, m.credentials)
}

// Bind has a user woken by changes of the claim with an origin, and of what belongs to it.
func (r *Registry) Bind(user User, origin string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.memberLocked(user)
	if m.origin == origin {
		return
	}
	r.unbindLocked(user, m)
	m.origin = origin
	if r.origins[origin] == nil {
		r.origins[origin] = sets.New[User]()
	}
	r.origins[origin].Insert(user)
}

func (r *Registry) unbindLocked(user User, m *member) {
	delete(r.origins[m.origin], user)
	if len(r.origins[m.origin]) == 0 {
		delete(r.origins, m.origin)
	}
}

func (r *Registry) memberLocked(user User) *member {
	m, found := r.users[user]
	if !found {
		m = &member{}
		r.users[user] = m
	}
	return m
}

// credentialsLocked returns the credentials of a reference, and begins to follow their
// Secret unless it is followed already.
func (r *Registry) credentialsLocked(ref identity.Ref) *credentials {
	secret := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Secret}
	f, followed := r.followers[secret]
	if !followed {
		f = &follower{registry: r, secret: ctrl.Request{NamespacedName: secret}, credentials: map[string]*credentials{}}
		r.followers[secret] = f
		r.options.Secrets.Hold(ref.Namespace)
	}
	c, found := f.credentials[ref.Context]
	if !found {
		c = &credentials{ref: ref, follower: f, users: map[User]struct{}{}}
		f.credentials[ref.Context] = c
		r.secrets.Add(f.secret)
	}
	return c
}

// leaveLocked takes a user from credentials, which end with their last one.
func (r *Registry) leaveLocked(user User, c *credentials) {
	if c == nil {
		return
	}
	delete(c.users, user)
	if len(c.users) > 0 {
		return
	}
	delete(c.follower.credentials, c.ref.Context)
	if len(c.follower.credentials) == 0 {
		delete(r.followers, c.follower.secret.NamespacedName)
		r.options.Secrets.Drop(c.ref.Namespace)
		r.secrets.Forget(c.follower.secret)
	}
	c.holdLocked(nil, nil)
	r.made.GC()
}

// secretChanged has a Secret read again; an empty name stands for all Secrets of the namespace.
func (r *Registry) secretChanged(_ context.Context, namespace, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for secret, f := range r.followers {
		if secret.Namespace == namespace && (name == "" || secret.Name == name) {
			r.secrets.Add(f.secret)
		}
	}
}

// fullLocked reports whether the references of a namespace have all the connections that
// they may have: twice as many where one replaces another, since both stand until the
// new one is settled.
func (r *Registry) fullLocked(namespace string, replaces bool) bool {
	n := 0
	for _, c := range r.connections {
		if c.namespace == namespace {
			n++
		}
	}
	most := r.options.MaxConnections
	if replaces {
		most *= 2
	}
	return n >= most
}

// disconnectLocked ends a connection. References of its namespace that found no room
// are tried again.
func (r *Registry) disconnectLocked(c *connection) {
	delete(r.connections, c.access.Key())
	c.cancel()
	for secret, f := range r.followers {
		if secret.Namespace == c.namespace {
			r.secrets.Add(f.secret)
		}
	}
}

// ConnectionOf names the connection that requests for a user go to, for comparison
// only; empty if there is none that can be used.
func (r *Registry) ConnectionOf(user User) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, found := r.users[user]
	if !found || m.credentials == nil || m.credentials.state().problem != nil {
		return ""
	}
	return m.credentials.current.name
}

// gathering is how long a wake-up waits for others of the same object: the remote cluster
// decides how many come.
const gathering = 100 * time.Millisecond

// subscriber is one started source: the queue of a controller and how to fill it.
type subscriber struct {
	kind  string
	to    func(ctx context.Context, user types.NamespacedName) []ctrl.Request
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// Source returns an event source for builder.WatchesRawSource. It wakes a controller
// for users of a kind when the state of their connection changes, and when a claim
// with their origin, the HardwareData owned by it or a Secret with their origin does.
func (r *Registry) Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source {
	return source.Func(func(_ context.Context, requests workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subscribers = append(r.subscribers, subscriber{kind, mapUser, requests})
		return nil
	})
}

// wake wakes the controllers of these users. The caller does not hold Registry.mu.
func (r *Registry) wake(ctx context.Context, users []User) {
	r.mu.Lock()
	subscribers := slices.Clone(r.subscribers)
	r.mu.Unlock()
	for _, user := range users {
		for _, s := range subscribers {
			if s.kind != user.Kind {
				continue
			}
			for _, request := range s.to(ctx, user.NamespacedName) {
				s.queue.AddAfter(request, gathering)
			}
		}
	}
}

// changed wakes the users of a connection whose claim has an origin. Users of other
// connections may have the same one: this cluster must not wake them.
func (r *Registry) changed(ctx context.Context, c *connection, origin string) {
	r.mu.Lock()
	var users []User
	for user := range r.origins[origin] {
		if m := r.users[user]; m.credentials != nil && m.credentials.current == c {
			users = append(users, user)
		}
	}
	r.mu.Unlock()
	r.wake(ctx, users)
}

// settle notes the state of a connection, lets it take the place of those that it is
// to follow, and wakes the users of both.
func (r *Registry) settle(ctx context.Context, c *connection, s state) {
	r.mu.Lock()
	before, target := c.state, c.access.Target()
	changed := !before.same(s)
	c.state = s
	var users []User
	for holder := range c.holders {
		if holder.next == c {
			holder.holdLocked(c, nil)
		} else if !changed {
			continue
		}
		users = slices.AppendSeq(users, maps.Keys(holder.users))
	}
	r.mu.Unlock()
	logChange(ctx, target, before, s)
	r.wake(ctx, users)
}
