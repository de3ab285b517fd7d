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
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	oldRelease = "v1.14.98"
	newRelease = "v1.14.99"
)

// releaseStory is two releases of ours, and two clusters in which clusterctl installs them. Of each
// Deployment that it installs, the dev cluster runs the process.
type releaseStory struct {
	moveStory

	// config is that of clusterctl. It names every provider.
	config string
}

// TestClusterctlKeepsARelease has clusterctl install a release of ours, upgrade it under machines that
// run, and move their cluster, with nothing done by hand. It runs before the parallel tests, as
// TestHostsMoveWithTheirCluster does.
func TestClusterctlKeepsARelease(t *testing.T) {
	s := &releaseStory{moveStory: moveStory{
		t:       t,
		cluster: story.Cluster{Name: "released", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 114},
		pool:    story.Pool{Namespace: "released", Servers: 4, Tenants: []string{"released"}},
	}}
	mustRun(t, "two releases are made", s.make)
	mustRun(t, "clusterctl installs the older one", s.isInstalled)
	mustRun(t, "machines run", s.comesUp)
	mustRun(t, "clusterctl upgrades both managers, and no host is written", s.isUpgraded)
	mustRun(t, "clusterctl moves the cluster to where it has installed the newer one", func(t *testing.T) {
		s.confirm(t, true)
		s.guarded(t)
		s.moves(t)
	})
	t.Run("the steps of the documentation take both managers away", s.isUninstalled)
	for _, side := range []*side{s.here, s.there} {
		expect.Equal(t, []string{}, side.history.violations())
	}
}

// make writes both releases and the providers of others into one repository.
func (s *releaseStory) make(t *testing.T) {
	out := filepath.Join(lab.dir, "out")
	for _, version := range []string{oldRelease, newRelease} {
		said, err := exec.CommandContext(t.Context(), "make", "-C", lab.Repo.Root, "release", "OUT="+out, "RELEASE="+version).CombinedOutput()
		expect.Must(t, err == nil, "make release: %v\n%s", err, said)
	}
	s.config = filepath.Join(out, "clusterctl.yaml")
	config, err := os.ReadFile(s.config)
	expect.NoError(t, err)
	// The hardened form, as docs/tenants-and-policies.md has it.
	for _, file := range filesOfNewRelease() {
		config = bytes.ReplaceAll(config, []byte(file+"-components.yaml"), []byte(file+"-components-hardened.yaml"))
	}
	for _, p := range []struct{ component, name, kind, folder, file string }{
		{components.ClusterAPI, "cluster-api", "CoreProvider", "cluster-api", "core"},
		{components.KubeadmBootstrap, "kubeadm", "BootstrapProvider", "bootstrap-kubeadm", "bootstrap"},
		{components.KubeadmControlPlane, "kubeadm", "ControlPlaneProvider", "control-plane-kubeadm", "control-plane"},
		{components.IPAddressManager, "metal3", "IPAMProvider", "ipam-metal3", "ipam"},
	} {
		path := writeProvider(t, p.component, filepath.Join(out, p.folder), p.file+"-components.yaml")
		config = fmt.Appendf(config, "- {name: %s, type: %s, url: 'file://%s'}\n", p.name, p.kind, path)
	}
	expect.NoError(t, os.WriteFile(s.config, config, 0o600))
}

// filesOfNewRelease are those with the components of both managers, up to what tells one form from the other.
func filesOfNewRelease() []string {
	return []string{"infrastructure-metal3/" + newRelease + "/infrastructure", "addon-hostclaim/" + newRelease + "/addon"}
}

// writeProvider writes the release of another provider, from its source, and returns its components file.
func writeProvider(t *testing.T, component, folder, file string) string {
	t.Helper()
	found, err := components.Lookup(component)
	expect.NoError(t, err)
	version, err := lab.Repo.Version(found[0])
	expect.NoError(t, err)
	source, err := lab.Repo.Source(t.Context(), found[0])
	expect.NoError(t, err)
	all := manager.ThirdParty()
	m := all[slices.IndexFunc(all, func(m manager.Manager) bool { return m.Component == component })]
	objects, err := manifests.Render(filepath.Join(source, m.Kustomization), m.Variables)
	expect.NoError(t, err)
	var text []byte
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		expect.NoError(t, err)
		text = append(append(text, document...), "---\n"...)
	}
	metadata, err := os.ReadFile(filepath.Join(source, "metadata.yaml"))
	expect.NoError(t, err)
	path := filepath.Join(folder, version, file)
	expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	expect.NoError(t, os.WriteFile(path, text, 0o600))
	expect.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "metadata.yaml"), metadata, 0o600))
	return path
}

