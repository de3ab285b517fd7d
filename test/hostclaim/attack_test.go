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
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// attackedHosts is how many hosts a tenant tries to book for good.
const attackedHosts = 8

// booked are the hosts that name a claim.
func (w *world) booked() []string {
	w.T.Helper()
	list, names := &bmov1alpha1.BareMetalHostList{}, []string{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(w.infra)))
	for i := range list.Items {
		if list.Items[i].Spec.ConsumerRef != nil {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

// attacked is a world with a manager and hosts that a tenant may have.
func attacked(t *testing.T, transport func(http.RoundTripper) http.RoundTripper) *world {
	t.Helper()
	w := newWorld(t).withRights().withHosts()
	for i := range attackedHosts {
		w.host(fmt.Sprintf("host-%d", i), nil)
	}
	w.transport = transport
	w.manager()
	return w
}

// beginDeletion makes a claim that the manager leaves alone until kube-apiserver has read it to
// delete it.
func (w *world) beginDeletion(deletions *harness.Deletions, name string, changes ...func(*bmov1alpha1.HostClaim)) (end func()) {
	w.T.Helper()
	const paused = "cluster.x-k8s.io/paused"
	claim := w.claim(name, append(changes, func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, paused, "") })...)
	goOn, err := deletions.Begin(w.Ctx, claim.DeepCopy())
	w.OK(err)
	harness.Change(w.Story, claim, func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, paused) })
	return sync.OnceFunc(func() {
		if err := goOn(); err != nil {
			w.T.Errorf("delete claim %s: %v", name, err)
		}
	})
}

// endedByBind returns a connection that lets a deletion end just before the host gets the claim's name. Bound is closed
// when that was answered.
func endedByBind() (end chan<- func(), transport func(http.RoundTripper) http.RoundTripper, bound <-chan struct{}) {
	ends, answers := make(chan func(), 1), make(chan struct{})
	goes, answered := sync.OnceFunc(func() { (<-ends)() }), sync.OnceFunc(func() { close(answers) })
	return ends, func(next http.RoundTripper) http.RoundTripper {
		return connection(func(request *http.Request) (*http.Response, error) {
			if bindRequests["the consumerRef"](request.Method, request.URL.RequestURI(), bodyOf(request)) {
				goes()
				defer answered()
			}
			return next.RoundTrip(request)
		})
	}, answers
}

// A DELETE that has read a claim without finalizer removes it, whatever was written since. If it
// does before the host gets the claim's name, the bind is taken back by the pass that made it.
func TestAttackClaimGoneBeforeItsHostIsBound(t *testing.T) {
	end, transport, bound := endedByBind()
	w := attacked(t, transport)
	end <- w.beginDeletion(server.NewDeletions(t), "machine")
	w.G.Eventually(bound).Should(gomega.BeClosed())
	w.expectGone("machine")
	w.G.Eventually(w.booked).Should(gomega.BeEmpty())
	w.G.Consistently(w.booked).Should(gomega.BeEmpty())
	for i := range attackedHosts {
		w.expectPristine(fmt.Sprintf("host-%d", i))
	}
}

// If it removes the claim later, nothing was put to work on the host yet: it goes back without a
// grace, and without a person, though another claim has the name by now.
func TestAttackClaimGoneAfterItsHostIsBound(t *testing.T) {
	w := attacked(t, nil)
	deletions := server.NewDeletions(t)
	for i := range attackedHosts {
		name := fmt.Sprintf("machine-%d", i)
		end := w.beginDeletion(deletions, name)
		w.expectBound(name)
		end()
		w.expectGone(name)
	}
	for i := range attackedHosts / 2 {
		w.claim(fmt.Sprintf("machine-%d", i), withLabel("rack", "none"))
	}
	w.G.Eventually(w.booked).Should(gomega.BeEmpty())
}

