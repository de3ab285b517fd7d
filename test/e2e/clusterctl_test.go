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
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
)

// clusterctl runs the program and returns its output. It does not look at what the
// user of this machine has configured.
func clusterctl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	must(t, lab.Repo.Build(t.Context(), console.New(t.Output()), components.Clusterctl))
	found, err := components.Lookup(components.Clusterctl)
	must(t, err)
	program, err := lab.Repo.Binary(found[0])
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// tenantUsesClusterctl runs the commands of the tenant's quick start with the
// kubeconfig of tenant b.
func (p *play) tenantUsesClusterctl(t *testing.T) {
	g := gomega.NewWithT(t)
	about := []string{p.b.cluster.Name, "--namespace", p.b.Namespace, "--kubeconfig", p.b.Kubeconfig}

	said, err := clusterctl(t, append([]string{"describe", "cluster", "--show-conditions", "all", "--show-templates", "--echo", "--grouping=false"}, about...)...)
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	kinds := []string{
		"Metal3Cluster", "KubeadmControlPlane", "MachineDeployment", "Metal3Machine", "KubeadmConfig",
		"Metal3MachineTemplate", "KubeadmConfigTemplate",
	}
	for _, kind := range kinds {
		g.Expect(strings.Contains(said, kind+" "+p.b.Namespace+"/b")).To(gomega.BeTrue(), "%s is missing in:\n%s", kind, said)
	}

	said, err = clusterctl(t, append([]string{"get", "kubeconfig"}, about...)...)
	g.Expect(err).NotTo(gomega.HaveOccurred(), said)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(said))
	must(t, err)
	must(t, kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error())

	other := []string{"get", "kubeconfig", p.a.cluster.Name, "--namespace", p.a.Namespace, "--kubeconfig", p.b.Kubeconfig}
	said, err = clusterctl(t, other...)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(strings.ToLower(said)).To(gomega.ContainSubstring("forbidden"))
}
