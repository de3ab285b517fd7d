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
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var secretsResource = corev1.SchemeGroupVersion.WithResource("secrets")

// secret returns the metadata of a Secret as the metadata client sees it.
func secret(namespace, name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version},
	}
}

func newClient(t *testing.T, objects ...runtime.Object) *fake.FakeMetadataClient {
	t.Helper()
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewSimpleMetadataClient(scheme, objects...)
}

// start runs a Watch and returns the requests that it makes, as they come.
func start(t *testing.T, w *Watch) <-chan types.NamespacedName {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	src := w.Source(func(_ context.Context, namespace, name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
	})
	if err := src.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	requests := make(chan types.NamespacedName, 100)
	go func() {
		for {
			request, shutdown := queue.Get()
			if shutdown {
				return
			}
			queue.Done(request)
			requests <- request.NamespacedName
		}
	}()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		queue.ShutDown()
		if err := <-ended; err != nil {
			t.Errorf("Start returned %v", err)
		}
	})
	return requests
}

// expect waits for one request.
func expect(t *testing.T, requests <-chan types.NamespacedName, namespace, name string) {
	t.Helper()
	want := types.NamespacedName{Namespace: namespace, Name: name}
	timeout := time.After(15 * time.Second)
	for {
		select {
		case got := <-requests:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("no request for %q in time", want)
		}
	}
}

func TestWatchReportsSecretsThatExistAppearAndGo(t *testing.T) {
	client := newClient(t, secret("tenant", "old", "1"))
	stream := watch.NewFake() // hands over an event only when it is read
	client.PrependWatchReactor("secrets", clienttesting.DefaultWatchReactor(stream, nil))
	w := New(client)
	w.Ensure("tenant") // before the start, and twice
	w.Ensure("tenant")
	requests := start(t, w)
	expect(t, requests, "tenant", "old")

	stream.Add(secret("tenant", "new", "2"))
	expect(t, requests, "tenant", "new")

	stream.Delete(secret("tenant", "old", "1"))
	expect(t, requests, "tenant", "old")
}

// A Secret that is deleted after it was read and before the first list is in no
// list and in no event: whoever waits for it to go must look once more.
func TestWatchTellsWhenItBegins(t *testing.T) {
	w := New(newClient(t))
	requests := start(t, w)
	w.Ensure("tenant")
	expect(t, requests, "tenant", "")
}

func TestWatchTellsWhenMissingRightsHaveCome(t *testing.T) {
	client := newClient(t)
	var refusals atomic.Int32
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if refusals.Add(1) > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(secretsResource.GroupResource(), "", nil)
	})
	w := New(client)
	requests := start(t, w)
	w.Ensure("tenant")
	expect(t, requests, "tenant", "")
	if got := refusals.Load(); got < 3 {
		t.Errorf("reported the namespace after %d lists, want after the third", got)
	}
}

func TestWatchForgetsReleasedNamespaces(t *testing.T) {
	client := newClient(t, secret("one", "a", "1"), secret("two", "b", "1"))
	w := New(client)
	requests := start(t, w)
	w.Ensure("one")
	expect(t, requests, "one", "a")
	w.Release("one")
	w.Release("never-asked-for")
	w.Ensure("two")
	expect(t, requests, "two", "b")

	w.mu.Lock()
	defer w.mu.Unlock()
	if _, found := w.namespaces["one"]; found || len(w.namespaces) != 1 {
		t.Errorf("namespaces watched: %v, want only two", w.namespaces)
	}
}

func TestCompareReportsOnlyDifferences(t *testing.T) {
	var got []string
	l := newLoop(newClient(t), "tenant", func(_ context.Context, _, name string) { got = append(got, name) })
	l.known = map[string]string{"same": "1", "changed": "1", "gone": "1"}
	l.compare(t.Context(), map[string]string{"same": "1", "changed": "2"})
	if len(got) != 2 || got[0] != "changed" || got[1] != "gone" {
		t.Errorf("reported %v, want changed and gone", got)
	}
}
