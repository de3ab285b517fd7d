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
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	withoutIntent = "!('hostclaim.metal3.io/intended-host' in object.metadata.?annotations.orValue({}))"
	intent        = `{"metadata":{"annotations":{"hostclaim.metal3.io/intended-host":"x"}}}`
)

// refuses has the requests of claim machine that write so, see lineOf, answered for the API server until it is mended.
func refuses(write, answer string) func(*world) func() {
	return func(w *world) func() {
		status := metav1.Status{}
		w.OK(json.Unmarshal([]byte(answer), &status))
		on, wrapped := &atomic.Bool{}, w.transport
		on.Store(true)
		w.transport = func(next http.RoundTripper) http.RoundTripper {
			next = wrapped(next)
			return connection(func(request *http.Request) (*http.Response, error) {
				if !on.Load() || !strings.Contains(lineOf(request), write) || !strings.Contains(request.URL.Path+bodyOf(request), "machine") {
					return next.RoundTrip(request)
				}
				return &http.Response{
					StatusCode: int(status.Code), Request: request, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(answer)),
				}, nil
			})
		}
		return func() {
			on.Store(false)
			harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
				metav1.SetMetaDataLabel(&c.ObjectMeta, "mended", "")
			})
		}
	}
}

// A tenant can bring about that its claim never gets what a bound one must carry. That claim
// then touches no host again and again, keeps none from others, and is bound once it is mended.
func TestClaimThatMayNotBeBoundKeepsNoHostBusy(t *testing.T) {
	tests := map[string]func(w *world) (mend func()){
		"since there is no room left in its annotations": func(w *world) func() {
			notes := func(size int) {
				harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
					metav1.SetMetaDataAnnotation(&c.ObjectMeta, "example.com/notes", strings.Repeat("x", size))
				})
			}
			notes(256<<10 - 100)
			return func() { notes(100) }
		},
		// As for a claim to which the status of an intent can be added, and its annotation cannot.
		"since etcd takes no larger one": refuses("record",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"etcdserver: request is too large"}`),
		"since an admission policy refuses its name on the host": refuses("consumerRef",
			`{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"says team x"}`),
		"since an admission policy refuses it": func(w *world) func() {
			end := w.refuse("hostclaims", withoutIntent, metav1.StatusReasonForbidden)
			w.isRefused(w.readClaim("machine"), intent)
			return end
		},
	}
	for name, refuse := range tests {
		t.Run(name, func(t *testing.T) {
			w, l := newWorld(t), &ledger{}
			w.withHosts("host-0")
			w.claim("machine")
			w.transport = l.transport
			mend := refuse(w)
			w.manager()
			refused := w.expect("machine", associated, "False/BindRefused")
			w.G.Expect(harness.Message(refused.Status.Conditions, associated)).To(gomega.Or(
				gomega.ContainSubstring("the administrator of the cluster must permit it"), gomega.ContainSubstring("too large for etcd")))

			host := w.readHost("host-0")
			w.G.Consistently(func() string { return w.readHost("host-0").ResourceVersion }, "3s").Should(gomega.Equal(host.ResourceVersion))
			tries := slices.DeleteFunc(l.take(), func(line string) bool { return line != "PATCH hostclaims intent" })
			w.G.Expect(len(tries)).To(gomega.BeNumerically("<=", 10))

			w.Make(builder.Claim(client.ObjectKey{Namespace: w.infra, Name: "other"}))
			w.G.Eventually(func() *corev1.ObjectReference { return w.readHost("host-0").Spec.ConsumerRef }).
				Should(gomega.HaveValue(gomega.HaveField("Name", "other")))
			w.host("host-1", nil)
			mend()
			w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-1"))
		})
	}
}

// Refused claims of one namespace pause each on its own: the try of one ends the pause of no other.
func TestRefusedClaimsDoNotEndThePauseOfEachOther(t *testing.T) {
	w, l := newWorld(t), &ledger{}
	w.withHosts("host-0")
	claims := []string{"a", "b", "c"}
	for _, name := range claims {
		w.claim(name)
	}
	w.refuse("hostclaims", withoutIntent, metav1.StatusReasonForbidden)
	w.isRefused(w.readClaim("a"), intent)
	w.transport = l.transport
	w.manager()
	for _, name := range claims {
		w.expect(name, associated, "False/BindRefused")
	}
	host := w.readHost("host-0")
	l.take()
	w.G.Consistently(func() string { return w.readHost("host-0").ResourceVersion }, "5s").Should(gomega.Equal(host.ResourceVersion))
	tries := slices.DeleteFunc(l.take(), func(line string) bool { return line != "PATCH hostclaims intent" })
	w.G.Expect(len(tries)).To(gomega.BeNumerically("<=", len(claims)))
}

// silence has a webhook of claims that nobody serves, as that of baremetal-operator 0.14 while it is stopped, and
// returns what ends that.
func (w *world) silence() (end func()) {
	w.T.Helper()
	silent := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.tenant}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name:                    "hostclaim.metal3.io",
		AdmissionReviewVersions: []string{"v1"},
		SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
		ClientConfig:            admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
		NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.tenant}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{"metal3.io"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"hostclaims"}},
		}},
	}}}
	w.Make(silent)
	end = func() { w.OK(client.IgnoreNotFound(server.Client.Delete(context.Background(), silent))) }
	w.T.Cleanup(end)
	w.isRefused(w.readClaim("machine"), intent)
	return end
}

// While the webhook of baremetal-operator does not answer, no claim can be changed but in its status, which says so.
func TestClaimsSayWhichWebhookDoesNotAnswer(t *testing.T) {
	const name = "admission webhook hostclaim.metal3.io does not answer"
	w := newWorld(t).withRights().withHosts("host-0")
	w.claim("machine")
	end := w.silence()
	w.manager()
	w.expect("machine", associated, "False/BindRefused", name)
	end()
	w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-0"))

	end = w.silence()
	w.OK(w.Delete(w.Ctx, w.readClaim("machine")))
	w.expect("machine", "Ready", "False/HostClaimDeletionFailed", name)
	w.expectPristine("host-0")
	end()
	w.expectGone("machine")
}
