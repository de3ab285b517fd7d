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

package data_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// asksEach is a template that asks so many pools whose names start alike, and makes them.
func (tn *tenant) asksEach(template, pools string, count int) {
	tn.T.Helper()
	var entries []string
	for i := range count {
		name := fmt.Sprintf("%s%d", pools, i)
		tn.pool(name)
		entries = append(entries, fmt.Sprintf("{key: k%d, name: %s}", i, name))
	}
	tn.template(template, "metaData: {ipAddressesFromPool: ["+strings.Join(entries, ", ")+"]}")
}

// machines makes so many machines with a server and a claim on a template.
func (tn *tenant) machines(count int, template string) {
	tn.T.Helper()
	for i := range count {
		tn.joins(fmt.Sprintf("m-%d", i), template)
	}
}

// unanswered are the claims of the namespace without an address, oldest first.
func (tn *tenant) unanswered() []ipamv1alpha1.IPClaim {
	tn.T.Helper()
	var all ipamv1alpha1.IPClaimList
	tn.OK(tn.List(tn.Ctx, &all, client.InNamespace(tn.Namespace)))
	all.Items = slices.DeleteFunc(all.Items, func(c ipamv1alpha1.IPClaim) bool { return c.Status.Address != nil })
	slices.SortStableFunc(all.Items, func(a, b ipamv1alpha1.IPClaim) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return all.Items
}

// answer plays ip-address-manager for one claim.
func (tn *tenant) answer(claim *ipamv1alpha1.IPClaim) {
	tn.T.Helper()
	tn.Add(&ipamv1alpha1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name},
		Spec: ipamv1alpha1.IPAddressSpec{
			Claim: corev1.ObjectReference{Name: claim.Name}, Pool: claim.Spec.Pool, Address: "192.0.2.10", Prefix: 24,
		},
	})
	tn.EditStatus(claim, func() { claim.Status.Address = &corev1.ObjectReference{Name: claim.Name, Namespace: claim.Namespace} })
}

// TestAttackManyPools has one template ask 500 pools for each of 10 machines. ip-address-manager answers the
// claims of all tenants in one queue: the test plays it, and prints how long another tenant waits.
func TestAttackManyPools(t *testing.T) {
	const pools, machines, most = 500, 10, 25 // most: five, and two of each worker that counts at the same time
	flood, other := newTenant(t), newNamespace(t)
	other.grantSecrets()
	flood.asksEach("nodes", silent, pools)
	flood.machines(machines, "nodes")
	flood.G.Eventually(func(g gomega.Gomega) {
		if claims := len(flood.unanswered()); claims > most {
			gomega.StopTrying(fmt.Sprintf("%d claims at once", claims)).Now()
		}
		var all infrav1.Metal3DataList
		g.Expect(flood.List(flood.Ctx, &all, client.InNamespace(flood.Namespace))).To(gomega.Succeed())
		g.Expect(all.Items).To(gomega.HaveLen(machines))
		for _, data := range all.Items {
			g.Expect(harness.Condition(data.Status.Conditions, infrav1.ReadyCondition)).To(gomega.Equal("False/" + infrav1.WaitingForAddressesReason))
		}
	}).Should(gomega.Succeed())

	other.asksEach("nodes", silent, 1)
	other.machines(1, "nodes")
	other.G.Eventually(other.unanswered).Should(gomega.HaveLen(1))
	begins, ahead := time.Now(), flood.unanswered()
	t.Logf("%d claims at once, of %d", len(ahead), pools*machines)
	flood.G.Expect(len(ahead)).To(gomega.BeNumerically("<=", most))
	for i := range ahead {
		flood.answer(&ahead[i])
	}
	theirs := other.unanswered()
	other.answer(&theirs[0])
	other.ready("nodes-0")
	t.Logf("the machine of another tenant waits %s for its address behind them", time.Since(begins).Round(time.Millisecond))

	// Each answer makes room for another claim, and never for more.
	for range 3 * most {
		var claims []ipamv1alpha1.IPClaim
		flood.G.Eventually(func() int { claims = flood.unanswered(); return len(claims) }).Should(gomega.BeNumerically(">", 0))
		flood.G.Expect(len(claims)).To(gomega.BeNumerically("<=", most))
		flood.answer(&claims[0])
	}
}

