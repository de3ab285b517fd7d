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

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// silent accepts connections and never answers.
func silent(t *testing.T) (address string, accepted <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	connections := make(chan struct{}, 1000)
	var held []net.Conn
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, c)
			connections <- struct{}{}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		done.Wait()
		for _, c := range held {
			_ = c.Close()
		}
	})
	return listener.Addr().String(), connections
}

// One cluster accepts and never answers, one refuses, one drops every watch and one
// hangs in the middle. Users of a healthy one get their site while the first look at
// the silent one has not even ended, and hear of changes.
func TestDeadClustersHoldNoOtherUp(t *testing.T) {
	// Nothing of the silent cluster ends by itself during this test.
	w := newWorld(t, func(o *remote.Options) { o.RequestTimeout = 10 * timeout })
	h := newHosts(t, rules())
	token := h.token(t, "bound")
	mute, accepted := silent(t)
	dropping, hanging := newFront(t), newFront(t)
	dropping.on(drop)
	hanging.on(hang)
	at := func(address string) func(*clientcmdapi.Config) {
		return func(c *clientcmdapi.Config) { c.Clusters["infra"].Server = "https://" + address }
	}
	const each = 20
	for name, leads := range map[string]func(*clientcmdapi.Config){
		"silent": at(mute), "refusing": at(refusing(t)), "dropping": dropping.leads, "hanging": hanging.leads,
	} {
		w.secret(t, name, h.kubeconfig(t, token, leads))
		for i := range each {
			user := w.machine(fmt.Sprintf("%s-%d", name, i))
			w.Bind(user, user.Name)
			_, err := w.Site(user, w.ref(name))
			expect.Must(t, err != nil, "%s is ready at once", name)
		}
	}
	<-accepted

	w.secret(t, "healthy", h.kubeconfig(t, token))
	user := w.machine("healthy")
	w.Bind(user, "healthy")
	site := w.site(t, user, w.ref("healthy"))
	for _, name := range []string{"silent", "hanging"} {
		_, problem := w.Site(w.machine(name+"-0"), w.ref(name))
		expect.That(t, problem != nil && problem.Reason == infrav1.IdentityConnectingReason, "%s: %v, want it to hang still", name, problem)
	}
	claim := h.claim("healthy", "healthy")
	expect.NoError(t, site.Client.Create(t.Context(), claim))
	wait(t, w, func() (bool, bool) {
		return true, site.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) == nil
	})
	// Watches that are dropped are as good as slow ones: changes arrive all the same.
	late := w.site(t, w.machine("dropping-0"), w.ref("dropping"))
	eventually(t, "changes arrive although watches are dropped", func() bool {
		return late.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), &bmov1alpha1.HostClaim{}) == nil
	})
	w.problem(t, w.machine("refusing-0"), w.ref("refusing"), infrav1.IdentityUnreachableReason)
	// The silent one has seen one connection and no more.
	n := len(accepted)
	expect.That(t, n == 0, "the silent cluster has been connected to %d times more", n)
}

// A cluster that looks well and hangs when it is used is left alone after the first
// requests, and a fifth one does not even start.
func TestRequestsEnd(t *testing.T) {
	w := newWorld(t, func(o *remote.Options) { o.RequestTimeout = 3 * time.Second })
	h, f := newHosts(t, rules()), newFront(t)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound"), f.leads))
	user := w.machine("m")
	site := w.site(t, user, w.ref("infra"))
	f.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/hostclaims") {
			return hang(w, r)
		}
		return false
	})
	w.forget()
	ended := make(chan error, 5)
	for i := range 5 {
		go func() {
			ended <- site.Client.Create(context.WithoutCancel(t.Context()), h.claim(fmt.Sprintf("m-%d", i), "o"))
		}()
	}
	var first *identity.Problem
	if err := <-ended; !errors.As(err, &first) || !strings.HasSuffix(first.Message, "it answers too slowly; other requests are still under way") {
		t.Errorf("the first to end says %v", err)
	}
	for range 4 {
		var problem *identity.Problem
		if err := <-ended; !errors.As(err, &problem) || problem.Reason != infrav1.IdentityUnreachableReason {
			t.Errorf("the request ends with %v", err)
		}
	}
	w.problem(t, user, w.ref("infra"), infrav1.IdentityUnreachableReason)
	f.on(nil)
	w.site(t, user, w.ref("infra"))
}

// An API server that restarts is found again, with what has changed meanwhile.
func TestLostAndFound(t *testing.T) {
	w, h, f := newWorld(t), newHosts(t, rules()), newFront(t)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound"), f.leads))
	user := w.machine("m")
	before := w.site(t, user, w.ref("infra"))
	abort := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	f.on(abort)
	f.CloseClientConnections()
	w.problem(t, user, w.ref("infra"), infrav1.IdentityUnreachableReason)
	f.requests()
	// What the cache had asked before it was given up may still arrive, but not after a look.
	eventually(t, "the lost cluster is looked at", func() bool {
		return slices.ContainsFunc(f.requests(), func(a asked) bool { return a.Resource == "v1alpha1" })
	})
	looks := 0
	eventually(t, "the lost cluster is looked at again and again", func() bool {
		for _, a := range f.requests() {
			expect.Must(t, a.Resource == "v1alpha1", "a lost cluster is asked: %s %s", a.Verb, a.Resource)
			looks++
		}
		return looks > 2
	})
	server.Create(t, h.claim("m", "o"))
	f.on(nil)
	after := w.site(t, user, w.ref("infra"))
	expect.That(t, before.Client != after.Client, "the cache is still the old one")
	expect.NoError(t, after.Client.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: "m"}, &bmov1alpha1.HostClaim{}))
}

// Answers of a remote cluster are read to a limit, its Retry-After is ignored, and its
// redirections are not followed.
func TestHostileAnswers(t *testing.T) {
	w := newWorld(t, func(o *remote.Options) { o.MaxAnswer = 1 << 20 })
	h, f := newHosts(t, rules()), newFront(t)
	elsewhere := newFront(t)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound"), f.leads))
	site := w.site(t, w.machine("m"), w.ref("infra"))
	for name, tt := range map[string]struct {
		act  func(http.ResponseWriter, *http.Request) bool
		want string
	}{
		"an answer that is too large": {
			act:  answers(http.StatusOK, strings.Repeat(" ", 2<<20)),
			want: "an answer of it is larger than what this manager reads",
		},
		"a wish to come again in a day": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Retry-After", "86400")
				return answers(http.StatusTooManyRequests, "")(w, r)
			},
			want: "too many requests",
		},
		"a redirection": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Location", elsewhere.URL+r.URL.Path)
				return answers(http.StatusTemporaryRedirect, "")(w, r)
			},
			want: "307",
		},
		"a body without end": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				return hang(w, r)
			},
			want: "it does not answer in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f.on(tt.act)
			defer f.on(nil)
			err := site.Live.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: "m"}, &bmov1alpha1.HostClaim{})
			expect.Error(t, tt.want, err)
		})
	}
	got := elsewhere.requests()
	expect.That(t, len(got) == 0, "the redirection was followed: %v", got)
}
