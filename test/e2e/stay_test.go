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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// leavesItsHosts has the cluster go on with an identityRef, and moves all of it but claims and
// hosts. Nothing is stopped for that.
func (s *moveStory) leavesItsHosts(t *testing.T) {
	s.letIn(t)
	infra := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.pool.Namespace, Name: s.cluster.Name}}
	identity := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"identityRef": {"name": "hosts"}}}`))
	must(t, s.here.tenant.Client.Patch(t.Context(), infra.DeepCopy(), identity))
	s.identityIs(t, infrav1.IdentityNotUsedReason)
	before, held, marks := s.belongings(t), s.bindings(t), s.marks(t)

	annotate(t, s.here.tenant.Client, infra, infrav1.KeepClaimsHereAnnotation, "true")
	s.identityIs(t, infrav1.IdentityConnectedReason, "stays where it is")
	eventually(t, "clusterctl does not look for hosts", func(g gomega.Gomega) {
		for _, m := range s.servers(t) {
			g.Expect(m.Host.Labels).NotTo(gomega.HaveKey(infrav1.MoveHierarchyLabel), m.Host.Name)
		}
	})
	said, err := s.clusterctlMove(t, "--dry-run").end()
	must(t, err)
	for _, kind := range []string{"HostClaim", "BareMetalHost"} {
		if strings.Contains(said, "Creating "+kind+"=") {
			t.Errorf("clusterctl would move a %s:\n%s", kind, said)
		}
	}
	hosts := s.here
	s.arrives(t, s.clusterctlMove(t))
	s.reach(t, hosts)
	s.runs(t)
	s.identityIs(t, infrav1.IdentityConnectedReason)
	eventually(t, "the machines have their claims and servers", func(g gomega.Gomega) {
		g.Expect(cmp.Diff(held, s.bindings(t))).To(gomega.BeEmpty())
	})
	s.undisturbed(t, before, marks)
}

// letIn gives the tenant the credential of its own namespace, as the infrastructure team would.
func (s *moveStory) letIn(t *testing.T) {
	t.Helper()
	must(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Tenant))
	admin := cluster.AdminKubeconfig(s.here.Dir)
	said, err := story.Onboarding{
		Repo: lab.Repo, Hosts: admin, Management: admin, Claims: s.pool.Namespace, Namespace: s.pool.Namespace,
		Secret: "hosts", Servers: s.pool.Servers, Resident: true, Expiry: time.Hour,
	}.Run(t.Context())
	must(t, err)
	t.Log(said)
}

// reach looks at the cluster where it is, and at claims and hosts on the other side.
func (s *moveStory) reach(t *testing.T, hosts *side) {
	t.Helper()
	here := *s.here
	var err error
	// The chapters after this one need it, too.
	here.world, err = world.OpenPair(s.t.Context(), here.Admin, hosts.Admin)
	must(t, err)
	s.here = &here
}

// growsByIdentity adds a machine where the cluster is now, with a server from where it was.
func (s *moveStory) growsByIdentity(t *testing.T) {
	var err error
	s.cluster, err = s.cluster.ScaleWorkers(t.Context(), s.here.tenant, s.cluster.Workers+1)
	must(t, err)
	s.runs(t)
	s.identityIs(t, infrav1.IdentityConnectedReason)
}

// identityIs expects every machine to say how it gets on with the cluster of its claim.
func (s *moveStory) identityIs(t *testing.T, reason string, parts ...string) {
	t.Helper()
	want := metav1.Condition{Type: infrav1.IdentityReadyCondition, Status: metav1.ConditionTrue, Reason: reason}
	eventually(t, "machines say "+reason, func(g gomega.Gomega) {
		for _, m := range s.servers(t) {
			says(g, m.Metal3.Status.Conditions, want, parts...)
		}
	})
}

// bindings tells which claim and host each machine has.
func (s *moveStory) bindings(t *testing.T) map[string]binding {
	t.Helper()
	out := map[string]binding{}
	for _, m := range s.servers(t) {
		out[m.Name()] = binding{m.Claim.UID, m.Host.UID}
	}
	return out
}
