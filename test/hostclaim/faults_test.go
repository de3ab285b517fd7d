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
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// matcher recognizes a request by its method, path and body.
type matcher func(method, path, body string) bool

// fault stands between a manager and its API server, and sends one request in its own way.
type fault struct {
	at   matcher
	done atomic.Bool
	send func(next http.RoundTripper, request *http.Request) (*http.Response, error)
}

// connection is one that a story stands in the way of.
type connection func(*http.Request) (*http.Response, error)

func (c connection) RoundTrip(request *http.Request) (*http.Response, error) { return c(request) }

func (f *fault) transport(next http.RoundTripper) http.RoundTripper {
	return connection(func(request *http.Request) (*http.Response, error) {
		if f.at(request.Method, request.URL.RequestURI(), bodyOf(request)) && f.done.CompareAndSwap(false, true) {
			return f.send(next, request)
		}
		return next.RoundTrip(request)
	})
}

// bodyOf reads a copy of what is sent.
func bodyOf(request *http.Request) string {
	if request.GetBody == nil {
		return ""
	}
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(body)
	return string(text)
}

// stall holds the first request of a kind until the test lets it go, while the
// rest of the manager runs on.
type stall struct {
	fault
	reached, goOn chan struct{}
}

func newStall(t *testing.T, at matcher) *stall {
	t.Helper()
	s := &stall{reached: make(chan struct{}), goOn: make(chan struct{})}
	s.at, s.send = at, func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		close(s.reached)
		<-s.goOn
		return next.RoundTrip(request)
	}
	t.Cleanup(func() { // or the manager could not stop
		select {
		case <-s.goOn:
		default:
			close(s.goOn)
		}
	})
	return s
}

// bindRequests are the requests of a bind.
var bindRequests = map[string]matcher{
	"the intent": func(method, path, body string) bool {
		return method == http.MethodPatch && strings.Contains(path, "/hostclaims/machine/status") && strings.Contains(body, `"Binding"`)
	},
	"the intent annotation": func(method, path, body string) bool {
		return method == http.MethodPatch && strings.Contains(path, "/hostclaims/machine?") && strings.Contains(body, "intended-host")
	},
	"the look at the policies": func(method, path, _ string) bool {
		return method == http.MethodGet && strings.Contains(path, "/hostdeploypolicies/")
	},
	"the consumerRef": func(method, path, body string) bool {
		return method == http.MethodPatch && strings.Contains(path, "/baremetalhosts/host-0") && strings.Contains(body, "consumerRef")
	},
}

// losses are statuses that an administrator may write over that of a claim which is being bound.
var losses = map[string]bmov1alpha1.HostClaimStatus{
	"wiped": {},
	"put back to an older one": {Conditions: []metav1.Condition{
		falseFor(bmov1alpha1.AssociatedCondition, bmov1alpha1.NoBareMetalHostReason),
		falseFor(infrav1.HardwareDataPublishedCondition, infrav1.NotAssociatedReason),
	}},
}

func falseFor(condition, reason string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}
}

