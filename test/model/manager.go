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

package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/test/model/store"
)

// grace is how long the hosts of vanished claims are kept: short enough that it
// ends within some schedules.
const grace = 2 * time.Minute

// manager is one process of the hostclaim manager. What it has in memory goes
// with a crash.
type manager struct {
	world *World
	id    int
	lives int

	// leads is whether it begins passes. One that has lost the lead and does not
	// know yet leads as well.
	leads       bool
	workers     int
	cache       *store.Cache
	controllers []*controller
	passes      []*pass

	claims  *claim.Reconciler
	orphans *orphan.Reconciler
	copies  *orphan.CopyReconciler
	// secrets are the metadata of the Secrets that it has seen, by name, in each namespace that
	// it watches, and listing the namespaces whose watch has not begun.
	secrets map[string]map[string]metav1.ObjectMeta
	listing []string
}

// controller is one reconciler with its queue and what fills it.
type controller struct {
	name       string
	reconciler reconcile.Reconciler
	queue      *queue
	watches    []claim.Watch
	sources    []source.Source
}

// String names the manager and how often it was started.
func (m *manager) String() string {
	return fmt.Sprintf("manager %d.%d", m.id, m.lives)
}

// start is a process that becomes leader with the present in its caches.
func (m *manager) start() {
	w := m.world
	m.lives++
	m.leads, m.workers = true, 1+w.choices.Intn(2)
	m.secrets, m.listing, m.passes = map[string]map[string]metav1.ObjectMeta{}, nil, nil
	m.cache = store.NewCache(w.log, kept)
	if err := errors.Join(claim.AddIndexes(w.ctx, m.cache), orphan.AddIndexes(w.ctx, m.cache)); err != nil {
		w.fail("start", "%v", err)
	}
	m.controllers = []*controller{m.claimController(), m.orphanController(), m.copyController()}
	for _, c := range m.controllers {
		for _, s := range c.sources {
			if err := s.Start(w.ctx, c.queue); err != nil {
				w.fail("start", "%v", err)
			}
		}
	}
	for _, kind := range store.Kinds() {
		for _, v := range m.cache.Relist(kind) {
			m.deliver(kind, nil, v)
		}
	}
	w.tracef("%s starts with %d workers", m, m.workers)
}

// held returns which objects the cache holds, as setup.CacheOptions has it.
func held(v *store.Version) bool {
	switch v.Kind {
	case store.Secrets:
		return false
	case store.HardwareData:
		return v.Labels()[infrav1.ClaimUIDLabel] != ""
	default:
		return true
	}
}

// claimController is the reconciler of claims. A new reconciler of the manager goes
// into the list in start.
func (m *manager) claimController() *controller {
	w := m.world
	cached, live := store.NewClient(w.backend, m.cache, gate), store.NewClient(w.backend, nil, gate)
	m.claims = &claim.Reconciler{
		Client:   client.WithFieldOwner(cached, infrav1.HostClaimManagerFieldOwner),
		Live:     live,
		Pool:     pool.New(),
		Policies: &policies.Evaluator{Cached: cached, Live: live, Own: policy.Own(false)},
		Secrets:  secretWatch{m},
		Budget:   &claim.CopyBudget{},
		Recorder: recorder{w},
		Metrics:  claim.NewMetrics(prometheus.NewRegistry(), cached),
		Clock:    w.clock,
		Kinds:    labeled{},
	}
	own := claim.Watch{Object: &bmov1alpha1.HostClaim{}, Handler: &handler.EnqueueRequestForObject{}}
	return &controller{
		name: "hostclaim", reconciler: m.claims.Pool.Around(m.claims), queue: newQueue(w.clock),
		watches: append([]claim.Watch{own}, m.claims.Watches()...),
		sources: []source.Source{m.claims.Pool.Source()},
	}
}

// labeled are kinds that clusterctl finds, all of them.
type labeled struct{}

// Unlabeled implements claim.MoveKinds.
func (labeled) Unlabeled(context.Context) ([]string, error) { return nil, nil }

// orphanController is the reconciler of hosts whose claim is gone.
func (m *manager) orphanController() *controller {
	w := m.world
	m.orphans = &orphan.Reconciler{
		Releaser: claim.Releaser{
			Client:  client.WithFieldOwner(store.NewClient(w.backend, m.cache, gate), infrav1.HostClaimManagerFieldOwner),
			Live:    store.NewClient(w.backend, nil, gate),
			Secrets: secretWatch{m},
			Clock:   w.clock,
		},
		Recorder: recorder{w},
		Grace:    grace,
	}
	return &controller{name: "orphanedhost", reconciler: m.orphans, queue: newQueue(w.clock), watches: m.orphans.Watches()}
}

// copyController is the reconciler of copies whose claim is gone.
func (m *manager) copyController() *controller {
	w := m.world
	m.copies = &orphan.CopyReconciler{
		Client:  client.WithFieldOwner(store.NewClient(w.backend, m.cache, gate), infrav1.HostClaimManagerFieldOwner),
		Live:    store.NewClient(w.backend, nil, gate),
		Secrets: secretWatch{m},
	}
	return &controller{name: "copiedsecret", reconciler: m.copies, queue: newQueue(w.clock), watches: m.copies.Watches()}
}

// crash ends all passes where they are.
func (m *manager) crash() {
	m.world.tracef("%s crashes with %d passes under way", m, len(m.passes))
	for _, p := range m.passes {
		p.dead = true
		p.stop()
	}
	m.leads, m.passes, m.controllers, m.cache = false, nil, nil, nil
}

