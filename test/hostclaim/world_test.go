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
	"errors"
	"net/http"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// world is one tenant and one infrastructure namespace of a story, with a
// manager that sees only these two.
type world struct {
	client.Client
	t             *testing.T
	g             *gomega.WithT
	ctx           context.Context
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
	w := &world{Client: server.Client, t: t, g: gomega.NewWithT(t), ctx: t.Context(), options: setup.NewOptions()}
	w.options.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	w.tenant = server.Namespace(t, "tenant", nil)
	w.infra = server.Namespace(t, "infra", nil)
	w.operator = startOperator(t, w.infra)
	return w
}

// withRights lets the manager at the secrets of both namespaces.
func (w *world) withRights() *world {
	w.ok(server.Bind(w.ctx, harness.HostClaimAccount(), w.tenant, sourceSecretsRole))
	w.ok(server.Bind(w.ctx, harness.HostClaimAccount(), w.infra, hostSecretsRole))
	return w
}

// manager starts a manager; the returned function stops it.
func (w *world) manager() (stop func()) {
	w.t.Helper()
	return w.managerWith(nil)
}

// managerWith starts a manager whose writes go through a function; nil lets them
// pass.
func (w *world) managerWith(write func(do func() error) error) (stop func()) {
	w.t.Helper()
	cacheOptions, err := setup.CacheOptions(w.options)
	w.ok(err)
	cacheOptions.DefaultNamespaces = map[string]cache.Config{w.tenant: {}, w.infra: {}}
	options := ctrl.Options{Cache: cacheOptions, Client: setup.ClientOptions()}
	if write != nil {
		options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			if err != nil {
				return nil, err
			}
			return writes(c, write), nil
		}
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
	return as.StartManager(w.t, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return setup.AddControllers(ctx, mgr, w.options, registry)
	})
}

func (w *world) ok(err error) {
	w.t.Helper()
	w.g.Expect(err).NotTo(gomega.HaveOccurred())
}

// host makes a host that is free.
func (w *world) host(name string, labels map[string]string, changes ...func(*bmov1alpha1.BareMetalHost)) {
	w.t.Helper()
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: name, Labels: labels},
		Spec:       bmov1alpha1.BareMetalHostSpec{BootMACAddress: "02:00:00:00:00:01", AutomatedCleaningMode: bmov1alpha1.CleaningModeDisabled},
		Status: bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: bmov1alpha1.OperationalStatusOK,
			Provisioning:      bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable},
			HardwareDetails:   &bmov1alpha1.HardwareDetails{Hostname: name, RAMMebibytes: 1024},
		},
	}
	for _, change := range changes {
		change(host)
	}
	status := host.Status
	w.ok(w.Create(w.ctx, host))
	// The whole status, since its zero values are required as well.
	text, err := json.Marshal(map[string]any{"status": status})
	w.ok(err)
	w.ok(w.Status().Patch(w.ctx, host, client.RawPatch(types.MergePatchType, text)))
}

// policy admits the namespaces of the names.
func (w *world) policy(annotations map[string]string, names ...string) {
	w.t.Helper()
	w.ok(w.Create(w.ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.infra, Name: "policy", Annotations: annotations},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: names}},
	}))
}

// claim makes a claim of the tenant.
func (w *world) claim(name string, changes ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	w.t.Helper()
	claim := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: name},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	for _, change := range changes {
		change(claim)
	}
	w.ok(w.Create(w.ctx, claim))
	return claim
}

// withImage asks for an image and user data of a secret.
func withImage(secret string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image = &bmov1alpha1.Image{URL: "https://images.example.com/os.raw", Checksum: "abc123"}
		c.Spec.UserData = &corev1.SecretReference{Name: secret}
	}
}

// withLabel asks for hosts with a label.
func withLabel(key, value string) func(*bmov1alpha1.HostClaim) {
	return func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.MatchLabels = map[string]string{key: value} }
}

// secret makes a secret of the tenant.
func (w *world) secret(name, key, value string) {
	w.t.Helper()
	w.ok(w.Create(w.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: name}, Data: map[string][]byte{key: []byte(value)},
	}))
}

// readClaim and readHost return the object as it is now.
func (w *world) readClaim(name string) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{}
	w.ok(w.Get(w.ctx, client.ObjectKey{Namespace: w.tenant, Name: name}, claim))
	return claim
}

