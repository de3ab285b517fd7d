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
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

const (
	// firstDelay and maxDelay bound the pause before a failed namespace is
	// tried again: the manager cannot watch the RoleBinding that it lacks.
	firstDelay = 200 * time.Millisecond
	maxDelay   = 4500 * time.Millisecond

	// pageSize bounds the answers of one list request.
	pageSize = 500
)

// loop keeps the watch of one namespace alive: list, watch, and again.
type loop struct {
	secrets   metadata.ResourceInterface
	namespace string
	notify    func(ctx context.Context, namespace, name string)

	// known maps the name of each Secret to the resourceVersion last seen, so
	// that a new list tells what changed, disappeared included. It is nil before
	// the first list, which cannot tell what disappeared just before it.
	// Only the loop writes it.
	known map[string]string
	// outlines are what is remembered of Secrets that were read, by name. One whose
	// version is not in known is not used.
	outlines map[string]*corev1.Secret
	// following says that changes are streamed at this moment.
	following bool
	// mu guards known, outlines and following.
	mu sync.Mutex
	// failed says that the last attempt failed and that subscribers were not told
	// yet that the namespace works again.
	failed bool
}

func newLoop(client metadata.Interface, namespace string, notify func(context.Context, string, string)) *loop {
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	return &loop{secrets: secrets, namespace: namespace, notify: notify, outlines: map[string]*corev1.Secret{}}
}

// run lists and watches until ctx ends, with a bounded pause in between, so
// that a server which closes every watch at once is not hammered.
func (l *loop) run(ctx context.Context) {
	delay := newDelay()
	for ctx.Err() == nil {
		version, err := l.list(ctx)
		if err == nil {
			delay = newDelay()
			err = l.follow(ctx, version)
		}
		l.failed = l.failed || err != nil
		select {
		case <-ctx.Done():
		case <-time.After(delay.Step()):
		}
	}
}

func newDelay() wait.Backoff {
	return wait.Backoff{Duration: firstDelay, Factor: 2, Jitter: 0.1, Steps: 10, Cap: maxDelay}
}

// list reads the metadata of all Secrets, reports what differs from the last
// list, and returns the version to watch from.
func (l *loop) list(ctx context.Context) (string, error) {
	seen := map[string]string{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := l.secrets.List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			seen[page.Items[i].Name] = page.Items[i].ResourceVersion
		}
		if page.Continue == "" {
			l.compare(ctx, seen)
			return page.ResourceVersion, nil
		}
		options.Continue = page.Continue
	}
}

// compare reports each Secret that appeared, changed or disappeared.
func (l *loop) compare(ctx context.Context, seen map[string]string) {
	before := l.known
	l.mu.Lock()
	l.known = seen
	maps.DeleteFunc(l.outlines, func(name string, o *corev1.Secret) bool { return seen[name] != o.ResourceVersion })
	l.mu.Unlock()
	if l.failed || before == nil {
		l.failed = false
		l.notify(ctx, l.namespace, "")
	}
	for name, version := range seen {
		if before[name] != version {
			l.notify(ctx, l.namespace, name)
		}
	}
	for name := range before {
		if _, found := seen[name]; !found {
			l.notify(ctx, l.namespace, name)
		}
	}
}

// follow reports changes from a version on, until the server ends the watch.
// Nil means that the watch ended as watches do.
func (l *loop) follow(ctx context.Context, version string) error {
	stream, err := l.secrets.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer stream.Stop()
	l.follows(true)
	defer l.follows(false)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-stream.ResultChan():
			if !open {
				return nil
			}
			if event.Type == watch.Error {
				return apierrors.FromObject(event.Object)
			}
			l.observe(ctx, event)
		}
	}
}

// observe reports one event of the stream and remembers its version.
func (l *loop) observe(ctx context.Context, event watch.Event) {
	object, err := meta.Accessor(event.Object)
	if err != nil || event.Type == watch.Bookmark {
		return
	}
	l.mu.Lock()
	if event.Type == watch.Deleted {
		delete(l.known, object.GetName())
		delete(l.outlines, object.GetName())
	} else {
		l.known[object.GetName()] = object.GetResourceVersion()
	}
	l.mu.Unlock()
	l.notify(ctx, l.namespace, object.GetName())
}

// knows says that the loop has seen a Secret that is still there.
func (l *loop) knows(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, found := l.known[name]
	return found
}
