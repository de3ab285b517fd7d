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

package secretwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

var (
	_ manager.Runnable               = &Watch{}
	_ manager.LeaderElectionRunnable = &Watch{}
)

// MapFunc turns a changed Secret into the requests of a controller. The name is
// empty when the watch of the namespace works for the first time, or again after
// it failed: objects that wait for rights in that namespace, or for a Secret to go,
// should then be reconciled.
type MapFunc func(ctx context.Context, namespace, name string) []reconcile.Request

// ListenFunc is told of a changed Secret as a MapFunc is. It must not block.
type ListenFunc func(ctx context.Context, namespace, name string)

// Watch is the set of watches of one manager. Its zero value is not usable; New
// makes one.
type Watch struct {
	client metadata.Interface
	labels []string // those that an outline shows
	reads  singleflight.Group

	mu          sync.Mutex
	running     context.Context // nil until Start
	namespaces  map[string]watched
	subscribers []subscriber
	listeners   []ListenFunc
	loops       sync.WaitGroup
}

// watched is one namespace; its loop is nil until Start.
type watched struct {
	cancel context.CancelFunc
	loop   *loop
	holds  int
}

// subscriber is one started source: a controller's queue and how to fill it.
type subscriber struct {
	toRequests MapFunc
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// New returns a Watch without namespaces. It does nothing before a manager
// starts it. An outline shows these labels of a Secret.
func New(client metadata.Interface, labels ...string) *Watch {
	return &Watch{client: client, labels: labels, namespaces: map[string]watched{}}
}

// NewForConfig is New with a client of its own for the API server of config.
func NewForConfig(config *rest.Config, labels ...string) (*Watch, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client for secrets: %w", err)
	}
	return New(client, labels...), nil
}

// Ensure starts the watch of a namespace unless it runs already. It returns at
// once and may be called in every reconcile; call it before the Secret is read,
// so that a change after the read is never missed.
func (w *Watch) Ensure(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ensureLocked(namespace)
}

func (w *Watch) ensureLocked(namespace string) {
	if _, found := w.namespaces[namespace]; found {
		return
	}
	w.namespaces[namespace] = watched{cancel: func() {}}
	if w.running != nil {
		w.startLocked(namespace)
	}
}

// Hold is Ensure for a caller that says by Drop when it needs the watch no more.
// Until then Release leaves it.
func (w *Watch) Hold(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ensureLocked(namespace)
	held := w.namespaces[namespace]
	held.holds++
	w.namespaces[namespace] = held
}

// Drop takes one Hold back. The watch goes on until it is released.
func (w *Watch) Drop(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if held, found := w.namespaces[namespace]; found && held.holds > 0 {
		held.holds--
		w.namespaces[namespace] = held
	}
}

// Release stops the watch of a namespace unless it is still needed, which
// needed finds out; an error of it leaves the watch as it is. No caller can ask for
// the watch between that look and the stop, and who asks later gets a new one.
func (w *Watch) Release(namespace string, needed func() (bool, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	namespaced, found := w.namespaces[namespace]
	if !found || namespaced.holds > 0 {
		return nil
	}
	if still, err := needed(); err != nil || still {
		return err
	}
	namespaced.cancel()
	delete(w.namespaces, namespace)
	return nil
}

// Where returns the watched namespaces that have a Secret of a name, as far as the
// watches have seen. Every Secret that they see later is handed to the subscribers.
func (w *Watch) Where(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for namespace, n := range w.namespaces {
		if n.loop != nil && n.loop.knows(name) {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	return out
}

// Source returns an event source for builder.WatchesRawSource. Each controller
// takes its own.
func (w *Watch) Source(toRequests MapFunc) source.Source {
	return watch.Named("changes of Secrets", source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.subscribers = append(w.subscribers, subscriber{toRequests: toRequests, queue: queue})
		return nil
	}))
}

// Subscribe tells a listener that is no controller of every change.
func (w *Watch) Subscribe(listen ListenFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, listen)
}

// Start runs the watches until ctx ends. Namespaces that were asked for before
// start now.
func (w *Watch) Start(ctx context.Context) error {
	w.mu.Lock()
	w.running = ctx
	for namespace := range w.namespaces {
		w.startLocked(namespace)
	}
	w.mu.Unlock()

	<-ctx.Done()
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
	w.loops.Wait()
	return nil
}

// NeedLeaderElection says that only the leader watches: the others reconcile
// nothing that could be woken.
func (w *Watch) NeedLeaderElection() bool {
	return true
}

// startLocked starts the loop of one namespace. The caller holds the lock.
func (w *Watch) startLocked(namespace string) {
	ctx, cancel := context.WithCancel(w.running)
	l := newLoop(w.client, namespace, w.notify)
	w.namespaces[namespace] = watched{cancel, l, w.namespaces[namespace].holds}
	w.loops.Go(func() { l.run(ctx) })
}

// notify hands one changed Secret to every subscriber.
func (w *Watch) notify(ctx context.Context, namespace, name string) {
	w.mu.Lock()
	subscribers := w.subscribers[:len(w.subscribers):len(w.subscribers)]
	listeners := w.listeners[:len(w.listeners):len(w.listeners)]
	w.mu.Unlock()
	for _, listen := range listeners {
		listen(ctx, namespace, name)
	}
	for _, s := range subscribers {
		for _, request := range s.toRequests(ctx, namespace, name) {
			s.queue.Add(request)
		}
	}
}
