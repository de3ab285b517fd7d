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
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	hostclaimsetup "github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// A cluster of one control plane and three workers that a real CAPM3 has made, as it was read from the API server, is
// taken over by both managers: nothing of the servers, the machines and their data changes. A worker that is deleted
// afterwards gives its server back.
func TestClusterOfCAPM3IsTakenOver(t *testing.T) {
	tn := loadCAPM3(t)
	before := tn.look()
	tn.G.Expect(before.hosts).To(gomega.HaveLen(6))
	tn.G.Expect(before.machines).To(gomega.HaveLen(4))
	tn.hostclaimManager()
	cluster := &clusterv1.Cluster{}
	tn.Edit(tn.Named("c1", cluster), func() { cluster.Spec.Paused = ptr.To(false) })

	for name := range before.machines {
		tn.waitsFor(name, "AssociateBareMetalHost", "HostLost", `write "true" to annotation hostclaim.metal3.io/take-over of the Metal3Cluster`)
	}
	tn.G.Expect(tn.look().hosts).To(gomega.Equal(before.hosts), "nothing happens before it is asked for")

	infra := &infrav1.Metal3Cluster{}
	tn.Edit(tn.Named("c1", infra), func() { metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.TakeOverAnnotation, "true") })
	for name := range before.machines {
		tn.shows(name, &infrav1.Metal3Machine{}, "Ready", "True/Ready")
		claim := find(tn, name, &bmov1alpha1.HostClaim{})
		tn.G.Expect(harness.Condition(claim.Status.Conditions, "Ready")).To(gomega.Equal("True/Provisioned"))
	}
	tn.sameAs(before)

	const worker, host = "c1-v5nbg-2hsr8", "server-1"
	tn.G.Expect(tn.Delete(tn.Ctx, find(tn, worker, &infrav1.Metal3Machine{}))).To(gomega.Succeed())
	tn.gone(worker, &infrav1.Metal3Machine{})
	tn.gone(worker, &bmov1alpha1.HostClaim{})
	freed := find(tn, host, &bmov1alpha1.BareMetalHost{})
	tn.G.Expect(freed.Spec.ConsumerRef).To(gomega.BeNil())
	tn.G.Expect(freed.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateAvailable))
	tn.G.Expect(freed.Labels).To(gomega.Equal(map[string]string{"model": "demo", "rack": "r1"}))
}

// loadCAPM3 makes the objects of testdata/capm3-running.json in their namespace, with new UIDs, below a Cluster that
// is paused.
func loadCAPM3(t *testing.T) *tenant {
	t.Helper()
	t.Parallel()
	tn := &tenant{Tenant: harness.Tenant{Story: server.NewStory(t), Namespace: "metal3"}}
	tn.OK(tn.Create(tn.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tn.Namespace}}))
	tn.OK(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole))
	text, err := os.ReadFile(filepath.Join("testdata", "capm3-running.json"))
	tn.OK(err)
	uids := map[types.UID]types.UID{}
	for line := range bytes.Lines(text) {
		object := &unstructured.Unstructured{}
		tn.OK(json.Unmarshal(line, &object.Object))
		status, hasStatus := object.Object["status"]
		former := object.GetUID()
		if object.GetKind() == "Cluster" {
			tn.OK(unstructured.SetNestedField(object.Object, true, "spec", "paused"))
		}
		owners := object.GetOwnerReferences()
		for i := range owners {
			if now, found := uids[owners[i].UID]; found {
				owners[i].UID = now
			}
		}
		object.SetOwnerReferences(owners)
		tn.OK(tn.Create(tn.Ctx, object))
		uids[former] = object.GetUID()
		if hasStatus {
			bare := object.DeepCopy()
			object.Object["status"] = status
			tn.OK(tn.Status().Patch(tn.Ctx, object, client.MergeFrom(bare)))
		}
	}
	return tn
}

