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
	"net/http"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// world is one tenant and one infrastructure namespace of a story, with a
// manager that sees only these two.
type world struct {
	harness.Story
	tenant, infra string
	operator      *operator
	options       setup.Options
	// registry holds the metrics of the manager that was started last.
	registry *prometheus.Registry
	// transport, unless nil, wraps the connection of the managers started from
	// now on.
	transport func(http.RoundTripper) http.RoundTripper
}

// newWorld makes the namespaces; the story starts its manager when it likes.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return makeWorld(t)
}

// makeWorld is newWorld for a story that runs alone.
func makeWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Story: server.NewStory(t), options: setup.NewOptions()}
	w.options.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	w.tenant = server.Namespace(t, "tenant", nil)
	w.infra = server.Namespace(t, "infra", nil)
	w.operator = startOperator(t, w.infra)
	return w
}

// withRights lets the manager at the secrets of both namespaces.
func (w *world) withRights() *world {
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), w.tenant, sourceSecretsRole))
	w.OK(server.Bind(w.Ctx, harness.HostClaimAccount(), w.infra, hostSecretsRole))
	return w
}

// manager starts a manager; the returned function stops it.
func (w *world) manager() (stop func()) {
	w.T.Helper()
	return w.managerWith(nil)
}

// managerWith starts a manager that dies with a crash, unless that is nil.
func (w *world) managerWith(c *harness.Crash) (stop func()) {
	w.T.Helper()
	cacheOptions := setup.CacheOptions(w.options)
	cacheOptions.DefaultNamespaces = map[string]cache.Config{w.tenant: {}, w.infra: {}}
	options := ctrl.Options{Cache: cacheOptions, Client: setup.ClientOptions()}
	if c != nil {
		options.NewClient = c.NewClient
	}
	limited := rest.CopyConfig(server.Config)
	limited.Impersonate.UserName = harness.HostClaimAccount().User()
	if w.transport != nil {
		limited.Wrap(w.transport)
	}
	as := server
	as.Config = limited
	registry := prometheus.NewRegistry()
	w.registry = registry
	return as.StartManager(w.T, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.AddControllers(ctx, mgr, w.options, registry)
	})
}

// host makes a host that is free.
func (w *world) host(name string, labels map[string]string, changes ...func(*bmov1alpha1.BareMetalHost)) {
	w.T.Helper()
	host := builder.FreeHost(client.ObjectKey{Namespace: w.infra, Name: name})
	host.Labels = labels
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	w.OK(w.Create(w.Ctx, host))
	w.SetStatus(host, status)
}

// policy admits the namespaces of the names.
func (w *world) policy(annotations map[string]string, names ...string) {
	w.T.Helper()
	policy := builder.Policy(client.ObjectKey{Namespace: w.infra, Name: "policy"}, names...)
	policy.Annotations = annotations
	w.Make(policy)
}

// admitting is the policy with these namespaces.
func (w *world) admitting(namespaces bmov1alpha1.HostClaimNamespaces) *bmov1alpha1.HostDeployPolicy {
	policy := builder.Policy(client.ObjectKey{Namespace: w.infra, Name: "policy"})
	policy.Spec.HostClaimNamespaces = &namespaces
	return policy
}

// withHosts admits the tenant to hosts that are free.
func (w *world) withHosts(names ...string) *world {
	w.T.Helper()
	w.policy(nil, w.tenant)
	for _, name := range names {
		w.host(name, nil)
	}
	return w
}

// withBoot makes the Secret boot of the tenant.
func (w *world) withBoot() *world {
	w.T.Helper()
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	return w
}

// bound makes the claim machine, and waits until it is bound.
func (w *world) bound(changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := w.claim("machine", changes...)
	w.expectBound("machine")
	return claim
}

// served makes the claim machine, and waits until its server runs.
func (w *world) served() *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := w.claim("machine", withImage("boot"))
	w.expect("machine", "Ready", "True/Provisioned")
	return claim
}

// givenBack deletes the claim machine, of which nothing stays on its host.
func (w *world) givenBack(host string) {
	w.T.Helper()
	w.end("machine")
	w.expectPristine(host)
}

// end deletes a claim, and waits until it is gone.
func (w *world) end(name string) {
	w.T.Helper()
	w.OK(w.Delete(w.Ctx, w.readClaim(name)))
	w.expectGone(name)
}

// claim makes a claim of the tenant.
func (w *world) claim(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.T.Helper()
	claim := builder.Claim(client.ObjectKey{Namespace: w.tenant, Name: name}, changes...)
	w.OK(w.Create(w.Ctx, claim))
	return claim
}

