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

package machine

import (
	"io"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/keep"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestClaimIsKept takes a machine with a claim in its own namespace through the change to an
// identityRef, and away in a move that leaves the claim.
func TestClaimIsKept(t *testing.T) {
	tn := newTenant(t)
	tn.makeBootstrap("value", "#cloud-config")
	tn.infrastructure(withEndpoint)
	tn.ready(metav1.ConditionTrue, "Ready")
	tn.machine(withTemplate)
	tn.template()
	uid := tn.claimed().UID
	m := tn.runs(tn)

	// The identityRef alone changes nothing, and one that leads to another place is refused.
	newSite(t).give(tn)
	infra := &infrav1.Metal3Cluster{}
	tn.Edit(tn.Named(clusterName, infra), func() { infra.Spec.IdentityRef = &infrav1.IdentityReference{Name: kubeconfigSecret} })
	tn.identity("True/NotUsed", kubeconfigSecret)
	tn.G.Expect(tn.keep()).To(gomega.MatchError(gomega.ContainSubstring("spec.paused")))
	tn.pause(true)
	tn.G.Expect(tn.keep()).To(gomega.MatchError(gomega.ContainSubstring("nothing was written")))
	tn.ownsClaim(uid)

	s := ownSite(tn)
	s.give(tn)
	// The command dies between its two writes, loses the answer of the last one, and is run again each time.
	tn.G.Expect(tn.keepWith(&harness.Crash{At: 2})).To(gomega.MatchError(gomega.ContainSubstring("run the command again")))
	tn.ownsClaim(uid)
	tn.G.Expect(tn.Find(machineName, m)).To(gomega.Succeed())
	tn.G.Expect(m.Annotations).To(gomega.HaveKey(infrav1.BlockMoveAnnotation), "its secrets are not copied yet")
	recorded := m.Annotations
	tn.G.Expect(tn.keepWith(&harness.Crash{At: 1, Arrives: true})).To(gomega.MatchError(harness.ErrCrash))
	tn.G.Expect(tn.keep()).To(gomega.Succeed())
	tn.G.Expect(tn.Find(machineName, m)).To(gomega.Succeed())
	tn.G.Expect(m.Annotations).To(gomega.Equal(recorded), "the record of the first run")
	tn.pause(false)
	s.keptClaim(uid, m.UID)
	tn.provision() // of the spec as it is now
	tn.G.Expect(tn.provisioned().Spec.ProviderID).To(gomega.Equal(m.Spec.ProviderID))
	tn.Await(tn.Named(machineName, m), func(g gomega.Gomega) { g.Expect(m.Annotations).NotTo(gomega.HaveKey(infrav1.BlockMoveAnnotation)) })

	moved := tn.move(m)
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) { g.Expect(claim.Spec.ConsumerRef.UID).To(gomega.Equal(moved)) })
	s.keptClaim(uid, moved)
	tn.G.Expect(tn.Find(machineName, m)).To(gomega.Succeed())
	tn.leaves(tn, m)
}

// keep runs the command by which the claims of the Cluster stay.
func (tn *tenant) keep() error { return tn.keepWith(&harness.Crash{}) }

// keepWith runs it so that it may die with one of its writes.
func (tn *tenant) keepWith(c *harness.Crash) error {
	cluster := types.NamespacedName{Namespace: tn.Namespace, Name: clusterName}
	return keep.Run(tn.Ctx, c.Client(server.Client), cluster, io.Discard)
}

// pause pauses the Cluster, or ends that, and waits until the machine reports that.
func (tn *tenant) pause(paused bool) {
	c, m, want := &clusterv1.Cluster{}, &infrav1.Metal3Machine{}, "False/NotPaused"
	if paused {
		want = "True/Paused"
	}
	tn.Edit(tn.Named(clusterName, c), func() { c.Spec.Paused = &paused })
	tn.shows(machineName, m, "Paused", want)
}

// ownsClaim expects the machine to have its claim as clusterctl moves it.
func (tn *tenant) ownsClaim(uid types.UID) {
	claim := &bmov1alpha1.HostClaim{}
	tn.Await(tn.Named(machineName, claim), func(g gomega.Gomega) {
		g.Expect(claim.UID).To(gomega.Equal(uid))
		g.Expect(claim.OwnerReferences).To(gomega.HaveLen(1))
		g.Expect(claim.Labels).NotTo(gomega.HaveKey(infrav1.OriginKey))
		g.Expect(claim.Spec.ConsumerRef.Namespace).To(gomega.Equal(tn.Namespace))
	})
}

// keptClaim expects the machine to reach the same claim by its identityRef, and copies of its
// secrets to stay with that.
func (s *site) keptClaim(uid, machine types.UID) {
	m := s.identity("True/Connected", "stays where it is")
	s.G.Expect(m.UID).To(gomega.Equal(machine))
	claim := &bmov1alpha1.HostClaim{}
	origin := m.Annotations[infrav1.OriginKey]
	s.Await(s.Named(machineName, claim), func(g gomega.Gomega) {
		g.Expect(claim.UID).To(gomega.Equal(uid))
		g.Expect(claim.OwnerReferences).To(gomega.BeEmpty())
		g.Expect(claim.Annotations).NotTo(gomega.HaveKey(clusterv1.PausedAnnotation))
		g.Expect(claim.Labels).To(gomega.HaveKeyWithValue(infrav1.OriginKey, origin))
		g.Expect(claim.Spec.Image).NotTo(gomega.BeNil())
		g.Expect(claim.Spec.UserData.Name).NotTo(gomega.Equal(bootSecret))
		g.Expect(claim.Spec.MetaData.Name).NotTo(gomega.Equal(machineName + "-metadata"))
	})
	s.copied(claim.Spec.UserData, uid, "userData", "#cloud-config")
	metaData := &corev1.Secret{}
	s.G.Expect(s.Find(machineName+"-metadata", metaData)).To(gomega.Succeed())
	s.copied(claim.Spec.MetaData, uid, "metaData", string(metaData.Data["metaData"]))
}
