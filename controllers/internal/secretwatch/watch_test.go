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
	"errors"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var server apitest.Server

func TestMain(m *testing.M) { os.Exit(server.Run(m)) }

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// newClient returns a client of the administrator.
func newClient(t *testing.T) metadata.Interface {
	t.Helper()
	secrets, err := metadata.NewForConfig(server.Config)
	expect.NoError(t, err)
	return secrets
}

// start runs a Watch and returns the requests that it makes, as they come.
func start(t *testing.T, w *Watch) <-chan types.NamespacedName {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	src := w.Source(func(_ context.Context, namespace, name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
	})
	expect.NoError(t, src.Start(t.Context(), queue))
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
		expect.NoError(t, <-ended)
	})
	return requests
}

// wants waits for one request.
func wants(t *testing.T, requests <-chan types.NamespacedName, namespace, name string) {
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
	tenant := server.Namespace(t)
	old := secret(tenant, "old")
	server.Create(t, old)
	w := New(newClient(t))
	w.Ensure(tenant) // before the start, and twice
	w.Ensure(tenant)
	requests := start(t, w)
	wants(t, requests, tenant, "old")

	server.Create(t, secret(tenant, "new"))
	wants(t, requests, tenant, "new")

	expect.NoError(t, server.Client.Delete(t.Context(), old))
	wants(t, requests, tenant, "old")
}

func TestWatchKnowsWhereASecretIs(t *testing.T) {
	tenant, other := server.Namespace(t), server.Namespace(t)
	server.Create(t, secret(tenant, "seen"))
	passing := secret(tenant, "passing")
	w := New(newClient(t))
	w.Ensure(tenant)
	if got := w.Where("seen"); got != nil {
		t.Errorf("before the start: %v", got)
	}
	requests := start(t, w)
	knows := func(name string) {
		t.Helper()
		wants(t, requests, tenant, name)
		if got := w.Where(name); !slices.Equal(got, []string{tenant}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	knows("seen")
	w.Ensure(other)
	wants(t, requests, other, "")
	server.Create(t, passing)
	knows("passing")
	expect.NoError(t, server.Client.Delete(t.Context(), passing))
	wants(t, requests, tenant, "passing")
	if got := w.Where("passing"); got != nil {
		t.Errorf("after it was deleted: %v", got)
	}
}

// A Secret that is deleted after it was read and before the first list is in no
// list and in no event: a controller that waits for it to go must look once more.
func TestWatchTellsWhenItBegins(t *testing.T) {
	tenant := server.Namespace(t)
	w := New(newClient(t))
	requests := start(t, w)
	w.Ensure(tenant)
	wants(t, requests, tenant, "")
}

func TestWatchTellsWhenMissingRightsHaveCome(t *testing.T) {
	tenant := server.Namespace(t)
	refused := make(chan struct{}, 100)
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "manager-of-" + tenant}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{next, refused} })
	w, err := NewForConfig(config)
	expect.NoError(t, err)
	requests := start(t, w)
	w.Ensure(tenant)
	<-refused
	<-refused
	select {
	case got := <-requests:
		t.Fatalf("reported %q before there were rights", got)
	default:
	}
	server.Create(t,
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "secrets"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "secrets"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "secrets"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: config.Impersonate.UserName}},
		})
	wants(t, requests, tenant, "")
}

// refusals reports each answer with the status Forbidden.
type refusals struct {
	http.RoundTripper

	refused chan<- struct{}
}

func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusForbidden {
		r.refused <- struct{}{}
	}
	return response, err
}

func TestWatchForgetsReleasedNamespaces(t *testing.T) {
	one, two := server.Namespace(t), server.Namespace(t)
	server.Create(t, secret(one, "a"), secret(two, "b"))
	w := New(newClient(t))
	requests := start(t, w)
	w.Ensure(one)
	wants(t, requests, one, "a")
	for _, namespace := range []string{one, "never-asked-for"} {
		expect.NoError(t, w.Release(t.Context(), server.Client, namespace))
	}
	w.Ensure(two)
	wants(t, requests, two, "b")

	w.mu.Lock()
	defer w.mu.Unlock()
	_, found := w.namespaces[one]
	expect.That(t, !found && len(w.namespaces) == 1, "namespaces watched: %v, want only %s", w.namespaces, two)
}