// run calls clusterctl on one side.
func (s *releaseStory) run(t *testing.T, on *side, args ...string) string {
	t.Helper()
	said, err := clusterctl(t, append(args, "--config", s.config, "--kubeconfig", cluster.AdminKubeconfig(on.Dir))...)
	expect.Must(t, err == nil, "clusterctl %v: %v\n%s", args, err, said)
	return said
}

// isInstalled brings up both clusters, with different releases.
func (s *releaseStory) isInstalled(t *testing.T) {
	s.here = s.newCluster(t, lab.folder("released"), oldRelease)
	s.there = s.newCluster(t, lab.folder("released-next"), newRelease)
	expect.NoError(t, s.pool.Register(t.Context(), s.here.admin))
	withoutServers := s.pool
	withoutServers.Servers = 0
	expect.NoError(t, withoutServers.Register(t.Context(), s.there.admin))
	expect.NoError(t, s.pool.WaitAvailable(limited(t), s.here.world, ignoreNotes))
}

// newCluster brings up a cluster with baremetal-operator, and has clusterctl install all the rest.
func (s *releaseStory) newCluster(t *testing.T, dir, version string) *side {
	t.Helper()
	operator := slices.DeleteFunc(manager.ThirdParty(), func(m manager.Manager) bool { return m.Component != components.BareMetalOperator })
	// It and its cleanup outlive this chapter.
	side := newUnwatchedSide(s.t, dir, operator)
	harness.InstallCertificateKinds(t, definitions(t, side.Admin))
	s.run(t, side, "init", "--infrastructure", "metal3:"+version, "--addon", "hostclaim:"+version, "--ipam", "metal3")
	others := slices.DeleteFunc(manager.ThirdParty(), func(m manager.Manager) bool { return m.Component == components.BareMetalOperator })
	side.runInstalled(s.t, append(others, managers(manager.Own())...))
	started, err := manager.Start(s.t.Context(), side.options(t), []manager.Manager{manager.HostSim()})
	expect.NoError(t, err)
	side.Running[components.HostSim] = started[components.HostSim]
	side.watch(s.t)
	side.tenant, err = story.AddTenant(t.Context(), side.admin, side.Cluster, s.pool.Namespace)
	expect.NoError(t, err)
	return side
}

func (s *side) options(t *testing.T) manager.Options {
	t.Helper()
	return manager.Options{Cluster: s.Cluster, Repo: s.Repo, Out: console.New(t.Output())}
}

// runInstalled runs what a kubelet would run of the Deployments of these managers.
func (s *side) runInstalled(t *testing.T, run []manager.Manager) {
	t.Helper()
	options := s.options(t)
	options.Installed = true
	started, err := manager.Start(t.Context(), options, run)
	expect.NoError(t, err)
	maps.Copy(s.Running, started)
}

// isUpgraded takes the source to the newer release. After that the managers give a new machine its
// server, so that they have looked at all hosts.
func (s *releaseStory) isUpgraded(t *testing.T) {
	plan := s.run(t, s.here, "upgrade", "plan")
	for _, provider := range []string{"infrastructure-metal3", "addon-hostclaim"} {
		expect.That(t, slices.ContainsFunc(strings.Split(plan, "\n"), func(line string) bool {
			return strings.HasPrefix(line, provider) && len(unsaid(line, oldRelease, newRelease)) == 0
		}), "%s is not to be upgraded from %s to %s:\n%s", provider, oldRelease, newRelease, plan)
	}
	before := s.versions(t)
	own := managers(manager.Own())
	for _, m := range own {
		expect.NoError(t, s.here.Group.StopOne(m.Component))
	}
	s.forgetConversions(t)
	s.run(t, s.here, "upgrade", "apply", "--infrastructure", "metal3:"+newRelease, "--addon", "hostclaim:"+newRelease)
	s.here.runInstalled(s.t, own)
	var err error
	s.cluster, err = s.cluster.ScaleWorkers(t.Context(), s.here.tenant, s.cluster.Workers+1)
	expect.NoError(t, err)
	s.runs(t)
	after := s.versions(t)
	for host, version := range before {
		expect.That(t, after[host] == version, "%s was written: version %s, then %s", host, version, after[host])
	}
	expect.That(t, len(before) == 2 && len(after) == 3, "%d hosts were bound before and %d after", len(before), len(after))
}