// advance lets the cache see the next event of a kind, and calls the handlers.
func (m *manager) advance(kind store.Kind) {
	if kind == store.Secrets {
		m.listSecrets()
	}
	if m.cache.Behind(kind) == 0 {
		return
	}
	e := m.cache.Advance(kind)
	m.world.tracef("%s sees %s %s", m, kind, versions(e))
	switch kind {
	case store.Secrets:
		if seen, watched := m.secrets[e.Key.Namespace]; watched {
			delete(seen, e.Key.Name)
			if e.After != nil {
				seen[e.Key.Name] = e.After.Metadata().ObjectMeta
			}
			m.wakeForSecret(e.Key.Namespace, e.Key.Name)
		}
	case store.HardwareData:
		m.foreignFacts(e)
	}
	m.deliver(kind, kept(e.Before), kept(e.After))
}

// kept is an object as the cache holds it, nil if it holds none.
func kept(v *store.Version) *store.Version {
	if v == nil || !held(v) {
		return nil
	}
	return v.Stripped()
}

// behind reports whether something has happened that the manager has not seen.
func (m *manager) behind(kind store.Kind) bool {
	return m.cache.Behind(kind) > 0 || (kind == store.Secrets && len(m.listing) > 0)
}

// deliver calls the handlers for an event.
func (m *manager) deliver(kind store.Kind, before, after *store.Version) {
	for _, c := range m.controllers {
		for _, row := range c.watches {
			if watched, _ := store.KindOf(row.Object); watched == kind {
				handle(m.world.ctx, row, c.queue, before, after)
			}
		}
	}
}

// handle passes one event to one handler.
func handle(ctx context.Context, row claim.Watch, q *queue, before, after *store.Version) {
	agreed := func(ask func(predicate.Predicate) bool) bool {
		return !slices.ContainsFunc(row.Predicates, func(p predicate.Predicate) bool { return !ask(p) })
	}
	switch {
	case before == nil && after == nil:
	case before == nil:
		e := event.CreateEvent{Object: after.Object()}
		if agreed(func(p predicate.Predicate) bool { return p.Create(e) }) {
			row.Handler.Create(ctx, e, q)
		}
	case after == nil:
		e := event.DeleteEvent{Object: before.Object()}
		if agreed(func(p predicate.Predicate) bool { return p.Delete(e) }) {
			row.Handler.Delete(ctx, e, q)
		}
	default:
		e := event.UpdateEvent{ObjectOld: before.Object(), ObjectNew: after.Object()}
		if agreed(func(p predicate.Predicate) bool { return p.Update(e) }) {
			row.Handler.Update(ctx, e, q)
		}
	}
}

// foreignFacts delivers an event of a HardwareData that the cache does not hold, as the cache of
// names in package setup does.
func (m *manager) foreignFacts(e store.Event) {
	for _, v := range []*store.Version{e.Before, e.After} {
		if v != nil && !held(v) {
			m.wake(m.claims.FactsToClaims(m.world.ctx, v.Metadata()))
		}
	}
}

func (m *manager) wake(keys []reconcile.Request) {
	for _, key := range keys {
		m.controllers[0].queue.Add(key)
	}
}

func (m *manager) wakeForSecret(namespace, name string) {
	m.wake(m.claims.SecretToClaims(m.world.ctx, namespace, name))
	for _, key := range m.orphans.SecretToHosts(m.world.ctx, namespace, name) {
		m.controllers[1].queue.Add(key)
	}
	for _, key := range m.copies.SecretToCopies(m.world.ctx, namespace, name) {
		m.controllers[2].queue.Add(key)
	}
}

// listSecrets begins the watches that were asked for.
func (m *manager) listSecrets() {
	for _, namespace := range m.listing {
		m.wakeForSecret(namespace, "")
		for _, v := range m.world.log.All(store.Secrets) {
			if v.Key.Namespace == namespace {
				m.secrets[namespace][v.Key.Name] = v.Metadata().ObjectMeta
				m.wakeForSecret(namespace, v.Key.Name)
			}
		}
	}
	m.listing = nil
}

// secretWatch plays package secretwatch.
type secretWatch struct{ manager *manager }

// Ensure watches the Secrets of a namespace from now on.
func (s secretWatch) Ensure(namespace string) {
	if _, watched := s.manager.secrets[namespace]; !watched {
		s.manager.secrets[namespace] = map[string]metav1.ObjectMeta{}
		s.manager.listing = append(s.manager.listing, namespace)
	}
}

// Outline reads a Secret each time, which is what the watch does of one that has changed.
func (s secretWatch) Outline(ctx context.Context, live client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, live.Get(ctx, key, secret)
}

// Read notes nothing, as Outline reads each time.
func (s secretWatch) Read(secret *corev1.Secret) *corev1.Secret { return secret }

// Metadata is that of a Secret as it was last seen, or is now if its namespace is not watched yet.
func (s secretWatch) Metadata(ctx context.Context, live client.Reader, key client.ObjectKey) (metav1.ObjectMeta, error) {
	if seen, watched := s.manager.secrets[key.Namespace]; watched && !slices.Contains(s.manager.listing, key.Namespace) {
		return seen[key.Name], nil
	}
	secret := &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	return secret.ObjectMeta, client.IgnoreNotFound(err)
}

// Where returns the namespaces in which a Secret was seen.
func (s secretWatch) Where(name string) []string {
	var out []string
	for namespace, seen := range s.manager.secrets {
		if seen[name].UID != "" {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	return out
}

// Release watches them no more, unless a claim needs them.
func (s secretWatch) Release(ctx context.Context, cached client.Reader, namespace string, users ...claim.SecretUser) error {
	for _, user := range users {
		if err := cached.List(ctx, user.List, user.Which); err != nil || meta.LenList(user.List) > 0 {
			return err
		}
	}
	delete(s.manager.secrets, namespace)
	s.manager.listing = slices.DeleteFunc(s.manager.listing, func(n string) bool { return n == namespace })
	return nil
}
