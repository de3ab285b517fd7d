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
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestAnotherTokenKeepsTheWatches(t *testing.T) {
	w, h, f := newWorld(t), newHosts(t, rules()), newFront(t)
	old, fresh := h.token(t, "old"), h.token(t, "fresh")
	w.secret(t, "infra", h.kubeconfig(t, old, f.leads))
	user := w.machine("m")
	w.Bind(user, "o")
	before := w.site(t, user, w.ref("infra"))
	eventually(t, "three kinds are watched", func() bool { return len(f.watches()) == 3 })
	f.requests()

	w.secret(t, "infra", h.kubeconfig(t, fresh, f.leads))
	var later []asked
	eventually(t, "the new token is tried at once", func() bool {
		later = append(later, f.requests()...)
		return slices.Contains(later, asked{"GET", "v1alpha1", "Bearer " + fresh, "test"})
	})
	after := w.site(t, user, w.ref("infra"))
	expect.That(t, before.Client == after.Client, "the connection is another one")
	// A pass that holds the former site writes with the new token too.
	expect.NoError(t, before.Client.Create(t.Context(), h.claim("m", "o")))
	<-w.woken
	for _, a := range append(later, f.requests()...) {
		expect.That(t, a.authorization == "Bearer "+fresh, "%s %s was asked with the old token", a.Verb, a.Resource)
		expect.That(t, a.Verb != "watch", "%s are watched anew", a.Resource)
	}
}

// Credentials that two Secrets share are not changed for one of them.
func TestAnotherTokenOfASharedConnection(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	old, fresh := h.kubeconfig(t, h.token(t, "old")), h.kubeconfig(t, h.token(t, "fresh"))
	w.secret(t, "a", old)
	w.secret(t, "b", old)
	a, b := w.site(t, w.machine("a"), w.ref("a")), w.site(t, w.machine("b"), w.ref("b"))
	expect.Must(t, a.Client == b.Client, "they do not share")
	w.secret(t, "a", fresh)
	other := wait(t, w, func() (client.Client, bool) {
		site, err := w.Site(w.machine("a"), w.ref("a"))
		return site.Client, err == nil && site.Client != a.Client
	})
	if site, err := w.Site(w.machine("b"), w.ref("b")); err != nil || site.Client != b.Client {
		t.Errorf("b is concerned: %v", err)
	}
	w.secret(t, "b", fresh)
	wait(t, w, func() (bool, bool) {
		site, err := w.Site(w.machine("b"), w.ref("b"))
		return true, err == nil && site.Client == other
	})
	expect.Equal(t, map[string]float64{"Connected": 1}, w.gauge(t, "capm3_remote_connections"))
}

// Anything else in a kubeconfig makes another connection. The former one serves until
// that is ready, and no user is without one in between.
func TestTheOldConnectionServesUntilTheNewOneIsReady(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	f, next := newFront(t), newFront(t)
	token := h.token(t, "bound")
	w.secret(t, "infra", h.kubeconfig(t, token, f.leads))
	user := w.machine("m")
	before := w.site(t, user, w.ref("infra"))

	asked, proceed := make(chan struct{}, 100), make(chan struct{})
	next.on(func(http.ResponseWriter, *http.Request) bool {
		asked <- struct{}{}
		<-proceed
		return false
	})
	w.secret(t, "infra", h.kubeconfig(t, token, next.leads))
	<-asked
	if site, err := w.Site(user, w.ref("infra")); err != nil || site.Client != before.Client {
		t.Errorf("the user has %v, %v while the new connection is being made", site.Target, err)
	}
	close(proceed)
	wait(t, w, func() (bool, bool) {
		site, err := w.Site(user, w.ref("infra"))
		expect.That(t, err == nil, "the user is without a site: %v", err)
		return true, err == nil && site.Target.Server == next.URL
	})
	eventually(t, "the old connection is closed", func() bool { return len(f.watches()) == 0 })
}