func (w *world) readHost(name string) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{}
	w.ok(w.Get(w.ctx, client.ObjectKey{Namespace: w.infra, Name: name}, host))
	return host
}

// change patches an object after a function changed it.
func change[T client.Object](w *world, object T, edit func(T)) {
	w.t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	edit(object)
	w.ok(w.Patch(w.ctx, object, client.MergeFrom(before)))
}

// condition returns a condition as "Status/Reason"; "none" when it is absent.
func condition(claim *bmov1alpha1.HostClaim, kind string) string {
	if c := meta.FindStatusCondition(claim.Status.Conditions, kind); c != nil {
		return string(c.Status) + "/" + c.Reason
	}
	return "none"
}

func message(claim *bmov1alpha1.HostClaim, kind string) string {
	if c := meta.FindStatusCondition(claim.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// expect waits until a condition of a claim is as given.
func (w *world) expect(name, kind, want string) *bmov1alpha1.HostClaim {
	w.t.Helper()
	var claim *bmov1alpha1.HostClaim
	w.g.Eventually(func() string {
		claim = w.readClaim(name)
		return condition(claim, kind)
	}).Should(gomega.Equal(want))
	return claim
}

// expectBound waits until a claim is bound, and returns the name of its host.
func (w *world) expectBound(name string) string {
	w.t.Helper()
	claim := w.expect(name, bmov1alpha1.AssociatedCondition, "True/"+bmov1alpha1.BareMetalHostAssociatedReason)
	w.g.Expect(claim.Status.BareMetalHost).NotTo(gomega.BeNil())
	host := w.readHost(claim.Status.BareMetalHost.Name)
	w.g.Expect(host.Spec.ConsumerRef).To(gomega.Equal(&corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: w.tenant, Name: name, UID: claim.UID,
	}))
	return host.Name
}

// expectGone waits until a claim is gone.
func (w *world) expectGone(name string) {
	w.t.Helper()
	w.g.Eventually(func() bool {
		err := w.Get(w.ctx, client.ObjectKey{Namespace: w.tenant, Name: name}, &bmov1alpha1.HostClaim{})
		return apierrors.IsNotFound(err)
	}).Should(gomega.BeTrue())
}

// expectPristine checks that nothing of any claim is left on a host or next to
// it.
func (w *world) expectPristine(name string) {
	w.t.Helper()
	host := w.readHost(name)
	w.g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil())
	w.g.Expect(host.Spec.Image).To(gomega.BeNil())
	w.g.Expect(host.Spec.UserData).To(gomega.BeNil())
	w.g.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled))
	w.g.Expect(host.Annotations).To(gomega.BeEmpty())
	w.g.Expect(host.Labels).NotTo(gomega.HaveKey("hostclaim.metal3.io/claim-uid"))
	w.g.Expect(host.Status.Provisioning.Image.URL).To(gomega.BeEmpty())
	copies := &corev1.SecretList{}
	w.ok(w.List(w.ctx, copies, client.InNamespace(w.infra), client.HasLabels{"hostclaim.metal3.io/claim-uid"}))
	w.g.Expect(copies.Items).To(gomega.BeEmpty())
	w.g.Expect(w.facts()).To(gomega.BeEmpty())
}

// expectNoFacts waits until nothing is published in the tenant's namespace.
func (w *world) expectNoFacts() {
	w.t.Helper()
	w.g.Eventually(w.facts).Should(gomega.BeEmpty())
}

// facts are what is published in the tenant's namespace.
func (w *world) facts() []bmov1alpha1.HardwareData {
	list := &bmov1alpha1.HardwareDataList{}
	w.ok(w.List(w.ctx, list, client.InNamespace(w.tenant)))
	return list.Items
}

// copyName is the name that the copy of a claim's secret gets.
func copyName(claim *bmov1alpha1.HostClaim, kind binding.SecretKind) string {
	return binding.CopyName(claim.UID, kind)
}

// nextDrive waits for the next server that is written.
func (w *world) nextDrive() drive {
	w.t.Helper()
	select {
	case d := <-w.operator.drives:
		return d
	case <-time.After(timeout):
		w.t.Fatal("no server was written in time")
		return drive{}
	}
}

var errCrash = errors.New("the manager has crashed")
