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

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
)

// binding is what a machine holds in the cluster with the hosts.
type binding struct {
	Claim, Host types.UID
}

// moves takes the cluster to a third dev cluster by clusterctl. The managers of both
// run all the time, and those of the former home must not give anything back. The
// credential goes along.
func (f *remoteStory) moves(t *testing.T) {
	before, frees := f.bindings(t), f.history.releases()
	next := f.nextHome(t)
	for _, s := range []*stack.Stack{f.home.Stack, next.Stack} {
		asInstalledByClusterctl(t, s)
	}
	tenant, err := story.OwnerOf(t.Context(), next.admin, next.Cluster, f.Namespace)
	must(t, err)
	f.clusterctl(t, "move", "--namespace", f.Namespace, "--to-kubeconfig", cluster.AdminKubeconfig(next.Dir))
	eventually(t, "nothing is left where the cluster was", func(g gomega.Gomega) {
		g.Expect(leftIn(t, f.home.admin, f.Namespace)).To(gomega.BeEmpty())
	})
	f.home, f.Tenant = next, tenant
	f.onboarding.Management = cluster.AdminKubeconfig(next.Dir)
	f.runsIn(t, f.home.world)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
	eventually(t, "the machines have their claims and servers", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(before, f.bindings(t))).To(gomega.BeEmpty())
	})
	for _, m := range f.servers(t) {
		f.conditionsHold(t, m)
	}
	if now := f.history.releases(); now != frees {
		t.Errorf("%d servers were given back in the move", now-frees)
	}
	// Renewing must work on a Secret that clusterctl has written.
	f.onboard(t)
	f.identityIs(t, metav1.ConditionTrue, infrav1.IdentityConnectedReason)
}

// nextHome starts a dev cluster like the first one, but without hosts.
func (f *remoteStory) nextHome(t *testing.T) home {
	t.Helper()
	s, err := stack.Up(t.Context(), stack.Options{
		Repo: lab.Repo, Dir: lab.next(), Managers: manager.BesideTenants(), Built: true, Out: console.New(t.Output()),
	})
	must(t, err)
	// The chapters after this one need it, too.
	f.t.Cleanup(func() {
		if err := s.Group.Stop(); err != nil {
			f.t.Error(err)
		}
	})
	return f.at(f.t, s)
}

// asInstalledByClusterctl puts the label on the CRDs of providers that clusterctl
// puts there when it installs them. It moves no other kinds.
func asInstalledByClusterctl(t *testing.T, s *stack.Stack) {
	t.Helper()
	c := definitions(t, s.Admin)
	var crds apiextensionsv1.CustomResourceDefinitionList
	must(t, c.List(t.Context(), &crds, client.HasLabels{clusterv1.ProviderNameLabel}))
	if len(crds.Items) == 0 {
		t.Fatal("no CRD belongs to a provider")
	}
	for _, crd := range crds.Items {
		before := crd.DeepCopy()
		crd.Labels[clusterctlv1.ClusterctlLabel] = ""
		must(t, c.Patch(t.Context(), &crd, client.MergeFrom(before)))
	}
}

// clusterctl runs the program as the administrator of the former home.
func (f *remoteStory) clusterctl(t *testing.T, args ...string) {
	t.Helper()
	said, err := clusterctl(t, append(args, "--kubeconfig", cluster.AdminKubeconfig(f.home.Dir))...)
	t.Logf("clusterctl: %s", said)
	must(t, err)
}

// bindings tells which claim and host each machine has; a machine without any has none.
func (f *remoteStory) bindings(t *testing.T) map[string]binding {
	t.Helper()
	machines, err := f.home.world.Machines(t.Context(), f.Namespace)
	must(t, err)
	out := map[string]binding{}
	for _, m := range machines {
		var b binding
		if m.Claim != nil {
			b.Claim = m.Claim.UID
		}
		if m.Host != nil {
			b.Host = m.Host.UID
		}
		out[m.Name()] = b
	}
	return out
}

// releases is how often a host has lost its claim so far.
func (h *history) releases() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.frees)
}