// forgetConversions takes the URLs of conversion webhooks out, which stand for the Services of the release: clusterctl
// merges the CRDs of the newer one into those of the older, and CRDs must not name both.
func (s *releaseStory) forgetConversions(t *testing.T) {
	t.Helper()
	crds, admin := &apiextensionsv1.CustomResourceDefinitionList{}, definitions(t, s.here.Admin)
	expect.NoError(t, admin.List(t.Context(), crds))
	forgotten := 0
	for i := range crds.Items {
		crd := &crds.Items[i]
		if crd.Spec.Group != infrav1.GroupVersion.Group {
			continue
		}
		before := crd.DeepCopy()
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		expect.NoError(t, admin.Patch(t.Context(), crd, client.MergeFrom(before)))
		forgotten++
	}
	expect.Equal(t, 9, forgotten)
}

// versions are the versions of the hosts that machines have.
func (s *releaseStory) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, m := range s.servers(t) {
		versions[m.Host.Name] = m.Host.ResourceVersion
	}
	return versions
}

// isUninstalled does on both sides what docs/upgrades.md has people do. Machines are on one of them only.
func (s *releaseStory) isUninstalled(t *testing.T) {
	for side, servers := range map[*side]int{s.here: s.cluster.ControlPlanes + s.cluster.Workers, s.there: 1} {
		said, err := s.documented(t, side, "## Uninstall")
		expect.Must(t, err == nil, "%v:\n%s", err, said)
		eventually(t, "nothing of either manager is left", func(g gomega.Gomega) {
			g.Expect(s.installed(t, side)).To(gomega.BeEmpty())
		})
		for _, m := range managers(manager.Own()) {
			expect.NoError(t, side.Group.StopOne(m.Component))
		}
		expect.NoError(t, s.pool.WaitFree(limited(t), side.world, servers))
	}
}

// documented runs the first block of commands below a heading of docs/upgrades.md, as the administrator of a side.
func (s *releaseStory) documented(t *testing.T, on *side, heading string) (string, error) {
	t.Helper()
	page, err := os.ReadFile(lab.Repo.Path("docs", "upgrades.md"))
	expect.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n"+heading+"\n")
	_, section, begins := strings.Cut(section, "```sh\n")
	script, _, ends := strings.Cut(section, "```\n")
	expect.Must(t, found && begins && ends, "docs/upgrades.md has no commands below %q", heading)
	path, err := lab.Repo.Clients(t.Context(), console.New(t.Output()))
	expect.NoError(t, err)
	shell := exec.CommandContext(limited(t), "bash", "-euxo", "pipefail", "-c", script)
	// There it finds out/clusterctl.yaml.
	shell.Dir = filepath.Dir(filepath.Dir(s.config))
	home := t.TempDir()
	shell.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "KUBECONFIG="+cluster.AdminKubeconfig(on.Dir),
		"HOME="+home, "XDG_CONFIG_HOME="+home, "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	said, err := shell.CombinedOutput()
	return string(said), err
}

// installed lists what is on a side of the objects that the newer release has.
func (s *releaseStory) installed(t *testing.T, on *side) (names []string) {
	t.Helper()
	for _, file := range filesOfNewRelease() {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(s.config), file+"-components-hardened.yaml"))
		expect.NoError(t, err)
		objects, err := manifests.Process(text, nil)
		expect.NoError(t, err)
		found, err := manifests.Installed(t.Context(), on.admin, objects)
		expect.NoError(t, err)
		for _, object := range found {
			names = append(names, object.GetKind()+" "+object.GetName())
		}
	}
	return names
}
