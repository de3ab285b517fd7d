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

package kubeconfigreader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// one is a reader that knows a single kubeconfig.
type one struct {
	client.Reader
	kubeconfig string
}

func (o one) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	into, ok := object.(*corev1.Secret)
	if !ok {
		return errors.New("not a Secret")
	}
	into.Namespace, into.Name = key.Namespace, key.Name
	into.Data = map[string][]byte{"value": []byte(o.kubeconfig)}
	return nil
}

func noAddresses(context.Context) []netip.Prefix { return nil }

func TestKubeconfigs(t *testing.T) {
	const head = "apiVersion: v1\nkind: Config\nclusters: [{name: k, cluster: {server: 'https://203.0.113.7'}}]\n" +
		"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
	const user = "users: [{name: u, user: {token: s3cret}}]"
	key := client.ObjectKey{Namespace: "tenant-b", Name: "evil-kubeconfig"}
	reader := func(t *testing.T, text string) *Kubeconfigs {
		t.Helper()
		k, err := New(Options{Secrets: one{kubeconfig: text}, Denied: func(context.Context) []netip.Prefix {
			return []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}
		}})
		expect.NoError(t, err)
		return k
	}
	t.Run("neither the token nor the address are handed out", func(t *testing.T) {
		got := &corev1.Secret{}
		expect.NoError(t, reader(t, head+user).Get(t.Context(), key, got))
		if text := string(got.Data["value"]); strings.Contains(text, "s3cret") || strings.Contains(text, "203.0.113.7") {
			t.Errorf("client-go is given %s", text)
		}
	})
	for name, evil := range map[string]string{
		"a file of the manager": head + "users: [{name: u, user: {tokenFile: /token}}]",
		"memory":                head + user + "\na: &a xxx\nb: [*a, *a]",
		"a proxy":               strings.Replace(head, "cluster: {", "cluster: {proxy-url: 'http://192.0.2.1', ", 1) + user,
		"TLS without checks":    strings.Replace(head, "cluster: {", "cluster: {insecure-skip-tls-verify: true, ", 1) + user,
		"a denied address":      strings.Replace(head, "203.0.113.7", "169.254.169.254", 1) + user,
	} {
		t.Run("withholds one that asks for "+name, func(t *testing.T) {
			got := &corev1.Secret{}
			err := reader(t, evil).Get(t.Context(), key, got)
			var forbidden *identity.Problem
			expect.That(t, errors.As(err, &forbidden) && forbidden.Reason == infrav1.ForbiddenKubeconfigFeatureReason, "error %v, want one of a forbidden feature", err)
			expect.Equal(t, &corev1.Secret{}, got)
		})
	}
	t.Run("reads nothing else", func(t *testing.T) {
		expect.That(t, reader(t, "").Get(t.Context(), key, &corev1.ConfigMap{}) != nil, "a ConfigMap was read")
	})
	t.Run("sends nothing for a Cluster that was deleted", func(t *testing.T) {
		k := reader(t, head+user)
		expect.NoError(t, k.Get(t.Context(), key, &corev1.Secret{}))
		k.Forget("tenant-b", "evil")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, k.scheme+"://"+hostOf(key), http.NoBody)
		expect.NoError(t, err)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			_ = response.Body.Close()
		}
		expect.That(t, errors.Is(err, errGone) && len(k.transports) == 0, "error %v, %d connections", err, len(k.transports))
	})
}

// A namespace has so many connections to workload clusters, and one too many is reported to its
// owner. Another namespace has its own, and one that goes makes room.
func TestAttackManyWorkloadClusters(t *testing.T) {
	const most = 3
	k, err := New(Options{Denied: noAddresses, MaxConnections: most, Secrets: one{kubeconfig: "apiVersion: v1\nkind: Config\n" +
		"clusters: [{name: k, cluster: {server: 'https://203.0.113.7'}}]\nusers: [{name: u, user: {token: s3cret}}]\n" +
		"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"}})
	expect.NoError(t, err)
	var told []client.ObjectKey
	k.OnRefused(func(cluster client.ObjectKey) { told = append(told, cluster) })
	get := func(namespace string, n int) error {
		return k.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("c-%d-kubeconfig", n)}, &corev1.Secret{})
	}
	for n := range most {
		expect.NoError(t, errors.Join(get("a", n), get("a", n), get("other", n)))
	}
	last := client.ObjectKey{Namespace: "a", Name: fmt.Sprintf("c-%d", most)}
	expect.Error(t, "--workload-connections-per-namespace", get("a", most))
	expect.That(t, k.Refused(last) != nil && len(told) == 1 && told[0] == last, "%v is told of, %v of %v", told, k.Refused(last), last)
	k.Forget("a", "c-0")
	if err := get("a", most); err != nil || k.Refused(last) != nil {
		t.Errorf("where one has gone: %v", errors.Join(err, k.Refused(last)))
	}
}

func TestListsOfANamespaceLeaveRoom(t *testing.T) {
	l := newLists()
	expect.That(t, l.read("a", maxListsOfNamespace) && !l.read("a", 1), "a namespace has more or less than its part")
	expect.That(t, l.read("b", maxLists-maxListsOfNamespace-1) && !l.read("b", 1), "another namespace has more or less than what is left")
	expect.That(t, l.event("a", maxEventsOfNamespace) && !l.event("a", 1) && l.event("b", maxEventsOfNamespace), "events of a namespace take more or less than its part")
	l.event("a", -maxEventsOfNamespace-1)
	l.event("b", -maxEventsOfNamespace)
	for namespace, weight := range map[string]int64{"a": maxListsOfNamespace + 1, "b": maxLists - maxListsOfNamespace} {
		l.read(namespace, -weight)
	}
	expect.That(t, l.sum == 0 && len(l.ofNamespace) == 0 && len(l.events) == 0, "%d, %v and %v are left", l.sum, l.ofNamespace, l.events)
}