const osImage = "https://images.example.com/os.raw"

// withImage asks for an image and user data of a secret.
func withImage(secret string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: osImage, Checksum: "abc123"}
		c.Spec.UserData = &corev1.SecretReference{Name: secret}
	}
}

// withLabel asks for hosts with a label.
func withLabel(key, value string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{key: value} }
}

// readClaim and readHost return the object as it is now.
func (w *world) readClaim(name string) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: name}, claim))
	return claim
}

func (w *world) readHost(name string) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: name}, host))
	return host
}

func (w *world) readPolicy() *bmov1alpha1.HostDeployPolicy {
	policy := &bmov1alpha1.HostDeployPolicy{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: "policy"}, policy))
	return policy
}

// says waits until the message of a condition of the claim machine has a part.
func (w *world) says(kind, part string) {
	w.T.Helper()
	w.saysOf("machine", kind, part)
}

// saysOf is says for a claim of any name.
func (w *world) saysOf(name, kind, part string) {
	w.T.Helper()
	w.G.Eventually(func() string { return harness.Message(w.readClaim(name).Status.Conditions, kind) }).Should(gomega.ContainSubstring(part))
}

// expect waits until a condition of a claim is as given, whose message then has the parts.
func (w *world) expect(name, kind, want string, parts ...string) *bmov1alpha1.HostClaim {
	w.T.Helper()
	var claim *bmov1alpha1.HostClaim
	w.G.Eventually(func() string {
		claim = w.readClaim(name)
		return harness.Condition(claim.Status.Conditions, kind)
	}).Should(gomega.Equal(want))
	for _, part := range parts {
		w.G.Expect(harness.Message(claim.Status.Conditions, kind)).To(gomega.ContainSubstring(part))
	}
	return claim
}

// expectBound waits until a claim is bound, and returns the name of its host.
func (w *world) expectBound(name string) string {
	w.T.Helper()
	claim := w.expect(name, bmov1alpha1.AssociatedCondition, "True/"+bmov1alpha1.BareMetalHostAssociatedReason)
	w.G.Expect(claim.Status.BareMetalHost).NotTo(gomega.BeNil())
	host := w.readHost(claim.Status.BareMetalHost.Name)
	w.G.Expect(host.Spec.ConsumerRef).To(gomega.Equal(&corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: w.tenant, Name: name, UID: claim.UID,
	}))
	return host.Name
}

// expectGone waits until a claim is gone.
func (w *world) expectGone(name string) {
	w.T.Helper()
	w.AwaitGone(&bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: name}})
}

// expectPristine checks that nothing of any claim is left on a host or next to
// it.
func (w *world) expectPristine(name string) {
	w.T.Helper()
	host := w.readHost(name)
	w.G.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
	w.G.Expect(host.Spec.Image).To(gomega.BeNil())
	w.G.Expect(host.Spec.UserData).To(gomega.BeNil())
	w.G.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled))
	w.G.Expect(host.Annotations).To(gomega.BeEmpty())
	w.G.Expect(host.Labels).NotTo(gomega.HaveKey("hostclaim.metal3.io/claim-uid"))
	w.G.Expect(host.Status.Provisioning.Image.URL).To(gomega.BeEmpty())
	copies := &corev1.SecretList{}
	w.OK(w.List(w.Ctx, copies, client.InNamespace(w.infra), client.HasLabels{"hostclaim.metal3.io/claim-uid"}))
	w.G.Expect(copies.Items).To(gomega.BeEmpty())
	w.G.Expect(w.facts()).To(gomega.BeEmpty())
}

// expectNoFacts waits until nothing is published in the tenant's namespace.
func (w *world) expectNoFacts() {
	w.T.Helper()
	w.G.Eventually(w.facts).Should(gomega.BeEmpty())
}

// facts are what is published in the tenant's namespace.
func (w *world) facts() []bmov1alpha1.HardwareData {
	list := &bmov1alpha1.HardwareDataList{}
	w.OK(w.List(w.Ctx, list, client.InNamespace(w.tenant)))
	return list.Items
}

// copyName is the name that the copy of a claim's secret gets.
func copyName(claim *bmov1alpha1.HostClaim, kind binding.SecretKind) string {
	return binding.CopyName(claim.UID, kind)
}

// nextDrive waits for the next server that is written.
func (w *world) nextDrive() drive {
	w.T.Helper()
	select {
	case d := <-w.operator.drives:
		return d
	case <-time.After(timeout):
		w.T.Fatal("no server was written in time")
		return drive{}
	}
}