// A kubeconfig that leads nowhere is reported, although the former one would still do.
func TestABadKubeconfigReplacesAGoodOne(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	token := h.token(t, "bound")
	w.secret(t, "infra", h.kubeconfig(t, token))
	user := w.machine("m")
	w.site(t, user, w.ref("infra"))
	w.secret(t, "infra", h.kubeconfig(t, token, func(c *clientcmdapi.Config) { c.Clusters["infra"].Server = "https://" + refusing(t) }))
	w.problem(t, user, w.ref("infra"), infrav1.IdentityUnreachableReason)
	w.secret(t, "infra", []byte("no"))
	w.problem(t, user, w.ref("infra"), infrav1.InvalidKubeconfigReason)
	expect.NoError(t, server.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "infra"}}))
	w.problem(t, user, w.ref("infra"), infrav1.IdentitySecretNotFoundReason)
	w.secret(t, "infra", h.kubeconfig(t, token))
	w.site(t, user, w.ref("infra"))
}

// A token that the API server has forgotten is noticed by the next request with it,
// and mending the Secret is enough.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "first")))
	user := w.machine("m")
	site := w.site(t, user, w.ref("infra"))
	expect.NoError(t, server.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "first"}}))
	// The API server remembers for ten seconds that it knows a token.
	eventually(t, "the API server forgets the token", func() bool {
		return site.Live.List(t.Context(), &bmov1alpha1.HostClaimList{}) != nil
	})
	w.problem(t, user, w.ref("infra"), infrav1.IdentityUnauthorizedReason)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "second")))
	w.site(t, user, w.ref("infra"))
}

// A token that expires is noticed by the next request with it.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHosts(t, rules())
	// API servers are lenient with a token for a minute.
	w.secret(t, "infra", h.kubeconfig(t, expiring(t, h.token(t, "bound"), time.Now().Add(10*time.Second-time.Minute))))
	user := w.machine("m")
	site := w.site(t, user, w.ref("infra"))
	eventually(t, "the API server forgets the token", func() bool {
		return site.Live.List(t.Context(), &bmov1alpha1.HostClaimList{}) != nil
	})
	w.problem(t, user, w.ref("infra"), infrav1.IdentityUnauthorizedReason)
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "second")))
	w.site(t, user, w.ref("infra"))
}

// expiring is a token as the API server has signed it, but for the end of its life.
func expiring(t *testing.T, token string, end time.Time) string {
	t.Helper()
	text, err := server.TokenKey()
	expect.NoError(t, err)
	block, _ := pem.Decode(text)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	expect.NoError(t, err)
	key, ok := parsed.(*ecdsa.PrivateKey)
	expect.Must(t, ok, "tokens are signed by a %T", parsed)
	parts := strings.Split(token, ".")
	claims := map[string]any{}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	expect.NoError(t, err)
	expect.NoError(t, json.Unmarshal(payload, &claims))
	issued := end.Add(-10 * time.Minute).Unix()
	claims["exp"], claims["iat"], claims["nbf"] = end.Unix(), issued, issued
	if payload, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	r, second, err := ecdsa.Sign(rand.Reader, key, sum[:])
	expect.NoError(t, err)
	signature := slices.Concat(r.FillBytes(make([]byte, 32)), second.FillBytes(make([]byte, 32)))
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// A right that is taken away is noticed when it is missed, and one that comes back
// by itself: there is nothing to be watched.
func TestLostRight(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	user := w.machine("m")
	site := w.site(t, user, w.ref("infra"))
	h.setRules(t, slices.DeleteFunc(rules(), func(r rule) bool { return r.Resources[0] == "hostclaims" }))
	eventually(t, "the right is gone", func() bool {
		err := site.Client.Create(t.Context(), h.claim("m", "o"))
		return apierrors.IsForbidden(err) || errors.As(err, new(*identity.Problem))
	})
	got := w.problem(t, user, w.ref("infra"), infrav1.IdentityForbiddenReason)
	want := "The credentials may not get, list, watch, create, patch, delete hostclaims.metal3.io in namespace \"" + h.namespace + "\" of " +
		site.Target.Server + ": have a Role there that permits it bound to their user"
	expect.Equal(t, want, got)
	h.setRules(t, rules())
	w.site(t, user, w.ref("infra"))
}
