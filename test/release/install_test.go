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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// kubectl calls the program that fits the API server.
type kubectl struct {
	program, kubeconfig string
}

func (k kubectl) run(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), k.program, append(args, "--kubeconfig", k.kubeconfig)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, said)
	}
	return string(said)
}

// startServer starts an API server with the CRDs of baremetal-operator, and the kinds of cert-manager.
func startServer(t *testing.T, repo components.Repo) kubectl {
	t.Helper()
	if err := repo.Build(t.Context(), console.New(t.Output()), components.Etcd, components.APIServer, components.Kubectl); err != nil {
		t.Fatal(err)
	}
	assets, err := repo.Assets()
	if err != nil {
		t.Fatal(err)
	}
	found, err := components.Lookup(components.Kubectl, components.BareMetalOperator)
	if err != nil {
		t.Fatal(err)
	}
	program, err := repo.Binary(found[0])
	if err != nil {
		t.Fatal(err)
	}
	operator, err := repo.Source(t.Context(), found[1])
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: 2 * time.Minute, CRDInstallOptions: envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(operator, "config", "base", "crds", "bases")}, ErrorIfPathMissing: true,
	}}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(config, client.Options{Scheme: environment.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	harness.InstallCertificateKinds(t, c)
	k := kubectl{program, filepath.Join(t.TempDir(), "kubeconfig")}
	if err := os.WriteFile(k.kubeconfig, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// The source can be applied as it is, beside baremetal-operator, and once more.
func TestKubectlAppliesTheSource(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	k := startServer(t, repo)
	for folder, namespace := range map[string]string{"default": "capm3-system", "hostclaim/default": "hostclaim-system", "kubevirt/default": "hostclaim-kubevirt-system"} {
		t.Run(folder, func(t *testing.T) {
			for range 2 {
				k.run(t, "apply", "-k", repo.Path("config", folder))
			}
			args := k.run(t, "get", "deployments", "-n", namespace, "-o", "jsonpath={.items[*].spec.template.spec.containers[*].args}")
			if !strings.Contains(args, "--leader-elect") || strings.Contains(args, "$") {
				t.Errorf("the manager would start with %s", args)
			}
		})
	}
}
