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

package instances

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

const (
	blue  = "blue"
	green = "green"
)

var (
	server   harness.Server
	programs = map[string]string{"capm3": ".", "hostclaim": "./cmd/hostclaim-manager"}
)

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(time.Minute)
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	os.Exit(server.Run(built{m}))
}

// built runs the tests after both managers have been compiled.
type built struct{ tests *testing.M }

func (b built) Run() int {
	folder, err := os.MkdirTemp("", "managers")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for name, pkg := range programs {
		if programs[name], err = site.Build(context.Background(), folder, name, pkg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return b.tests.Run()
}

// story is one test with its site.
type story struct {
	harness.Story
	site *site.Site
	logs []string // files
}

func newStory(t *testing.T) *story {
	t.Helper()
	here, err := site.Open(&server, site.Counting{})
	s := &story{Story: server.NewStory(t), site: here}
	s.OK(err)
	return s
}

// start runs both managers until the test ends, with these accounts by the name of their program.
func (s *story) start(accounts map[string]string, args ...string) {
	s.T.Helper()
	for name, path := range programs {
		p := site.Program{Name: name, Path: path, User: accounts[name], Args: append([]string{"--webhook-port=0"}, args...)}
		folder := s.T.TempDir()
		s.logs = append(s.logs, filepath.Join(folder, name+".log"))
		manager, err := s.site.StartManager(s.Ctx, p, folder)
		s.OK(err)
		s.T.Cleanup(func() {
			if err := manager.Stop(); err != nil {
				s.T.Errorf("%s: %v", p.Name, err)
			}
		})
	}
}

// accounts are those of an overlay for a namespace, by manager, as the API server knows them.
func accounts(namespace string) map[string]string {
	name := "system:serviceaccount:" + namespace + ":%s-manager-" + namespace
	return map[string]string{"capm3": fmt.Sprintf(name, "capm3"), "hostclaim": fmt.Sprintf(name, "hostclaim")}
}

// install renders an overlay that an administrator writes for instances in a namespace, and installs its accounts
// and roles.
func (s *story) install(namespace string, bases ...string) {
	s.T.Helper()
	repo, err := components.FindRepo(".")
	s.OK(err)
	overlay := s.T.TempDir()
	resources := make([]string, len(bases))
	for i, base := range bases {
		resources[i], err = filepath.Rel(overlay, repo.Path("config", base))
		s.OK(err)
	}
	text := fmt.Sprintf("namespace: %s\nnameSuffix: -%s\nresources: [%s]\n", namespace, namespace, strings.Join(resources, ", "))
	s.OK(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600))
	folder, err := filepath.Rel(repo.Path("config"), overlay)
	s.OK(err)
	s.OK(server.InstallConfig(s.Ctx, folder, harness.Webhooks{}))
}

// machine makes a cluster with one machine, and a free host, whose cards have one address.
func (s *story) machine(namespace, name, watchFilter string) *infrav1.Metal3Machine {
	s.T.Helper()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupName, Kind: "OtherCluster", Name: name},
	}}
	owner := builder.Machine(types.NamespacedName{Namespace: namespace, Name: name}, name)
	owner.Spec.Bootstrap.DataSecretName = ptr.To(name)
	boot := builder.Bootstrap(namespace, name)
	boot.Name = name
	s.Make(cluster, owner, boot)
	s.EditStatus(cluster, func() { cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
	machine := &infrav1.Metal3Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: owner.UID, Controller: ptr.To(true),
			}},
		},
		Spec: infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://192.0.2.1/i", Checksum: ptr.To("abc")}},
	}
	if watchFilter != "" {
		machine.Labels[clusterv1.WatchLabel] = watchFilter
	}
	s.Make(machine)
	wanted := builder.FreeHost(types.NamespacedName{Namespace: namespace, Name: "host-" + name})
	host := wanted.DeepCopy()
	s.Make(host)
	server.SetStatus(s.T, host, wanted)
	return machine
}

// claims are the claims of a namespace.
func (s *story) claims(namespace string) []bmov1alpha1.HostClaim {
	s.T.Helper()
	list := &bmov1alpha1.HostClaimList{}
	s.OK(s.List(s.Ctx, list, client.InNamespace(namespace)))
	return list.Items
}

// bound waits until the machine has a claim with a host that is told to run its image.
func (s *story) bound(machine *infrav1.Metal3Machine) *bmov1alpha1.HostClaim {
	s.T.Helper()
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: machine.Namespace, Name: machine.Name}}
	s.Await(claim, func(g gomega.Gomega) {
		g.Expect(claim.Status.BareMetalHost).NotTo(gomega.BeNil())
		host := &bmov1alpha1.BareMetalHost{}
		key := client.ObjectKey{Namespace: claim.Status.BareMetalHost.Namespace, Name: claim.Status.BareMetalHost.Name}
		g.Expect(s.Get(s.Ctx, key, host)).To(gomega.Succeed())
		g.Expect(host.Spec.Image).To(gomega.HaveField("URL", machine.Spec.Image.URL))
	})
	return claim
}

