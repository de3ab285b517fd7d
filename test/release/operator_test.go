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

package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// core stands for Cluster API, which must be ready before the operator installs other providers.
const core = `apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: v1.14.0, namespace: capi-system, labels: {release-of: cluster-api}}
data:
  metadata: |
    apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
    kind: Metadata
    releaseSeries: [{major: 1, minor: 14, contract: v1beta2}]
  components: |
    apiVersion: v1
    kind: Namespace
    metadata: {name: capi-system}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: capi-controller-manager, namespace: capi-system}
    spec:
      selector: {matchLabels: {control-plane: controller-manager}}
      template:
        metadata: {labels: {control-plane: controller-manager}}
        spec: {containers: [{name: manager, image: "registry.example.com/core:v1.14.0"}]}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
spec:
  version: v1.14.0
  fetchConfig: {selector: {matchLabels: {release-of: cluster-api}}}
`

// TestTheOperatorInstallsARelease has the Cluster API Operator install what the documentation gives it.
func TestTheOperatorInstallsARelease(t *testing.T) {
	r := newRelease(t)
	k := startServer(t, r.repo)
	startOperator(t, r.repo, k)
	k.shell(t, r.out, "kubectl apply -f - <<'EOF'\n"+core+"EOF\n")
	available := `{"status":{"conditions":[{"type":"Available","status":"True"}]}}`
	k.eventually(t, "capi-controller-manager", "get", "deployments", "-n", "capi-system", "-o", "name")
	k.run(t, "patch", "deployment", "capi-controller-manager", "-n", "capi-system", "--subresource=status", "--type=merge", "-p", available)
	k.eventually(t, "True", "get", "coreprovider", "cluster-api", "-n", "capi-system", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)

	page, err := os.ReadFile(r.repo.Path("docs", "upgrades.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## With the Cluster API Operator\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	script, _, found := strings.Cut(section, "```\n")
	if !found {
		t.Fatal("the documentation has no commands for the operator")
	}
	k.shell(t, filepath.Dir(r.out), strings.ReplaceAll(script, "v1.14.99", version))
	for provider, manager := range map[string]string{"infrastructureprovider/metal3": "capm3", "addonprovider/hostclaim": "hostclaim"} {
		k.eventually(t, provider+" "+version, "get", "infrastructureproviders,addonproviders", "-A", "-o",
			`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.status.installedVersion}{"\n"}{end}`)
		k.eventually(t, manager+"-controller-manager", "get", "deployments", "-n", manager+"-system", "-o", "name")
	}
}

// startOperator runs the operator beside the API server.
func startOperator(t *testing.T, repo components.Repo, k kubectl) {
	t.Helper()
	if err := repo.Build(t.Context(), console.New(t.Output()), components.ClusterAPIOperator); err != nil {
		t.Fatal(err)
	}
	found, err := components.Lookup(components.ClusterAPIOperator)
	if err != nil {
		t.Fatal(err)
	}
	program, err := repo.Binary(found[0])
	if err != nil {
		t.Fatal(err)
	}
	source, err := repo.Source(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	k.run(t, "apply", "--server-side", "-f", filepath.Join(source, "config", "crd", "bases"))
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "--kubeconfig="+k.kubeconfig, "--webhook-cert-dir="+webhooks.CertDir, "--profiler-address=",
		"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics", fmt.Sprintf("--webhook-port=%d", webhooks.Port))
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
}

// shell runs commands in a folder.
func (k kubectl) shell(t *testing.T, dir, script string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "-euc", script)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(k.program)+":"+os.Getenv("PATH"), "KUBECONFIG="+k.kubeconfig)
	if said, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// eventually asks until the answer has a text, whatever its case.
func (k kubectl) eventually(t *testing.T, want string, args ...string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string { return strings.ToLower(k.run(t, args...)) }, time.Minute, 200*time.Millisecond).
		Should(gomega.ContainSubstring(strings.ToLower(want)), func() string {
			return k.run(t, "get", "coreproviders,infrastructureproviders,addonproviders", "-A", "-o", "yaml")
		})
}
