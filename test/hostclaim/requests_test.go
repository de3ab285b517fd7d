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

package hostclaim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// ledger notes the requests that a manager makes beside those of its caches and
// events.
type ledger struct {
	mu    sync.Mutex
	lines []string
}

func (l *ledger) transport(next http.RoundTripper) http.RoundTripper {
	return connection(func(request *http.Request) (*http.Response, error) {
		if line := lineOf(request); line != "" {
			l.mu.Lock()
			l.lines = append(l.lines, line)
			l.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// lineOf is a request as "method kind what", empty for those that do not count.
func lineOf(request *http.Request) string {
	query := request.URL.Query()
	kinds := []string{"hostclaims", "baremetalhosts", "hostdeploypolicies", "hardwaredata", "secrets", "namespaces"}
	parts := strings.Split(request.URL.Path, "/")
	at := slices.IndexFunc(kinds, func(kind string) bool { return slices.Contains(parts, kind) })
	if at < 0 || query.Has("watch") || query.Has("resourceVersion") || slices.Contains(parts, "events") {
		return ""
	}
	line, body := request.Method+" "+kinds[at], bodyOf(request)
	var writes []string
	for _, row := range [...]struct{ what, sign string }{
		{"intent", `"Binding"`},
		{"record", "intended-host"},
		{"finalizer", `"finalizers"`},
		{"consumerRef", "consumerRef"},
		{"block-move", "block-move"},
		{"associated", `"BareMetalHostAssociated"`},
		{"power", `"online"`},
		{"image", `"image"`},
	} {
		if strings.Contains(body, row.sign) && request.Method == http.MethodPatch {
			writes = append(writes, row.what)
		}
	}
	if slices.Contains(writes, "consumerRef") { // which carries block-move for the host
		writes = slices.DeleteFunc(writes, func(what string) bool { return what == "block-move" })
	}
	if len(writes) > 0 {
		return line + " " + strings.Join(writes, ", ")
	}
	if query.Has("labelSelector") {
		line += " by label"
	}
	return line
}

// take returns what was noted, and forgets it.
func (l *ledger) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// A bind costs these requests, in this order. ADR 0002 has the purpose of each.
func TestRequestsOfABind(t *testing.T) {
	intent := []string{"PATCH hostclaims intent", "PATCH hostclaims record, finalizer, block-move"}
	bound := []string{"PATCH baremetalhosts consumerRef, power", "GET hostclaims", "POST hardwaredata", "PATCH hostclaims associated"}
	tests := map[string]struct {
		own, waited, labels bool
		want                []string
	}{
		"of a host in another namespace": {want: slices.Concat(intent, []string{"GET hostdeploypolicies"}, bound)},
		"of a host in another namespace, whose policy looks at labels": {
			labels: true, want: slices.Concat(intent, []string{"GET hostdeploypolicies", "GET namespaces"}, bound),
		},
		"of a host in the own namespace": {own: true, want: slices.Concat(intent, bound)},
		"of a claim that has waited": {own: true, waited: true, want: slices.Concat(
			[]string{"GET baremetalhosts by label", intent[0], "PATCH hostclaims record, block-move"}, bound)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, l := newWorld(t).withRights(), &ledger{}
			switch {
			case tt.own:
				w.infra = w.tenant
			case tt.labels:
				w.Make(w.admitting(bmov1alpha1.HostClaimNamespaces{
					HasLabels: []bmov1alpha1.NameValuePair{{Name: corev1.LabelMetadataName, Value: w.tenant}},
				}))
			default:
				w.policy(nil, w.tenant)
			}
			if !tt.waited {
				w.host("host-0", nil)
			}
			w.transport = l.transport
			w.manager()
			l.take()
			w.claim("machine", func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = w.infra })
			if tt.waited {
				w.expect("machine", associated, noHost)
				l.take()
				w.host("host-0", nil)
			}
			w.expectBound("machine")
			lines := l.take()
			w.G.Expect(lines).To(gomega.ContainElement("PATCH hostclaims associated"))
			// A claim that waits may write a new explanation before its turn comes.
			start, end := slices.Index(lines, tt.want[0]), slices.Index(lines, "PATCH hostclaims associated")+1
			expect.Equal(t, tt.want, lines[max(start, 0):end])
		})
	}
}

// A host of another namespace is read again when the secrets are next to it, then the policy, then
// the claim: a later change of any of them meets a newer host, or is too late.
func TestRequestsBeforeAnImage(t *testing.T) {
	w, l := newWorld(t).withRights(), &ledger{}
	w.withHosts("host-0")
	w.OK(w.Create(w.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "boot"}, Data: map[string][]byte{"value": []byte("x")},
	}))
	w.transport = l.transport
	w.manager()
	w.served()
	lines := l.take()
	told := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "PATCH baremetalhosts") && strings.Contains(line, "image")
	})
	want := []string{"GET baremetalhosts", "GET hostdeploypolicies", "GET hostclaims"}
	expect.Must(t, told >= len(want) && slices.Contains(lines[:told-len(want)], "PATCH secrets"), "no secret was copied, or no image told: %v", lines)
	expect.Equal(t, want, lines[told-len(want):told])
}

// A release costs these requests, in this order. The copies of the claim, and those that the host
// owns, are listed once each.
func TestRequestsOfARelease(t *testing.T) {
	for name, tt := range map[string]struct {
		own    bool
		sweeps []string
	}{
		"of a host in another namespace": {sweeps: []string{"GET secrets by label", "GET secrets by label"}},
		"of a host in the own namespace": {own: true, sweeps: []string{"GET secrets by label"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, l := newWorld(t).withRights(), &ledger{}
			if tt.own {
				w.infra = w.tenant
			} else {
				w.policy(nil, w.tenant)
			}
			w.host("host-0", nil)
			w.transport = l.transport
			w.manager()
			w.bound(func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = w.infra })
			w.end("machine")
			w.expectFree("host-0")
			lines := l.take()
			want := slices.Concat([]string{"PATCH baremetalhosts power", "GET baremetalhosts"}, tt.sweeps, []string{
				"DELETE hardwaredata",
				"PATCH baremetalhosts consumerRef",
				"GET baremetalhosts by label",
				"PATCH hostclaims finalizer",
			})
			// Reports, and looks at a claim that the cache still shows after it, depend on
			// how fast cache and host are.
			lines = slices.DeleteFunc(lines, func(line string) bool { return line == "PATCH hostclaims associated" })
			begun, end := slices.Index(lines, want[0]), slices.Index(lines, "PATCH hostclaims finalizer")
			w.G.Expect(begun).To(gomega.And(gomega.BeNumerically(">=", 0), gomega.BeNumerically("<", end)))
			expect.Equal(t, want, lines[begun:end+1])
		})
	}
}
