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
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// The stories of this file are about the annotation that pauses an object: nothing
// is done for it, its condition says so, and taking the annotation off is enough.

const stillness = 500 * time.Millisecond

func TestAPausedTemplateTakesNoClaims(t *testing.T) {
	tn := newTenant(t)
	tn.template("nodes", "metaData: {strings: [{key: a, value: b}]}")
	first := tn.machine("first")
	tn.bind(first)
	served := tn.claim(first, "nodes")
	tn.ready("nodes-0")
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: "nodes"}}
	tn.pause(template)

	second := tn.machine("second")
	tn.bind(second)
	claim := tn.claim(second, "nodes")
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
	m := tn.machine("m")
	tn.bind(m)
	claim := tn.claim(m, "nodes")
	tn.pause(claim)
	tn.template("nodes", "metaData: {strings: [{key: a, value: b}]}")
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
	tn.template("nodes", "metaData: {strings: [{key: a, value: b}]}")
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

// pause pauses an object, and waits until it says so, and by what.
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
