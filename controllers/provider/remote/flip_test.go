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
	"fmt"
	"net/http"
	"path"
	"runtime"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// memory prints and returns how many goroutines there are, and what is in memory.
func memory(t *testing.T, when string) int {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	n := runtime.NumGoroutine()
	t.Logf("%s: %d goroutines, %.1f MiB", when, n, float64(m.HeapAlloc)/(1<<20))
	return n
}

// Connections that come and go leave no goroutine behind, whether their caches were
// filled or not.
func TestAttackConnectionsThatComeAndGo(t *testing.T) {
	const each = 30
	w, h, f := newWorld(t), newHosts(t, rules()), newFront(t)
	text := h.kubeconfig(t, h.token(t, "bound"), f.leads)
	secret := func(n int) string { return fmt.Sprint("infra-", n) }
	for n := range 2 * each {
		w.secret(t, secret(n), text)
	}
	before := memory(t, "before")
	for n := range each {
		w.site(t, w.machine("m"), w.ref(secret(n)))
		w.Release(w.machine("m"))
	}
	memory(t, "after connections with caches")
	listed := make(chan struct{}, 100)
	f.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || path.Base(r.URL.Path) == "v1alpha1" {
			return false
		}
		listed <- struct{}{}
		return hang(w, r)
	})
	for n := range each {
		_, err := w.Site(w.machine("m"), w.ref(secret(each+n)))
		expect.Must(t, err != nil, "it is connected at once")
		for range 3 {
			<-listed
		}
		w.Release(w.machine("m"))
	}
	memory(t, "after connections without")
	eventually(t, "their goroutines end", func() bool { return runtime.NumGoroutine() <= before+each/10 })
	memory(t, "in the end")
}

// A Secret that leads to another namespace with each write makes few connections, and leads to
// its last namespace in the end.
func TestAttackSecretThatFlipsBetweenNamespaces(t *testing.T) {
	const flips = 200
	w, f := newWorld(t), newFront(t)
	var leads [2][]byte
	var namespaces [2]string
	for i := range leads {
		h := newHosts(t, rules())
		leads[i], namespaces[i] = h.kubeconfig(t, h.token(t, "bound"), f.leads), h.namespace
	}
	w.secret(t, "infra", leads[1])
	user := w.machine("m")
	w.site(t, user, w.ref("infra"))
	before := memory(t, "before")
	f.requests()
	for n := range flips {
		w.secret(t, "infra", leads[n%2])
	}
	memory(t, fmt.Sprintf("after %d flips", flips))
	wait(t, w, func() (bool, bool) {
		site, err := w.Site(user, w.ref("infra"))
		return true, err == nil && site.Target.Namespace == namespaces[(flips-1)%2]
	})
	made := 0
	for _, a := range f.requests() {
		if a.Verb == http.MethodGet && a.Resource == "v1alpha1" {
			made++
		}
	}
	t.Logf("%d flips made %d connections", flips, made)
	expect.That(t, made <= flips/10, "%d flips made %d connections", flips, made)
	w.Release(user)
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
	memory(t, "in the end")
}