// Instances with a label each leave what has the other's label, or none, alone; the label of a machine goes to its
// claim. The instance that is added leaves the first one its host.
func TestInstancesForLabels(t *testing.T) {
	s := newStory(t)
	shared := server.Namespace(t, "shared", nil)
	users := map[string]string{}
	for name, account := range map[string]harness.Account{"capm3": harness.ProviderAccount(), "hostclaim": harness.HostClaimAccount()} {
		s.OK(server.InstallRoles(s.Ctx, account))
		users[name] = account.User()
	}
	s.OK(server.Bind(s.Ctx, harness.ProviderAccount(), shared, "capm3-tenant-secrets"))
	s.OK(server.Bind(s.Ctx, harness.HostClaimAccount(), shared, "hostclaim-host-secrets"))
	b, none := s.machine(shared, "b", green), s.machine(shared, "c", "")
	byHand := builder.Claim(types.NamespacedName{Namespace: shared, Name: "by-hand"}, func(c *bmov1alpha1.HostClaim) {
		c.Labels = map[string]string{clusterv1.WatchLabel: green}
	})
	s.Make(byHand)
	a := s.machine(shared, "a", blue) // seen last by the instance that starts
	s.start(users, "--watch-filter="+blue)

	claim := s.bound(a)
	s.G.Expect(claim.Labels).To(gomega.HaveKeyWithValue(clusterv1.WatchLabel, blue))
	for _, untouched := range []client.Object{b, none, byHand} {
		version := untouched.GetResourceVersion()
		s.Read(untouched)
		s.G.Expect(untouched.GetResourceVersion()).To(gomega.Equal(version), untouched.GetName())
	}
	s.G.Expect(s.claims(shared)).To(gomega.HaveLen(2))

	s.start(users, "--watch-filter="+green)
	s.bound(b)
	s.Await(byHand, func(g gomega.Gomega) { g.Expect(byHand.Status.BareMetalHost).NotTo(gomega.BeNil()) })
	version := none.ResourceVersion
	s.Read(none)
	s.G.Expect(none.ResourceVersion).To(gomega.Equal(version))

	// The host of a claim that the other instance does not see is no orphan.
	s.OK(s.Delete(s.Ctx, byHand))
	s.AwaitGone(byHand)
	s.G.Expect(s.bound(a).UID).To(gomega.Equal(claim.UID))
}

// Instances for a namespace each work with rights in that one alone.
func TestInstancesForNamespaces(t *testing.T) {
	s := newStory(t)
	teams := []string{"red", "teal"}
	for _, team := range teams {
		s.Make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
		s.install(team, "namespaced", "hostclaim/namespaced")
	}
	machines := map[string]*infrav1.Metal3Machine{}
	for _, team := range teams {
		machines[team] = s.machine(team, "m", "")
		s.start(accounts(team), "--namespace="+team)
	}
	for _, team := range teams {
		s.G.Expect(s.bound(machines[team]).Status.BareMetalHost.Namespace).To(gomega.Equal(team))
	}
	for _, log := range s.logs {
		text, err := os.ReadFile(log)
		s.OK(err)
		s.G.Expect(string(text)).NotTo(gomega.ContainSubstring("forbidden"), "a right is missing")
	}
	for _, manager := range []string{"capm3", "hostclaim"} {
		for _, namespace := range []string{"teal", "default", ""} {
			s.G.Expect(s.may(accounts("red")[manager], namespace)).To(gomega.BeEmpty(), "%s in %q", manager, namespace)
		}
		s.G.Expect(s.may(accounts("red")[manager], "red")).NotTo(gomega.BeEmpty())
	}
}

// may lists what a user may do with secrets, claims, hosts and machines of a namespace.
func (s *story) may(name, namespace string) (allowed []string) {
	s.T.Helper()
	config := rest.CopyConfig(server.Config)
	config.Impersonate.UserName = name
	as, err := client.New(config, client.Options{Scheme: server.Scheme})
	s.OK(err)
	var failed error
	for group, resources := range map[string][]string{
		"": {"secrets"}, bmov1alpha1.GroupVersion.Group: {"hostclaims", "baremetalhosts"}, infrav1.GroupName: {"metal3machines"},
	} {
		for _, resource := range resources {
			for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Group: group, Resource: resource, Verb: verb},
				}}
				failed = errors.Join(failed, as.Create(s.Ctx, review))
				if review.Status.Allowed {
					allowed = append(allowed, verb+" "+resource)
				}
			}
		}
	}
	s.OK(failed)
	return allowed
}