// setStatus writes a status over that of a claim, as an administrator may.
func (w *world) setStatus(name string, status bmov1alpha1.HostClaimStatus) {
	w.T.Helper()
	claim := w.readClaim(name)
	before := claim.DeepCopy()
	claim.Status = status
	w.OK(w.Status().Patch(w.Ctx, claim, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
}

// expectUntouched wants that a host is never bound, and that nothing of any claim
// is on it in the end: a fence may come and go.
func (w *world) expectUntouched(name string) {
	w.T.Helper()
	w.G.Consistently(func() any { return w.readHost(name).Spec.ConsumerRef }).Should(gomega.BeNil())
	w.G.Eventually(func(g gomega.Gomega) {
		host := w.readHost(name)
		g.Expect(host.Labels).NotTo(gomega.HaveKey(claimUID))
		g.Expect(host.Annotations).To(gomega.BeEmpty())
	}).Should(gomega.Succeed())
}

// newStalled starts a manager that is about to bind host-0 to the claim machine
// and stalls. What else stands between it and the API server comes last.
func newStalled(t *testing.T, at matcher, beyond ...*fault) (*world, *stall) {
	t.Helper()
	w, s := newWorld(t), newStall(t, at)
	w.policy(nil, w.tenant)
	w.host("host-0", map[string]string{"rack": "a1"})
	w.host("host-1", map[string]string{"rack": "b1"})
	w.transport = func(next http.RoundTripper) http.RoundTripper {
		for _, f := range beyond {
			next = f.transport(next)
		}
		return s.transport(next)
	}
	w.manager()
	w.transport = nil
	w.claim("machine", withLabel("rack", "a1"))
	w.G.Eventually(s.reached).Should(gomega.BeClosed())
	return w, s
}

// overtake has the status of a claim lost while its writer stalls, and a second manager bind
// it to another host. Then the writer goes on.
func (w *world) overtake(s *stall, status bmov1alpha1.HostClaimStatus) {
	w.T.Helper()
	w.setStatus("machine", status)
	harness.Change(w.Story, w.readClaim("machine"), withLabel("rack", "b1"))
	w.manager()
	w.G.Expect(w.expectBound("machine")).To(gomega.Equal("host-1"))
	close(s.goOn)
	w.expectUntouched("host-0")
	w.expectBound("machine")
}

// outlive has a second manager end the claim whose status was lost while its writer stalls. Then the writer
// goes on.
func (w *world) outlive(s *stall, status bmov1alpha1.HostClaimStatus) {
	w.T.Helper()
	w.setStatus("machine", status)
	w.OK(w.Delete(w.Ctx, w.readClaim("machine")))
	w.manager()
	w.expectGone("machine")
	close(s.goOn)
	w.expectUntouched("host-0")
}

// A writer stalls before one of the requests of a bind. Meanwhile the status is lost, and a second manager
// goes on with the claim or ends it. The operator of the world sees every version of every host and reports a
// claim with two.
func TestStalledWriterNeverMakesASecondHost(t *testing.T) {
	for name, at := range bindRequests {
		for loss, status := range losses {
			for end, play := range map[string]func(*world, *stall, bmov1alpha1.HostClaimStatus){
				"another host suits the claim": (*world).overtake, "the claim goes": (*world).outlive,
			} {
				t.Run(fmt.Sprintf("before %s, the status %s, and %s", name, loss, end), func(t *testing.T) {
					w, s := newStalled(t, at)
					play(w, s, status)
				})
			}
		}
	}
}

// A writer that has lost to a change of the host tries again with what it has read then.
func TestWriterThatStallsAtTheSecondTryNeverMakesASecondHost(t *testing.T) {
	for _, name := range []string{"the intent annotation", "the consumerRef"} {
		t.Run("before "+name, func(t *testing.T) {
			var tries atomic.Int32
			second := newStall(t, func(method, path, body string) bool {
				return bindRequests[name](method, path, body) && tries.Add(1) == 2
			})
			w, first := newStalled(t, bindRequests["the consumerRef"], &second.fault)
			harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.Description = "blue door" })
			close(first.goOn)
			w.G.Eventually(second.reached).Should(gomega.BeClosed())
			w.overtake(second, losses["wiped"])
		})
	}
}

// The repetition of a write that was done, as clients and proxies send it that have lost the answer, is refused as a
// conflict, whatever else has happened to the host meanwhile.
func TestRepeatedWriteOfABindLosesNoHost(t *testing.T) {
	edits := map[string]func(*bmov1alpha1.BareMetalHost){
		"a host that stays as it is":     func(*bmov1alpha1.BareMetalHost) {},
		"a host whose labels are edited": func(h *bmov1alpha1.BareMetalHost) { h.Labels["row"] = "2" },
	}
	for _, name := range []string{"the intent", "the intent annotation", "the consumerRef"} {
		for host, edit := range edits {
			t.Run(name+" for "+host, func(t *testing.T) {
				w := newWorld(t).withHosts()
				w.host("host-0", map[string]string{"rack": "a1", "row": "1"})
				w.host("host-1", map[string]string{"rack": "b1"})
				repeated := &fault{at: bindRequests[name], send: func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
					again := request.Clone(request.Context())
					answer, err := next.RoundTrip(request)
					if err != nil {
						return nil, err
					}
					answer.Body.Close()
					harness.Change(w.Story, w.readHost("host-0"), edit)
					harness.Change(w.Story, w.readHost("host-1"), func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "a1" })
					if again.Body, err = request.GetBody(); err != nil {
						return nil, err
					}
					return next.RoundTrip(again)
				}}
				w.transport = repeated.transport
				w.manager()
				w.bound(withLabel("rack", "a1"))
				w.G.Expect(repeated.done.Load()).To(gomega.BeTrue())
				w.G.Expect(w.booked()).To(gomega.HaveLen(1))
			})
		}
	}
}

