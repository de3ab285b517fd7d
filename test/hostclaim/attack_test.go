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
	"sync"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	for i := range attackedHosts {
		w.host(fmt.Sprintf("host-%d", i), nil)
	}
	w.transport = transport
	w.manager()
	return w
}

// beginDeletion makes a claim that the manager leaves alone until kube-apiserver has read it to
// delete it.
func (w *world) beginDeletion(deletions *harness.Deletions, name string) (end func()) {
	w.T.Helper()
	claim := w.claim(name, func(c *bmov1alpha1.HostClaim) {
		c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""}
	})
	goOn, err := deletions.Begin(w.Ctx, claim.DeepCopy())
	w.OK(err)
	harness.Change(w.Story, claim, func(c *bmov1alpha1.HostClaim) { c.Annotations = nil })
	return sync.OnceFunc(func() {
		if err := goOn(); err != nil {
			w.T.Errorf("delete claim %s: %v", name, err)
		}
	})
}

// around calls functions before a request that fits is sent, and when it was answered.
type around struct {
	http.RoundTripper

	fits          func(method, path, body string) bool
	before, after func()
}

func (a around) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.fits(request.Method, request.URL.RequestURI(), bodyOf(request)) {
		a.before()
		defer a.after()
	}
	return a.RoundTripper.RoundTrip(request)
}

// A DELETE that has read a claim without finalizer removes it, whatever was written since. If it
// does before the host gets the claim's name, the bind is taken back by the pass that made it.
func TestAttackClaimGoneBeforeItsHostIsBound(t *testing.T) {
	end, bound := make(chan func(), 1), make(chan struct{})
	answered := sync.OnceFunc(func() { close(bound) })
	w := attacked(t, func(next http.RoundTripper) http.RoundTripper {
		return around{next, bindRequests["the consumerRef"], sync.OnceFunc(func() { (<-end)() }), answered}
	})
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

// The race itself, as a tenant runs it: a claim is deleted as soon as its status says something.
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

// brief makes a claim and deletes it as soon as its status says something.
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
	w := newWorld(t).withRights()
	w.policy(nil, w.tenant)
	w.host("host-0", nil)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
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
