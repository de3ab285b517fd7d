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

// Package secretwatch wakes controllers when Secrets of chosen namespaces change. It
// keeps one metadata-only watch for each namespace that a controller asks for, so that
// a manager without cluster-wide rights on Secrets is still woken by them.
//
// A namespace whose rights are missing is tried again until they are there. A namespace is
// watched until it is released. The package remembers the metadata that it was asked to keep, and
// for a caller of Outline what the Secret holds, as hashes. It never keeps the content of a Secret
// and never writes.
package secretwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// MapFunc turns a changed Secret into the requests of a controller. The name is
// empty when the Secrets of the namespace were listed, as they are when the watch begins and
// after it was refused: objects that wait for rights in that namespace, or for a Secret to go,
// should then be reconciled.
type MapFunc func(ctx context.Context, namespace, name string) []reconcile.Request

// ListenFunc is called with a changed Secret, as a MapFunc is. It must not block.
type ListenFunc func(ctx context.Context, namespace, name string)

// Watch is the set of watches of one manager. Its zero value is not usable; New
// makes one.
type Watch struct {
	client metadata.Interface
	keys   []string // labels and annotations that are kept
	reads  singleflight.Group

	mu         sync.Mutex
	running    context.Context // nil until Start
	namespaces map[string]*watched
	calls      int // of Ensure
	listeners  []ListenFunc
	reflectors sync.WaitGroup
}

// watched is one namespace.
type watched struct {
	*store

	cancel  context.CancelFunc // ends its reflector
	ensured int                // the number of the last call of Ensure; 0 for none since the last Release
	holds   int
}

// New returns a Watch without namespaces. It does nothing before a manager
// starts it. These labels and annotations of a Secret are kept.
func New(secrets metadata.Interface, keys ...string) *Watch {
	return &Watch{client: secrets, keys: keys, namespaces: map[string]*watched{}}
}

// NewForConfig is New with a client of its own for the API server of config.
func NewForConfig(config *rest.Config, keys ...string) (*Watch, error) {
	secrets, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client for secrets: %w", err)
	}
	return New(secrets, keys...), nil
}

// Ensure starts the watch of a namespace unless it runs already. It returns at
// once and may be called in every reconcile; call it before the Secret is read,
// so that a change after the read is never missed.
func (w *Watch) Ensure(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.watchedLocked(namespace).ensured = w.calls
}

// Hold is Ensure for a caller that calls Drop when it does not need the watch any more.
func (w *Watch) Hold(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchedLocked(namespace).holds++
}

func (w *Watch) watchedLocked(namespace string) *watched {
	n, found := w.namespaces[namespace]
	if !found {
		n = &watched{cancel: func() {}, store: &store{strip: w.strip, outlines: map[string]*corev1.Secret{}}}
		w.namespaces[namespace] = n
		w.startLocked(namespace, n)
	}
	return n
}

// Drop takes one Hold back, and stops the watch with the last one if no caller of Ensure needs it.
func (w *Watch) Drop(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, found := w.namespaces[namespace]; found && n.holds > 0 {
		n.holds--
		w.stopLocked(namespace, n)
	}
}

// User is a kind of objects that need the Secrets of a namespace, and which of them do.
type User struct {
	List  client.ObjectList
	Which client.ListOption
}

// Release takes Ensure back unless there is a user; an error leaves the watch as it is, and so does a caller that
// asks for it meanwhile. A later one gets a new watch. No lock is held while the users are listed: a reader that
// waits for its cache would hold up all controllers.
func (w *Watch) Release(ctx context.Context, cached client.Reader, namespace string, users ...User) error {
	ensured := w.lastEnsure(namespace)
	if ensured == 0 {
		return nil
	}
	for _, user := range users {
		if err := cached.List(ctx, user.List, user.Which, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list %T that need Secrets of namespace %s: %w", user.List, namespace, err)
		}
		if meta.LenList(user.List) > 0 {
			return nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, found := w.namespaces[namespace]; found && n.ensured == ensured {
		n.ensured = 0
		w.stopLocked(namespace, n)
	}
	return nil
}

func (w *Watch) lastEnsure(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, found := w.namespaces[namespace]; found {
		return n.ensured
	}
	return 0
}

// stopLocked stops a watch that no caller needs.
func (w *Watch) stopLocked(namespace string, n *watched) {
	if n.ensured > 0 || n.holds > 0 {
		return
	}
	n.cancel()
	delete(w.namespaces, namespace)
}

// Where returns the watched namespaces that have a Secret of a name, as far as the
// watches have seen. Every Secret that they see later is handed to the subscribers.
func (w *Watch) Where(name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for namespace, n := range w.namespaces {
		if seen, _, _ := n.look(name); seen != nil {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	return out
}

// Source returns an event source for builder.WatchesRawSource. Each controller
// takes its own.
func (w *Watch) Source(toRequests MapFunc) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		w.Subscribe(func(ctx context.Context, namespace, name string) {
			for _, request := range toRequests(ctx, namespace, name) {
				queue.Add(request)
			}
		})
		return nil
	})
}

// Subscribe has a listener that is no controller called for every change.
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
	for namespace, n := range w.namespaces {
		w.startLocked(namespace, n)
	}
	w.mu.Unlock()

	<-ctx.Done()
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
	w.reflectors.Wait()
	return nil
}

// startLocked starts the reflector of one namespace, if the Watch runs. The reflector logs nothing: an
// object that needs a right which is missing has a condition.
func (w *Watch) startLocked(namespace string, n *watched) {
	if w.running == nil {
		return
	}
	ctx, cancel := context.WithCancel(w.running)
	n.cancel = cancel
	n.changed = func(name string) { w.notify(ctx, namespace, name) }
	reflector := newReflector(w.client, namespace, n.store)
	w.reflectors.Go(func() { reflector.RunWithContext(klog.NewContext(ctx, klog.Logger{})) })
}

// notify calls every listener with one Secret.
func (w *Watch) notify(ctx context.Context, namespace, name string) {
	w.mu.Lock()
	listeners := w.listeners[:len(w.listeners):len(w.listeners)]
	w.mu.Unlock()
	for _, listen := range listeners {
		listen(ctx, namespace, name)
	}
}