// The race itself, as a tenant runs it: a claim is deleted as soon as it has a status.
func TestAttackClaimsDeletedWithTheirFirstStatus(t *testing.T) {
	const rounds = 25
	w := attacked(t, nil)
	claims, err := client.NewWithWatch(server.Config, client.Options{Scheme: w.Scheme()})
	w.OK(err)
	var tenants sync.WaitGroup
	for i := range attackedHosts {
		tenants.Go(func() {
			for round := range rounds {
				claim := builder.Claim(client.ObjectKey{Namespace: w.tenant, Name: fmt.Sprintf("claim-%d-%d", i, round)})
				if err := brief(w.Ctx, claims, claim); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		})
	}
	tenants.Wait()
	begun := time.Now()
	t.Logf("%d of %d hosts booked when %d claims were deleted", len(w.booked()), attackedHosts, attackedHosts*rounds)
	w.G.Eventually(func() []bmov1alpha1.HostClaim {
		list := &bmov1alpha1.HostClaimList{}
		w.OK(w.List(w.Ctx, list, client.InNamespace(w.tenant)))
		return list.Items
	}).Should(gomega.BeEmpty())
	w.G.Eventually(w.booked).Should(gomega.BeEmpty())
	t.Logf("none after %.1f s", time.Since(begun).Seconds())
}

// brief makes a claim and deletes it as soon as it has a status.
func brief(ctx context.Context, claims client.WithWatch, claim *bmov1alpha1.HostClaim) error {
	if err := claims.Create(ctx, claim); err != nil {
		return err
	}
	events, err := claims.Watch(ctx, &bmov1alpha1.HostClaimList{}, client.InNamespace(claim.Namespace),
		client.MatchingFields{"metadata.name": claim.Name})
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		now, ok := event.Object.(*bmov1alpha1.HostClaim)
		if !ok || event.Type == watch.Deleted || len(now.Status.Conditions) > 0 {
			break
		}
	}
	return client.IgnoreNotFound(claims.Delete(ctx, claim))
}

// What a claim has put to work stays for the grace, as for any claim that is gone.
func TestAttackedHostAtWorkIsKept(t *testing.T) {
	w := newWorld(t).withRights().withHosts("host-0").withBoot()
	w.manager()
	deletions := server.NewDeletions(t)
	end := w.beginDeletion(deletions, "machine")
	w.expectBound("machine")
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		withImage("boot")(c)
		c.Spec.UserData = &corev1.SecretReference{Name: "boot"}
	})
	w.expect("machine", "Ready", "True/Provisioned")
	end()
	w.expectGone("machine")
	w.expectEvent("host-0", "Orphaned", gomega.ContainSubstring("after a grace of 1h0m0s"))
	w.expectKept("host-0")
}

const (
	// many claims name one Secret of large bytes, which is written rewrites times.
	many     = 18
	large    = 700 << 10
	rewrites = 15
)

// tally counts what a manager asks of Secrets: those that it reads, and those that it writes
// next to hosts, with their bytes.
type tally struct {
	infra                 string
	reads, written, bytes atomic.Int64
}

func (c *tally) transport(next http.RoundTripper) http.RoundTripper {
	return connection(func(request *http.Request) (*http.Response, error) {
		path, query := request.URL.Path, request.URL.Query()
		switch {
		case !strings.Contains(path, "/secrets"):
		case request.Method == http.MethodGet && strings.Contains(path, "/secrets/") && len(query) == 0:
			c.reads.Add(1)
		case strings.Contains(path, "/namespaces/"+c.infra+"/") && (request.Method == http.MethodPost || request.Method == http.MethodPatch):
			c.written.Add(1)
			c.bytes.Add(request.ContentLength)
		}
		return next.RoundTrip(request)
	})
}

func (c *tally) log(t *testing.T, when string) {
	t.Helper()
	t.Logf("%s: %d copies written, %d KiB; %d reads of Secrets", when, c.written.Load(), c.bytes.Load()>>10, c.reads.Load())
}

// content is a version of the Secret boot.
func content(version int) string {
	return fmt.Sprintf("#cloud-config %d\n", version) + strings.Repeat("x", large)
}

// rewrite writes the Secret boot of the tenant again and again.
func (w *world) rewrite(versions ...int) {
	w.T.Helper()
	for _, version := range versions {
		boot := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "boot"}}
		harness.Change(w.Story, boot, func(s *corev1.Secret) { s.Data = map[string][]byte{"value": []byte(content(version))} })
	}
}

// versions are as many as the attacker writes.
func versions() (out []int) {
	for version := range rewrites {
		out = append(out, version+1)
	}
	return out
}

// crowd makes hosts and a claim for each; changes are made to each claim.
func (w *world) crowd(count int, changes ...func(*bmov1alpha1.HostClaim)) (claims []string) {
	w.T.Helper()
	for i := range count {
		name := fmt.Sprintf("crowd-%d", i)
		w.host(name, nil)
		w.claim(name, append([]func(*bmov1alpha1.HostClaim){withImage("boot")}, changes...)...)
		claims = append(claims, name)
	}
	return claims
}