// hostclaimManager runs the hostclaim manager in the namespace until the test ends, and plays baremetal-operator.
func (tn *tenant) hostclaimManager() {
	tn.T.Helper()
	account := harness.HostClaimAccount()
	tn.OK(server.InstallRoles(tn.Ctx, account))
	for _, role := range []string{"hostclaim-source-secrets", "hostclaim-host-secrets"} {
		tn.OK(server.Bind(tn.Ctx, account, tn.Namespace, role))
	}
	o := hostclaimsetup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	options := ctrl.Options{Cache: hostclaimsetup.CacheOptions(o), Client: hostclaimsetup.ClientOptions()}
	options.Cache.DefaultNamespaces = map[string]cache.Config{tn.Namespace: {}}
	as := server
	as.Config = server.As(account)
	as.StartManager(tn.T, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return hostclaimsetup.AddControllers(ctx, mgr, o, prometheus.NewRegistry())
	})

	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Scheme})
	tn.OK(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := harness.FollowHosts(ctx, c, func(_ watch.EventType, host *bmov1alpha1.BareMetalHost) error {
		before := host.DeepCopy()
		harness.Proceed(host, func() { tn.T.Errorf("host %s is written", host.Name) }, func() {})
		host.Status.PoweredOn = host.Spec.Online
		return c.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}, client.InNamespace(tn.Namespace))
	tn.T.Cleanup(func() {
		cancel()
		<-ended
	})
}

// seen is what a take-over leaves as it is, by name.
type seen struct {
	hosts    map[string]bmov1alpha1.BareMetalHost
	machines map[string]infrav1.Metal3Machine
	// data are the versions of what the servers were given.
	data map[string]string
}

// look reads what a take-over leaves as it is.
func (tn *tenant) look() seen {
	tn.T.Helper()
	s := seen{map[string]bmov1alpha1.BareMetalHost{}, map[string]infrav1.Metal3Machine{}, map[string]string{}}
	hosts, machines, in := &bmov1alpha1.BareMetalHostList{}, &infrav1.Metal3MachineList{}, client.InNamespace(tn.Namespace)
	tn.OK(tn.List(tn.Ctx, hosts, in))
	for _, host := range hosts.Items {
		s.hosts[host.Name] = host
	}
	tn.OK(tn.List(tn.Ctx, machines, in))
	for _, machine := range machines.Items {
		s.machines[machine.Name] = machine
	}
	for _, kind := range []string{"Secret", "IPClaim", "IPAddress", "Metal3Data", "Metal3DataClaim"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(map[string]string{"Secret": "v1", "IPClaim": "ipam.metal3.io/v1alpha1", "IPAddress": "ipam.metal3.io/v1alpha1"}[kind])
		if list.GetAPIVersion() == "" {
			list.SetAPIVersion(infrav1.GroupVersion.String())
		}
		list.SetKind(kind + "List")
		tn.OK(tn.List(tn.Ctx, list, in))
		for _, object := range list.Items {
			text, err := json.Marshal([]any{object.GetUID(), object.Object["spec"], object.Object["data"]})
			tn.OK(err)
			s.data[kind+"/"+object.GetName()] = string(text)
		}
	}
	return s
}

// sameAs expects that nothing has changed but whose the hosts are.
func (tn *tenant) sameAs(before seen) {
	tn.T.Helper()
	now := tn.look()
	tn.G.Expect(now.data).To(gomega.Equal(before.data))
	for name, host := range now.hosts {
		was := before.hosts[name]
		if ref := was.Spec.ConsumerRef; ref != nil {
			tn.G.Expect(host.Spec.ConsumerRef.Kind).To(gomega.Equal("HostClaim"))
			tn.G.Expect(host.Spec.ConsumerRef.Name).To(gomega.Equal(ref.Name))
			host.Spec.ConsumerRef = ref
		}
		tn.G.Expect(host.Spec).To(gomega.Equal(was.Spec), name)
		tn.G.Expect(host.Status).To(gomega.Equal(was.Status), name)
		tn.G.Expect(host.UID).To(gomega.Equal(was.UID))
	}
	for name, machine := range now.machines {
		was := before.machines[name]
		tn.G.Expect(machine.Spec).To(gomega.Equal(was.Spec), name)
		tn.G.Expect(machine.Status.Addresses).To(gomega.ConsistOf(was.Status.Addresses), name)
		tn.G.Expect(machine.Status.UserData).To(gomega.Equal(was.Status.UserData), name)
		tn.G.Expect(machine.Status.MetaData).To(gomega.Equal(was.Status.MetaData), name)
		tn.G.Expect(machine.Status.NetworkData).To(gomega.Equal(was.Status.NetworkData), name)
		tn.G.Expect(machine.Status.RenderedData).To(gomega.Equal(was.Status.RenderedData), name)
		tn.G.Expect(machine.Status.Initialization).To(gomega.Equal(was.Status.Initialization), name)
	}
}