// TestManyPoolsAreAskedInTurn shows that all get their addresses.
func TestManyPoolsAreAskedInTurn(t *testing.T) {
	tn := newTenant(t)
	tn.asksEach("nodes", "pool-", 12)
	tn.machines(3, "nodes")
	for i := range 3 {
		metaData, _ := tn.ready(fmt.Sprintf("nodes-%d", i))
		tn.G.Expect(metaData).To(gomega.HaveKey("k11"))
	}
}

// The stories of this file are about the annotation that pauses an object: nothing is done for it,
// its condition reports that, and taking the annotation off is enough.

const stillness = 500 * time.Millisecond

func TestAPausedTemplateTakesNoClaims(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", plain)
	served := tn.joins("first", "nodes")
	tn.ready("nodes-0")
	template := find(tn, "nodes", &infrav1.Metal3DataTemplate{})
	tn.pause(template)

	claim := tn.joins("second", "nodes")
	tn.Await(tn.Named("second", claim), func(g gomega.Gomega) {
		c := meta.FindStatusCondition(claim.Status.Conditions, infrav1.ReadyCondition)
		g.Expect(c).NotTo(gomega.BeNil())
		g.Expect(c.Reason).To(gomega.Equal(infrav1.TemplatePausedReason))
		g.Expect(c.Message).To(gomega.ContainSubstring("remove its annotation"))
	})
	tn.release(served)
	tn.G.Consistently(func(g gomega.Gomega) {
		g.Expect(tn.Find("first", served)).To(gomega.Succeed(), "a paused template lets no claim go")
		g.Expect(tn.Find("nodes-1", &infrav1.Metal3Data{})).NotTo(gomega.Succeed(), "and makes nothing")
	}, stillness).Should(gomega.Succeed())

	tn.unpause(template)
	tn.gone("first", served)
	tn.Await(tn.Named("second", claim), func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(claim.Status.Conditions, infrav1.ReadyCondition)).To(gomega.BeTrue())
	})
}

func TestAPausedClaimGetsNothing(t *testing.T) {
	tn := newTenant(t)
	claim := tn.joins("m", "nodes")
	tn.pause(claim)
	tn.template("nodes", plain)
	tn.G.Consistently(func() error { return tn.Find("nodes-0", &infrav1.Metal3Data{}) }, stillness).ShouldNot(gomega.Succeed())
	tn.unpause(claim)
	tn.ready("nodes-0")
	tn.pause(claim)
	tn.release(claim)
	tn.G.Consistently(func() error { return tn.Find("nodes-0", &infrav1.Metal3Data{}) }, stillness).Should(gomega.Succeed())
	tn.unpause(claim)
	tn.gone("m", claim)
	tn.gone("nodes-0", &infrav1.Metal3Data{})
}

func TestPausedDataIsLeftAlone(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", plain)
	m := tn.machine("m")
	claim := tn.claim(m, "nodes")
	tn.waits("nodes-0", infrav1.WaitingForHostClaimReason)
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "nodes-0"}}
	tn.pause(data)
	tn.bind(m)
	tn.G.Consistently(func() error { return tn.Find("m-metadata", &corev1.Secret{}) }, stillness).ShouldNot(gomega.Succeed())
	tn.unpause(data)
	tn.ready("nodes-0")

	tn.pause(data)
	tn.release(claim)
	tn.G.Consistently(func() error { return tn.Find("m-metadata", &corev1.Secret{}) }, stillness).Should(gomega.Succeed())
	tn.unpause(data)
	tn.gone("nodes-0", data)
	tn.gone("m-metadata", &corev1.Secret{})
}

// pausable is an object with the condition Paused.
type pausable interface {
	client.Object
	conditions.Getter
}

// pause pauses an object, and waits until its condition reports that, with the cause.
func (tn *tenant) pause(o pausable) {
	tn.Edit(o, func() { o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""}) })
	tn.Await(tn.Named(o.GetName(), o), func(g gomega.Gomega) {
		c := conditions.Get(o, infrav1.PausedCondition)
		g.Expect(c).NotTo(gomega.BeNil())
		g.Expect(c.Status).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(c.Reason).To(gomega.Equal(infrav1.PausedReason))
		g.Expect(c.Message).To(gomega.ContainSubstring(clusterv1.PausedAnnotation))
		g.Expect(c.ObservedGeneration).To(gomega.Equal(o.GetGeneration()))
	})
}

func (tn *tenant) unpause(o client.Object) {
	tn.Edit(o, func() { o.SetAnnotations(nil) })
}
