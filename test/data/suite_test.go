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
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	secretsRole = "capm3-tenant-secrets"

	// patience is how long a story waits. A step takes milliseconds, and a CRD
	// that has just come some seconds.
	patience = time.Minute
)

var server harness.Server

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	os.Exit(server.Run(managed{m}))
}

// managed runs the tests beside one provider manager, which has the rights of
// its service account and no others. When it starts, nothing of address
// management is installed: that comes with the first test.
type managed struct{ tests *testing.M }

func (m managed) Run() int {
	ctx, stop := context.WithCancel(ctrl.LoggerInto(context.Background(), klog.Background()))
	defer stop()
	ctrl.SetLogger(klog.Background())
	ended, err := start(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "start the provider manager: %v\n", err)
		return 1
	}
	code := m.tests.Run()
	stop()
	if addressManagement.stop != nil {
		addressManagement.stop()
	}
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "provider manager: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context) (<-chan error, error) {
	if err := server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return nil, err
	}
	if err := addressManagement.remove(ctx); err != nil {
		return nil, err
	}
	provider, err := setup.NewManager(ctx, server.As(harness.ProviderAccount()), options())
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- provider.Start(ctx) }()
	return ended, nil
}

// options are the defaults, without servers that would need ports.
func options() setup.Options {
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.HealthAddress = 0, "0"
	o.IdentityDenied, o.WorkloadDenied = "", "" // the test server is on loopback
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	return o
}

const (
	clusterName = "a"
	// plain is a template that needs nothing.
	plain = "metaData: {strings: [{key: a, value: b}]}"
)

// tenant is a namespace with the objects of one story. It plays everything but
// the provider manager and the pools.
type tenant struct {
	harness.Tenant
}

// newTenant makes a namespace with a Cluster, whose secrets the manager may use.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	tn := newTenantWithoutRights(t)
	tn.grantSecrets()
	return tn
}

func newTenantWithoutRights(t *testing.T) *tenant {
	t.Helper()
	t.Parallel()
	addressManagement.install(t)
	return newNamespace(t)
}

func newNamespace(t *testing.T) *tenant {
	t.Helper()
	tn := &tenant{Tenant: server.NewTenant(t, "data")}
	tn.Add(builder.Cluster(tn.Key(clusterName)))
	return tn
}

func (tn *tenant) grantSecrets() {
	tn.G.Expect(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole)).To(gomega.Succeed())
}

// template makes a data template from its spec.
func (tn *tenant) template(name, spec string) {
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tn.G.Expect(yaml.UnmarshalStrict([]byte(spec), &template.Spec)).To(gomega.Succeed())
	tn.Add(template)
}

// pool makes a pool with prefix, gateway and name server.
func (tn *tenant) pool(name string) {
	gateway := ipamv1alpha1.IPAddressStr("192.0.2.1")
	tn.Add(&ipamv1alpha1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: ipamv1alpha1.IPPoolSpec{
			NamePrefix: name, Prefix: 24, Gateway: &gateway, DNSServers: []ipamv1alpha1.IPAddressStr{"192.0.2.53"},
		},
	})
}

// machine makes a Machine and its Metal3Machine. The latter is paused, so that
// this story and not the machine controller writes what belongs to it.
func (tn *tenant) machine(name string) *infrav1.Metal3Machine {
	return tn.machineOf(clusterName, name)
}

// machineOf makes them for a Cluster.
func (tn *tenant) machineOf(cluster, name string) *infrav1.Metal3Machine {
	owner := builder.Machine(tn.Key(name), cluster)
	tn.Add(owner)
	m := builder.PausedMetal3Machine(owner)
	tn.Add(m)
	return m
}

// bind makes the HostClaim of a machine whose controller does not, and binds it.
func (tn *tenant) bind(m *infrav1.Metal3Machine) {
	claim := builder.HostClaim(m)
	tn.Add(claim)
	tn.publish(claim)
}

// publish plays the hostclaim manager for a claim: a server is bound to it, and its
// facts are published.
func (tn *tenant) publish(claim *bmov1alpha1.HostClaim) {
	tn.Add(builder.Published(claim, &bmov1alpha1.HardwareDetails{NIC: []bmov1alpha1.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}}}))
	tn.EditStatus(claim, func() { builder.Bind(claim) })
}

