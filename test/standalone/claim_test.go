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

package standalone

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

const newerURL = "https://images.example.com/debian-14.raw"

const userData = `#cloud-config
hostname: build-1
runcmd:
- echo hello from cloud-init
`

// team is a tenant without Cluster API, and the room that it may claim servers of.
type team struct {
	*room
	tenant string
	// manifests are the claims as their author has them in files, and save brings
	// one to the API server.
	manifests map[string]*bmov1alpha1.HostClaim
	save      save
}

// newTeam starts a manager for a tenant that no policy admits yet.
func newTeam(t *testing.T) *team {
	t.Helper()
	e := &team{room: newRoom(t), manifests: map[string]*bmov1alpha1.HostClaim{}, save: create}
	e.tenant = server.Namespace(t, "team", nil)
	options := setup.NewOptions()
	options.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	cacheOptions := setup.CacheOptions(options)
	cacheOptions.DefaultNamespaces = map[string]cache.Config{e.tenant: {}, e.infra: {}}
	server.StartManager(t, ctrl.Options{Cache: cacheOptions, Client: setup.ClientOptions()},
		func(ctx context.Context, mgr ctrl.Manager) error {
			return setup.AddControllers(ctx, mgr, options, prometheus.NewRegistry())
		})
	return e
}

func (e *team) admit() {
	e.T.Helper()
	e.Make(builder.Policy(client.ObjectKey{Namespace: e.infra, Name: "build-team"}, e.tenant))
}

func (e *team) claim(name string) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{}
	e.OK(e.Get(e.T.Context(), client.ObjectKey{Namespace: e.tenant, Name: name}, claim))
	return claim
}

// expectClaim waits until a condition of a claim is True, and returns the claim.
func (e *team) expectClaim(name, condition string) *bmov1alpha1.HostClaim {
	e.T.Helper()
	var claim *bmov1alpha1.HostClaim
	e.G.Eventually(func() bool {
		claim = e.claim(name)
		return meta.IsStatusConditionTrue(claim.Status.Conditions, condition)
	}).Should(gomega.BeTrue(), "condition %s", condition)
	return claim
}

// says waits until a condition of a claim has a reason and message.
func (e *team) says(name, condition, text string) {
	e.T.Helper()
	e.G.Eventually(func() string { return harness.Message(e.claim(name).Status.Conditions, condition) }).Should(gomega.ContainSubstring(text))
}

// TestClaimByHand is the story of docs/claims-by-hand.md, in every way in which
// kubectl writes a claim.
func TestClaimByHand(t *testing.T) {
	for name, tt := range map[string]struct{ first, later save }{
		"kubectl create and patch":                  {create, create},
		"kubectl apply":                             {apply, apply},
		"kubectl apply --server-side":               {serverSideApply, serverSideApply},
		"kubectl create, and apply once it runs":    {create, apply},
		"kubectl apply, and --server-side later on": {apply, serverSideApply},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTeam(t)
			e.save = tt.first
			e.claimByHand(func() { e.save = tt.later })
		})
	}
}

// claimByHand plays the story; runs is called when the server runs its first image.
func (e *team) claimByHand(runs func()) {
	t := e.T
	e.register("server-1", func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"rack": "a1"} })
	e.expect("server-1", bmov1alpha1.StateAvailable, false)

	// A claim without a policy waits and reports the reason; with one it is bound.
	e.write("build-1", func(c *bmov1alpha1.HostClaim) {
		c.Spec = bmov1alpha1.HostClaimSpec{
			PoweredOn: true, HostSelector: bmov1alpha1.HostSelector{MatchLabels: map[string]string{"rack": "a1"}},
		}
	})
	e.says("build-1", bmov1alpha1.AssociatedCondition, "no other namespace admits namespace "+e.tenant)
	e.G.Expect(e.shownPower("build-1")).To(gomega.BeFalse())
	e.admit()
	bound := e.expectClaim("build-1", bmov1alpha1.AssociatedCondition)
	e.G.Expect(bound.Status.BareMetalHost).To(gomega.Equal(&bmov1alpha1.ObjectReference{Namespace: e.infra, Name: "server-1"}))

	// The hardware facts are the tenant's to read, the BMC is not among them.
	facts := &bmov1alpha1.HardwareData{}
	e.G.Eventually(func() error {
		return e.Get(t.Context(), client.ObjectKey{Namespace: e.tenant, Name: "build-1-hostclaim"}, facts)
	}).Should(gomega.Succeed())
	e.G.Expect(facts.Spec.HardwareDetails).To(gomega.Equal(e.host("server-1").Status.HardwareDetails))

	// User data and image, in this order or the other.
	e.MakeSecret(e.tenant, "build-1-user-data", "userData", userData)
	e.write("build-1", func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: imageURL, Checksum: "abc123"}
		c.Spec.UserData = &corev1.SecretReference{Name: "build-1-user-data"}
	})
	e.expectClaim("build-1", bmov1alpha1.ReadyCondition)
	e.expect("server-1", bmov1alpha1.StateProvisioned, true)
	e.G.Expect(e.server("server-1").Disk.Image).To(gomega.Equal(imageURL))
	e.G.Expect(e.server("server-1").Disk.Drive.UserData).To(gomega.Equal(userData))

	// Off and on again.
	runs()
	e.power("build-1", false)
	e.expect("server-1", bmov1alpha1.StateProvisioned, false)
	e.power("build-1", true)
	e.expect("server-1", bmov1alpha1.StateProvisioned, true)
	e.G.Expect(e.server("server-1").Boots).To(gomega.Equal(2))

	e.rebootOnce("build-1", "server-1")
	e.writeAnew("build-1", "server-1")

	// Given back, the server is wiped and free, and nothing is left of the tenant.
	wipes := e.server("server-1").Disk.Wipes
	e.OK(e.Delete(t.Context(), e.claim("build-1")))
	e.expectGone("build-1")
	free := e.host("server-1")
	e.G.Expect(free.Spec.ConsumerRef).To(gomega.BeNil())
	e.G.Expect(free.Spec.Image).To(gomega.BeNil())
	e.G.Expect(free.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateAvailable))
	e.G.Expect(e.server("server-1").Disk).To(gomega.Equal(life.Disk{Wipes: wipes + 1}))
	left := &corev1.SecretList{}
	e.OK(e.List(t.Context(), left, client.InNamespace(e.infra)))
	e.G.Expect(left.Items).To(gomega.BeEmpty())
}

