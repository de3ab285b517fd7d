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
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// gathering is how long a wake-up waits for others of the same object: how many there
// are is for another cluster to say.
const gathering = 100 * time.Millisecond

// subscriber is one started source: the queue of a controller and how to fill it.
type subscriber struct {
	kind  string
	to    func(ctx context.Context, user types.NamespacedName) []ctrl.Request
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// wakeups wakes controllers for users.
type wakeups struct {
	mu          sync.Mutex
	subscribers []subscriber
}

// origins are the users by the origin of their claims. Registry.mu guards them.
type origins map[string]map[User]*member

func (o origins) add(user User, m *member, origin string) {
	m.origin = origin
	if o[origin] == nil {
		o[origin] = map[User]*member{}
	}
	o[origin][user] = m
}

func (o origins) remove(user User, m *member) {
	delete(o[m.origin], user)
	if len(o[m.origin]) == 0 {
		delete(o, m.origin)
	}
	m.origin = ""
}

// Source returns an event source for builder.WatchesRawSource. It wakes a controller
// for users of a kind when the state of their connection changes, and when a claim
// with their origin, the HardwareData owned by it or a Secret with their origin does.
func (r *Registry) Source(kind string, mapUser func(ctx context.Context, user types.NamespacedName) []ctrl.Request) source.Source {
	return watch.Named("connections for identityRefs", source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		r.wakeups.mu.Lock()
		defer r.wakeups.mu.Unlock()
		r.wakeups.subscribers = append(r.wakeups.subscribers, subscriber{kind, mapUser, queue})
		return nil
	}))
}

// wake tells the controllers of these users. The caller does not hold Registry.mu.
func (w *wakeups) wake(ctx context.Context, users []User) {
	w.mu.Lock()
	subscribers := slices.Clone(w.subscribers)
	w.mu.Unlock()
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
	if origin == "" {
		return
	}
	r.mu.Lock()
	var users []User
	for user, m := range r.origins[origin] {
		if m.credentials != nil && m.credentials.current == c {
			users = append(users, user)
		}
	}
	r.mu.Unlock()
	r.wakeups.wake(ctx, users)
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
	c.announce(ctx, target, before, s)
	r.wakeups.wake(ctx, users)
}