// A host is bound as the cache shows it. What has changed since defeats that: the host is
// read, and taken only if it still answers the claim.
func TestHostThatChangedSinceItWasSeenIsJudgedAnew(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*bmov1alpha1.BareMetalHost)
		want string
	}{
		"and taken if it still answers":     {func(h *bmov1alpha1.BareMetalHost) { h.Spec.Description = "blue door" }, "host-0"},
		"and left if its labels are others": {func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "b1" }, "host-1"},
		"and left if it was paused": {func(h *bmov1alpha1.BareMetalHost) {
			metav1.SetMetaDataAnnotation(&h.ObjectMeta, bmov1alpha1.PausedAnnotation, "")
		}, "host-1"},
		"and left if an administrator has it": {func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "theirs"} }, "host-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newStalled(t, bindRequests["the consumerRef"])
			harness.Change(w.Story, w.readHost("host-1"), func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "a1" })
			harness.Change(w.Story, w.readHost("host-0"), tt.edit)
			close(s.goOn)
			expect.Equal(t, tt.want, w.expectBound("machine"))
		})
	}
}

// A cache that is late shows a host as free whose administrator has already named the claim on it.
// The intent for that host does not make it true.
func TestForeignConsumerRefThatTheCacheDoesNotShowIsNotBelieved(t *testing.T) {
	w, s := newStalled(t, bindRequests["the consumerRef"])
	claim := w.readClaim("machine")
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { *h = *binding.Bind(h, claim) })
	close(s.goOn)
	w.expectEvent("host-0", "ForeignConsumer", gomega.ContainSubstring("HostClaim machine of namespace "+w.tenant))
	w.expect("machine", associated, noHost)
}

// An intent annotation that a tenant has written into its claim leads to no write to a host of
// others, unless it names the version of that host.
func TestForgedIntentAnnotationFencesNoHost(t *testing.T) {
	w := newWorld(t)
	w.host("host-0", map[string]string{"rack": "a1"})
	host := w.readHost("host-0")
	claim := w.claim("machine", withLabel("rack", "none"))
	harness.Change(w.Story, claim, func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"hostclaim.metal3.io/finalizer"}
		c.Annotations = map[string]string{
			"hostclaim.metal3.io/intended-host": string(c.UID) + "/" + w.infra + "/host-0/" + string(host.UID) + "/1",
		}
	})
	w.manager()
	w.expect("machine", associated, notAdmitted)
	w.G.Expect(w.readHost("host-0").ResourceVersion).To(gomega.Equal(host.ResourceVersion))
}

// The label of a claim alone books no host.
func TestLabelOfAnotherClaimDoesNotKeepAHost(t *testing.T) {
	w := newWorld(t).withHosts()
	w.host("host-0", map[string]string{claimUID: "gone"})
	w.manager()
	claim := w.bound()
	w.G.Expect(w.readHost("host-0").Labels).To(gomega.HaveKeyWithValue(claimUID, string(claim.UID)))
}

func TestStrayLabelOfAClaimIsTakenOff(t *testing.T) {
	for name, restarted := range map[string]bool{"by the next manager": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).withRights().withHosts("host-0")
			stop := w.manager()
			claim := w.bound()
			if restarted {
				stop()
			}
			w.host("host-1", map[string]string{claimUID: string(claim.UID)})
			if restarted {
				w.manager()
			}
			w.expectUntouched("host-1")
		})
	}
}