// joins makes a machine with a server and a claim on a template.
func (tn *tenant) joins(name, template string) *infrav1.Metal3DataClaim {
	m := tn.machine(name)
	tn.bind(m)
	return tn.claim(m, template)
}

// claim makes the Metal3DataClaim of a machine, as the machine controller does.
func (tn *tenant) claim(m *infrav1.Metal3Machine, template string) *infrav1.Metal3DataClaim {
	claim := builder.DataClaim(m, template)
	tn.Add(claim)
	return claim
}

// release plays the machine controller once the server is free.
func (tn *tenant) release(claim *infrav1.Metal3DataClaim) {
	tn.G.Expect(tn.Delete(tn.Ctx, claim)).To(gomega.Succeed())
	tn.Edit(claim, func() { controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer) })
}

// waits expects the Metal3Data to be not ready for the reason, with a message
// that contains the parts.
func (tn *tenant) waits(name, reason string, parts ...string) {
	data := &infrav1.Metal3Data{}
	tn.G.EventuallyWithOffset(1, func(g gomega.Gomega) {
		g.Expect(tn.Find(name, data)).To(gomega.Succeed())
		c := meta.FindStatusCondition(data.Status.Conditions, infrav1.ReadyCondition)
		g.Expect(c).NotTo(gomega.BeNil())
		g.Expect(c.Status).To(gomega.Equal(metav1.ConditionFalse))
		g.Expect(c.Reason).To(gomega.Equal(reason), c.Message)
		for _, part := range parts {
			g.Expect(c.Message).To(gomega.ContainSubstring(part))
		}
	}).Should(gomega.Succeed())
}

// ready expects the Metal3Data to have its secrets and returns them.
func (tn *tenant) ready(name string) (metaData, networkData map[string]any) {
	data := &infrav1.Metal3Data{}
	tn.G.EventuallyWithOffset(1, func(g gomega.Gomega) {
		g.Expect(tn.Find(name, data)).To(gomega.Succeed())
		c := meta.FindStatusCondition(data.Status.Conditions, infrav1.ReadyCondition)
		g.Expect(c).NotTo(gomega.BeNil())
		g.Expect(c.Status).To(gomega.Equal(metav1.ConditionTrue), c.Reason+": "+c.Message)
		g.Expect(data.Status.Ready).To(gomega.HaveValue(gomega.BeTrue()))
		g.Expect(data.Status.ErrorMessage).To(gomega.BeEmpty())
	}).Should(gomega.Succeed())
	return tn.rendered(data, data.Spec.MetaData, "metaData"), tn.rendered(data, data.Spec.NetworkData, "networkData")
}

// rendered reads a secret of the Metal3Data.
func (tn *tenant) rendered(owner *infrav1.Metal3Data, ref *corev1.SecretReference, key string) map[string]any {
	if ref == nil {
		return nil
	}
	secret := find(tn, ref.Name, &corev1.Secret{})
	tn.G.Expect(secret.Type).To(gomega.BeEquivalentTo(infrav1.RenderedSecretType))
	tn.G.Expect(secret.Labels).To(gomega.HaveKeyWithValue(clusterv1.ClusterNameLabel, owner.Labels[clusterv1.ClusterNameLabel]))
	tn.G.Expect(metav1.IsControlledBy(secret, owner)).To(gomega.BeTrue())
	var content map[string]any
	tn.G.Expect(yaml.Unmarshal(secret.Data[key], &content)).To(gomega.Succeed())
	return content
}

// templateWithPool makes the template nodes, and the pool that it asks.
func (tn *tenant) templateWithPool() {
	tn.pool("pool")
	tn.template("nodes", nodes)
}

// find reads an object by its name.
func find[T client.Object](tn *tenant, name string, o T) T {
	tn.T.Helper()
	tn.OK(tn.Find(name, o))
	return o
}

// gaveBack expects a Metal3Data to be gone with its claim on the pool.
func (tn *tenant) gaveBack(name string) {
	tn.T.Helper()
	tn.gone(name, &infrav1.Metal3Data{})
	tn.gone(name+"-pool", &ipamv1alpha1.IPClaim{})
}

// gone expects an object not to exist any more.
func (tn *tenant) gone(name string, o client.Object) {
	tn.T.Helper()
	tn.AwaitGone(tn.Named(name, o))
}
