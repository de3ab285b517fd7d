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
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/commands"
	hostclaimsetup "github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/capm3"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// A cluster of one control plane and three workers that a real CAPM3 has made, as it was read from the API server, is
// taken over by both managers: nothing of the servers, the machines and their data changes. A worker that is deleted
// afterwards gives its server back.
func TestClusterOfCAPM3IsTakenOver(t *testing.T) {
	tn := loadCAPM3(t, capm3.Running)
	before := tn.look()
	tn.G.Expect(before.hosts).To(gomega.HaveLen(6))
	tn.G.Expect(before.machines).To(gomega.HaveLen(4))
	tn.hostclaimManager()
	tn.pauses(false)

	for name := range before.machines {
		tn.waitsFor(name, "AssociateBareMetalHost", "HostLost", `write "true" to annotation hostclaim.metal3.io/take-over of the Metal3Cluster`)
	}
	tn.G.Expect(tn.look().hosts).To(gomega.Equal(before.hosts), "nothing happens before it is asked for")

	infra := &infrav1.Metal3Cluster{}
	tn.Edit(tn.Named("c1", infra), func() { metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.TakeOverAnnotation, "true") })
	tn.takesOver(before)

	tn.givesBack(before)
	tn.Edit(tn.Named("c1", infra), func() { metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.TakeOverAnnotation, "true") })
	tn.pauses(false)
	tn.takesOver(before)

	const worker, host = "c1-v5nbg-2hsr8", "server-1"
	tn.G.Expect(tn.Delete(tn.Ctx, find(tn, worker, &infrav1.Metal3Machine{}))).To(gomega.Succeed())
	tn.gone(worker, &infrav1.Metal3Machine{})
	tn.gone(worker, &bmov1alpha1.HostClaim{})
	freed := find(tn, host, &bmov1alpha1.BareMetalHost{})
	tn.G.Expect(freed.Spec.ConsumerRef).To(gomega.BeNil())
	tn.G.Expect(freed.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateAvailable))
	tn.G.Expect(freed.Labels).To(gomega.Equal(map[string]string{"model": "demo", "rack": "r1"}))
}

// A worker that CAPM3 was deleting, or replacing, when it was stopped keeps its server as it is, and says so; the others are
// taken over. It goes without its server once nobody asks for that any more.
func TestClusterOfCAPM3IsTakenOverInTheMiddle(t *testing.T) {
	for state, tc := range map[string]struct {
		deleted, host string
		others        int
	}{
		capm3.ScalingDown: {"c1-v5nbg-2hsr8", "server-1", 3},
		capm3.Rolling:     {"c1-v5nbg-6c7vm", "server-6", 2},
	} {
		t.Run(state, func(t *testing.T) {
			tn := loadCAPM3(t, state)
			before := tn.look()
			delete(before.machines, tc.deleted)
			tn.G.Expect(before.machines).To(gomega.HaveLen(tc.others))
			tn.hostclaimManager()
			infra := &infrav1.Metal3Cluster{}
			tn.Edit(tn.Named("c1", infra), func() { metav1.SetMetaDataAnnotation(&infra.ObjectMeta, infrav1.TakeOverAnnotation, "true") })
			tn.pauses(false)
			tn.haveClaims(before)
			tn.waitsFor(tc.deleted, "HostClaimReady", "TakingOver", "was deleted before it was taken over")
			kept := func() {
				host := find(tn, tc.host, &bmov1alpha1.BareMetalHost{})
				tn.G.Expect(host.Spec).To(gomega.Equal(before.hosts[tc.host].Spec))
				tn.G.Expect(host.Status).To(gomega.Equal(before.hosts[tc.host].Status))
			}
			kept()
			tn.Edit(tn.Named("c1", infra), func() { delete(infra.Annotations, infrav1.TakeOverAnnotation) })
			tn.gone(tc.deleted, &infrav1.Metal3Machine{})
			kept()
		})
	}
}

// loadCAPM3 makes the objects of a state of that cluster, below a Cluster that is paused.
func loadCAPM3(t *testing.T, state string) *tenant {
	t.Helper()
	t.Parallel()
	tn := &tenant{Tenant: harness.Tenant{Story: server.NewStory(t), Namespace: server.Namespace(t, "capm3", nil)}}
	tn.OK(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole))
	tn.OK(capm3.Load(tn.Ctx, tn.Client, state, tn.Namespace,
		"KubeadmControlPlane", "KubeadmConfig", "KubeadmConfigTemplate", "MachineDeployment", "MachineSet"))
	return tn
}

