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
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// flood sends new claims of 4 kB in each watch on claims, and ends it as watches end.
func (h hosts) flood(t *testing.T, claims *atomic.Int64) func(http.ResponseWriter, *http.Request) bool {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "" || path.Base(r.URL.Path) != "hostclaims" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		for range 200 {
			n := claims.Add(1)
			claim := h.claim(fmt.Sprintf("claim-%d", n), "o")
			claim.ResourceVersion = fmt.Sprint(1_000_000 + n)
			claim.Annotations = map[string]string{"a": strings.Repeat("x", 4<<10)}
			claim.TypeMeta = metav1.TypeMeta{APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim"}
			if json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": claim}) != nil {
				return true
			}
		}
		return true
	}
}

// A watch that ends is resumed, and the claims that it added stay: a cluster that adds
// new ones all the time is cut off, and its neighbor is not.
func TestAConnectionThatHoldsTooMuchIsCutOff(t *testing.T) {
	const most = 4 << 20
	w := newWorld(t, func(o *remote.Options) { o.ConnectionMemory = most })
	h, f := newHosts(t, rules()), newFront(t)
	token := h.token(t, "bound")
	w.secret(t, "honest", h.kubeconfig(t, token))
	w.secret(t, "hostile", h.kubeconfig(t, token, f.leads))
	honest, hostile := w.machine("honest"), w.machine("hostile")
	before := w.site(t, honest, w.ref("honest"))
	w.site(t, hostile, w.ref("hostile"))

	var sent atomic.Int64
	f.on(h.flood(t, &sent))
	f.CloseClientConnections()
	message := w.problem(t, hostile, w.ref("hostile"), infrav1.IdentityMemoryLimitReason)
	for _, part := range []string{"more than the 4 MiB that one connection may take", "delete there what no machine uses", "--identity-connection-memory"} {
		expect.That(t, strings.Contains(message, part), "%q lacks %q", message, part)
	}
	// The last watches are read to their end by the reflector, but not kept.
	n := sent.Load()
	expect.That(t, n <= 3*most/(4<<10), "%d claims were read before it was cut off", n)
	eventually(t, "what it held is given back", func() bool { return w.gauge(t, "capm3_remote_held_bytes")[w.tenant] < most/4 })
	expect.That(t, w.site(t, honest, w.ref("honest")).Client == before.Client, "its neighbor was cut off too")
}

// All contexts of a Secret are read and parsed once, and connect as many times as the
// namespace may.
func TestManyContextsOfOneSecret(t *testing.T) {
	w := newWorld(t, func(o *remote.Options) { o.MaxConnections = 2 })
	h := newHosts(t, rules())
	const contexts = 20
	text := h.kubeconfig(t, h.token(t, "bound"), func(c *clientcmdapi.Config) {
		for i := range contexts {
			name := fmt.Sprintf("c-%02d", i)
			other := *c.Contexts["hosts"]
			other.AuthInfo = name
			c.Contexts[name] = &other
			user := *c.AuthInfos["tenant"]
			if i > 0 {
				user.Token = name
			}
			c.AuthInfos[name] = &user
		}
	})
	w.secret(t, "infra", text)
	ref := func(i int) identity.Ref {
		return identity.Ref{Namespace: w.tenant, Secret: "infra", Context: fmt.Sprintf("c-%02d", i)}
	}
	user := func(i int) remote.User { return w.machine(fmt.Sprintf("m-%02d", i)) }
	w.site(t, user(0), ref(0))
	for i := range contexts {
		if _, err := w.Site(user(i), ref(i)); err == nil && i > 0 {
			t.Fatalf("context %d is connected", i)
		}
	}
	reached := func() (full int) {
		for i := 1; i < contexts; i++ {
			_, problem := w.Site(user(i), ref(i))
			if problem != nil && problem.Reason == infrav1.IdentityConnectionLimitReason {
				full++
			}
		}
		return full
	}
	wait(t, w, func() (bool, bool) { return true, reached() == contexts-2 })
	expect.Equal(t, 1, w.counter(t, "capm3_remote_kubeconfigs_parsed_total"))
	connections := 0.0
	for _, n := range w.gauge(t, "capm3_remote_connections") {
		connections += n
	}
	expect.Equal(t, 2, connections)
	// Another namespace has room of its own, and one that goes makes room.
	other := identity.Ref{Namespace: server.Namespace(t), Secret: "infra"}
	if _, err := w.Site(w.machine("other"), other); err == nil || strings.Contains(err.Error(), "as many as") {
		t.Errorf("another namespace: %v", err)
	}
	w.Release(user(0))
	wait(t, w, func() (bool, bool) { return true, reached() == contexts-3 })
}

// TestNewTokensOfManyContexts gives many contexts that share a connection a token each:
// each would need a connection of its own beside the shared one.
func TestNewTokensOfManyContexts(t *testing.T) {
	w := newWorld(t, func(o *remote.Options) { o.MaxConnections = 2 })
	h := newHosts(t, rules())
	const contexts = 12
	token := h.token(t, "bound")
	with := func(token func(i int) string) []byte {
		return h.kubeconfig(t, token(0), func(c *clientcmdapi.Config) {
			for i := range contexts {
				name := fmt.Sprintf("c-%02d", i)
				other, user := *c.Contexts["hosts"], *c.AuthInfos["tenant"]
				other.AuthInfo, user.Token = name, token(i)
				c.Contexts[name], c.AuthInfos[name] = &other, &user
			}
		})
	}
	w.secret(t, "infra", with(func(int) string { return token }))
	ref := func(i int) identity.Ref {
		return identity.Ref{Namespace: w.tenant, Secret: "infra", Context: fmt.Sprintf("c-%02d", i)}
	}
	user := func(i int) remote.User { return w.machine(fmt.Sprintf("m-%02d", i)) }
	for i := range contexts {
		w.site(t, user(i), ref(i))
	}
	w.secret(t, "infra", with(func(i int) string { return fmt.Sprintf("new-%d", i) }))
	wait(t, w, func() (bool, bool) {
		full := 0
		for i := range contexts {
			_, problem := w.Site(user(i), ref(i))
			if problem != nil && problem.Reason == infrav1.IdentityConnectionLimitReason {
				full++
			}
		}
		return true, full >= contexts-4
	})
	for namespace, n := range w.gauge(t, "capm3_remote_connections") {
		expect.That(t, n <= 4, "there are %v connections for %s", n, namespace)
	}
}