// A controller may begin to need the watch of a namespace while Release checks whether one does, for which its
// reader may wait for a cache. The controller does not wait for that, and has the watch in the end.
func TestReleaseLosesNoWatchThatIsAskedForMeanwhile(t *testing.T) {
	w := New(newClient(t))
	w.Ensure("tenant")
	asked := make(chan struct{})
	reader := listing(func() error {
		go func() {
			w.Ensure("tenant")
			close(asked)
		}()
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Error("the watch cannot be asked for while it is looked who needs it")
		}
		return nil
	})
	expect.NoError(t, w.Release(t.Context(), reader, "tenant", usersIn("tenant")))
	<-asked
	_, found := w.namespaces["tenant"]
	expect.That(t, found, "the watch is lost")
}

func TestReleaseAsksNothingAboutANamespaceThatIsNotWatched(t *testing.T) {
	asked := listing(func() error { return errors.New("asked") })
	if err := New(newClient(t)).Release(t.Context(), asked, "tenant", usersIn("tenant")); err != nil {
		t.Error(err)
	}
}

func TestListenersHearOfEveryChange(t *testing.T) {
	tenant := server.Namespace(t)
	w := New(newClient(t))
	heard := make(chan types.NamespacedName, 100)
	w.Subscribe(func(_ context.Context, namespace, name string) {
		heard <- types.NamespacedName{Namespace: namespace, Name: name}
	})
	start(t, w)
	w.Hold(tenant)
	wants(t, heard, tenant, "")
	server.Create(t, secret(tenant, "new"))
	wants(t, heard, tenant, "new")
}

func TestAHeldWatchStaysUntilItIsDropped(t *testing.T) {
	w := New(newClient(t))
	watched := func(want bool) {
		t.Helper()
		_, found := w.namespaces["tenant"]
		expect.Must(t, found == want, "watched: %v, want %v", found, want)
	}
	release := func() {
		t.Helper()
		expect.NoError(t, w.Release(t.Context(), server.Client, "tenant"))
	}
	w.Hold("tenant")
	w.Hold("tenant")
	w.Ensure("tenant")
	w.Drop("tenant")
	release()
	watched(true)
	w.Drop("tenant")
	watched(false)
	w.Drop("tenant") // it is not watched
	w.Ensure("tenant")
	w.Hold("tenant")
	w.Drop("tenant")
	watched(true)
	release()
	watched(false)
}

// usersIn are the ServiceAccounts of a namespace.
func usersIn(namespace string) User {
	return User{List: &corev1.ServiceAccountList{}, Which: client.InNamespace(namespace)}
}

// listing is a client that answers lists by a function.
func listing(answer func() error) client.Reader {
	return interceptor.NewClient(server.Client, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return answer()
		},
	})
}

// A watch is stopped with the last object in its namespace of the kinds that need it.
func TestReleaseOfTheLastUser(t *testing.T) {
	user := func(namespace string) client.Object {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "user"}}
	}
	tenant, other := server.Namespace(t), server.Namespace(t)
	w := New(newClient(t))
	w.Ensure(tenant)
	release := func(reader client.Reader, want bool) error {
		t.Helper()
		err := w.Release(t.Context(), reader, tenant, User{&corev1.ConfigMapList{}, client.InNamespace(tenant)}, usersIn(tenant))
		if _, found := w.namespaces[tenant]; found != want {
			t.Errorf("watched: %v, want %v", found, want)
		}
		return err
	}
	blind := listing(func() error { return errors.New("broken") })
	if err := release(blind, true); err == nil {
		t.Error("the error is lost")
	}
	server.Create(t, user(tenant), user(other))
	expect.NoError(t, release(server.Client, true))
	expect.NoError(t, server.Client.Delete(t.Context(), user(tenant)))
	expect.NoError(t, release(server.Client, false))
}