// rebootOnce asks for a reboot, which must happen once, however often the manager looks.
func (e *team) rebootOnce(name, host string) {
	e.T.Helper()
	boots := func() int { return e.server(host).Boots }
	before := boots()
	harness.Change(e.Story, e.claim(name), func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, bmov1alpha1.RebootAnnotationPrefix, "")
	})
	e.G.Eventually(boots).Should(gomega.Equal(before + 1))
	e.G.Eventually(func() map[string]string { return e.claim(name).Annotations }).ShouldNot(gomega.Or(
		gomega.HaveKey(bmov1alpha1.RebootAnnotationPrefix), gomega.HaveKey(infrav1.RebootRequestAnnotation)))
	e.G.Consistently(boots).Should(gomega.Equal(before + 1))
	e.expect(host, bmov1alpha1.StateProvisioned, true)
}

// writeAnew asks for another image, which must come onto disks that were cleaned,
// with the same user data.
func (e *team) writeAnew(name, host string) {
	e.T.Helper()
	want := e.server(host).Disk
	want.Image = newerURL
	want.Wipes++
	e.write(name, func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.RebuildAnnotation, "2026-01-31")
		c.Spec.Image = &bmov1alpha1.Image{URL: newerURL, Checksum: "def456"}
	})
	e.G.Eventually(func() life.Disk { return e.server(host).Disk }).Should(gomega.Equal(want))
	e.expectClaim(name, bmov1alpha1.ReadyCondition)
}

// power asks for a server to be on or off, and waits until the claim reports that.
func (e *team) power(name string, on bool) {
	e.T.Helper()
	e.write(name, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = on })
	e.G.Eventually(func() any { return e.shownPower(name) }).Should(gomega.Equal(on))
}

// shownPower is what kubectl get shows as POWER: nil if it shows nothing.
func (e *team) shownPower(name string) any {
	claim := &unstructured.Unstructured{}
	claim.SetGroupVersionKind(bmov1alpha1.GroupVersion.WithKind("HostClaim"))
	e.OK(e.Get(e.T.Context(), client.ObjectKey{Namespace: e.tenant, Name: name}, claim))
	power, _, err := unstructured.NestedFieldNoCopy(claim.Object, "status", "poweredOn")
	e.OK(err)
	return power
}

func (e *team) expectGone(name string) {
	e.T.Helper()
	e.AwaitGone(&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: e.tenant, Name: name}})
}

// TestServerThatCannotBeWipedStaysWithItsClaim lets the wipe of a server fail until
// an administrator has seen to it.
func TestServerThatCannotBeWipedStaysWithItsClaim(t *testing.T) {
	e := newTeam(t)
	e.admit()
	e.register("server-1", func(h *bmov1alpha1.BareMetalHost) {
		h.Annotations = map[string]string{life.FailAnnotation: "deprovisioning"}
	})
	e.MakeSecret(e.tenant, "user-data", "userData", userData)
	e.Make(builder.Claim(client.ObjectKey{Namespace: e.tenant, Name: "build-1"}, func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: imageURL, Checksum: "abc123"}
		c.Spec.UserData = &corev1.SecretReference{Name: "user-data"}
	}))
	e.expectClaim("build-1", bmov1alpha1.ReadyCondition)
	e.OK(e.Delete(t.Context(), e.claim("build-1")))
	e.G.Eventually(func() bmov1alpha1.ErrorType { return e.host("server-1").Status.ErrorType }).
		Should(gomega.Equal(bmov1alpha1.ProvisioningError))
	e.G.Consistently(func() *corev1.ObjectReference { return e.host("server-1").Spec.ConsumerRef }).ShouldNot(gomega.BeNil())
	for _, c := range e.claim("build-1").Status.Conditions {
		e.G.Expect(c.Message).NotTo(gomega.ContainSubstring("192.0.2.7"), "the tenant is told the address of the BMC")
	}
	harness.Change(e.Story, e.host("server-1"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, life.FailAnnotation) })
	e.expectGone("build-1")
	e.G.Expect(e.server("server-1").Disk.Empty()).To(gomega.BeTrue())
}