// counted is a world with a manager whose copies are counted, and with the Secret of all claims.
func counted(t *testing.T) (*world, *tally) {
	t.Helper()
	w := newWorld(t).withRights()
	c := &tally{infra: w.infra}
	w.transport = c.transport
	w.policy(nil, w.tenant)
	w.manager()
	w.MakeSecret(w.tenant, "boot", "value", content(0))
	return w, c
}

// Claims that can never be served, as one of their Secrets is missing, cost nothing next to hosts.
func TestAttackSecretsThatAreNeverComplete(t *testing.T) {
	w, c := counted(t)
	claims := w.crowd(many, func(c *bmov1alpha1.HostClaim) { c.Spec.MetaData = &corev1.SecretReference{Name: "missing"} })
	for _, name := range claims {
		w.expect(name, synchronized, "False/MetaDataSecretSyncFailure")
	}
	w.rewrite(versions()...)
	c.log(t, "while a Secret is missing")
	w.G.Consistently(c.written.Load).Should(gomega.BeZero())

	w.MakeSecret(w.tenant, "missing", "metaData", "{}")
	for _, name := range claims {
		w.expect(name, "Ready", "True/Provisioned")
	}
	c.log(t, "once it is there")
	w.G.Expect(c.written.Load()).To(gomega.Equal(int64(2*many)), "each Secret of each claim is copied once")
	// Each version once for all claims, and what is copied once for each claim and copy.
	w.G.Expect(c.reads.Load()).To(gomega.BeNumerically("<=", 2+rewrites+4*2*many))
}

// A server that is off does not read its data: what changes meanwhile is copied when it is to be
// switched on, and after it is written nothing is copied, and nothing is read for each claim.
func TestAttackSecretRewrittenForServersThatDoNotReadIt(t *testing.T) {
	w, c := counted(t)
	claims := w.crowd(many, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false })
	for _, name := range claims {
		w.expect(name, synchronized, "True/ConfigurationSynced")
	}
	first := c.written.Load()
	w.rewrite(versions()...)
	c.log(t, "told, and off")
	w.G.Consistently(c.written.Load).Should(gomega.Equal(first))

	harness.Change(w.Story, w.readClaim(claims[0]), func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true })
	w.expect(claims[0], "Ready", "True/Provisioned")
	w.G.Expect(w.nextDrive().UserData).To(gomega.HavePrefix(fmt.Sprintf("#cloud-config %d\n", rewrites)), "what the server reads is the last version")
	w.G.Expect(c.written.Load()).To(gomega.Equal(first + 1))
	w.rewrite(versions()...)
	w.saysOf(claims[0], synchronized, "changed after provisioning")
	c.log(t, "once one is written")
	w.G.Expect(c.written.Load()).To(gomega.Equal(first + 1))
	w.G.Expect(c.reads.Load()).To(gomega.BeNumerically("<=", 4*many+3*rewrites))
}

// Servers that fail read their data again, so changes are copied; as fast as the budget of the
// namespace allows, and to the cost of no other tenant.
func TestAttackSecretRewrittenForServersThatFail(t *testing.T) {
	w, c := counted(t)
	for i := range many {
		w.host(fmt.Sprintf("crowd-%d", i), nil, func(h *bmov1alpha1.BareMetalHost) { h.Annotations = map[string]string{heldBack: ""} })
	}
	var claims []string
	for i := range many {
		claims = append(claims, w.claim(fmt.Sprintf("crowd-%d", i), withImage("boot")).Name)
	}
	for _, name := range claims {
		w.expect(name, synchronized, "True/ConfigurationSynced")
	}
	w.G.Expect(c.written.Load()).To(gomega.Equal(int64(many)), "what is first copied is not held up")
	limited := func() (count int) {
		for _, name := range claims {
			if harness.Condition(w.readClaim(name).Status.Conditions, synchronized) == "False/SecretCopiesLimited" {
				count++
			}
		}
		return count
	}
	last := func() (count int) {
		list := &corev1.SecretList{}
		w.OK(w.List(w.Ctx, list, client.InNamespace(w.infra)))
		for i := range list.Items {
			if string(list.Items[i].Data["userData"]) == content(rewrites) {
				count++
			}
		}
		return count
	}
	w.rewrite(versions()...)
	// A machine so slow that it stays within the budget copies all.
	w.G.Eventually(func() bool { return limited() > 0 || last() == many }).Should(gomega.BeTrue())
	c.log(t, fmt.Sprintf("after %d writes for %d claims, of which %d wait for their turn", rewrites, many, limited()))
	w.G.Expect(c.written.Load()).To(gomega.BeNumerically("<", rewrites*many/2))
}