// takesOver waits until each machine has its claim, and expects all else as it was.
func (tn *tenant) takesOver(before seen) {
	tn.T.Helper()
	tn.haveClaims(before)
	tn.sameAs(before)
}

// haveClaims waits until each machine has its claim.
func (tn *tenant) haveClaims(before seen) {
	tn.T.Helper()
	for name := range before.machines {
		tn.shows(name, &bmov1alpha1.HostClaim{}, "Ready", "True/Provisioned")
		tn.shows(name, &infrav1.Metal3Machine{}, "Ready", "True/Ready")
	}
}

func (tn *tenant) pauses(paused bool) {
	cluster := &clusterv1.Cluster{}
	tn.Edit(tn.Named("c1", cluster), func() { cluster.Spec.Paused = &paused })
}

// givesBack has kubectl metal3 give the cluster back, which is as CAPM3 left it then: refused before it is paused.
func (tn *tenant) givesBack(before seen) {
	tn.T.Helper()
	kubeconfig := filepath.Join(tn.T.TempDir(), "kubeconfig")
	tn.OK(os.WriteFile(kubeconfig, server.Kubeconfig(), 0o600))
	kubectl := func(args ...string) (string, error) {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		cmd := commands.New(streams)
		cmd.SetArgs(append(args, "--kubeconfig", kubeconfig, "--cache-dir", tn.T.TempDir(), "-n", tn.Namespace))
		err := cmd.ExecuteContext(tn.Ctx)
		return out.String(), err
	}
	_, err := kubectl("give-back", "c1")
	tn.G.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("is not paused")))
	tn.pauses(true)
	for name := range before.machines {
		tn.shows(name, &infrav1.Metal3Machine{}, "Paused", "True/Paused")
	}
	_, err = kubectl("give-back", "c1", "--dry-run")
	tn.OK(err)
	tn.G.Expect(find(tn, "server-1", &bmov1alpha1.BareMetalHost{}).Spec.ConsumerRef.Kind).To(gomega.Equal("HostClaim"))
	for range 2 {
		out, err := kubectl("give-back", "c1")
		tn.OK(err)
		tn.G.Expect(out).To(gomega.ContainSubstring("server-1"))
	}
	now, left := tn.look(), &bmov1alpha1.HostClaimList{}
	tn.OK(tn.List(tn.Ctx, left, client.InNamespace(tn.Namespace)))
	tn.G.Expect(left.Items).To(gomega.BeEmpty())
	for name, host := range now.hosts {
		was := before.hosts[name]
		tn.G.Expect(host.Spec).To(gomega.Equal(was.Spec), name)
		tn.G.Expect(host.Status).To(gomega.Equal(was.Status), name)
		tn.G.Expect(host.Labels).To(gomega.Equal(was.Labels), name)
		tn.G.Expect(host.Annotations).To(gomega.Equal(was.Annotations), name)
	}
	tn.G.Expect(now.data).To(gomega.Equal(before.data))
	for name, machine := range now.machines {
		tn.G.Expect(machine.Annotations).NotTo(gomega.HaveKey(infrav1.TakeOverAnnotation))
		tn.G.Expect(machine.Annotations).To(gomega.HaveKeyWithValue(infrav1.HostAnnotation, before.machines[name].Annotations[infrav1.HostAnnotation]))
	}
}

// hostclaimManager runs the hostclaim manager in the namespace until the test ends, and plays baremetal-operator.
func (tn *tenant) hostclaimManager() {
	tn.T.Helper()
	account := harness.HostClaimAccount()
	for _, role := range []string{"hostclaim-source-secrets", "hostclaim-host-secrets"} {
		tn.OK(server.Bind(tn.Ctx, account, tn.Namespace, role))
	}
	o := hostclaimsetup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.Namespace = tn.Namespace
	options := ctrl.Options{Cache: hostclaimsetup.CacheOptions(o), Client: hostclaimsetup.ClientOptions()}
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
