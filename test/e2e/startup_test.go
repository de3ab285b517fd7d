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
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// TestManagersEndWithoutAKubeconfig runs the programs with a kubeconfig that
// does not exist. They must end by themselves and say which, and what to do.
func TestManagersEndWithoutAKubeconfig(t *testing.T) {
	t.Parallel()
	for _, program := range []string{components.ProviderManager, components.HostClaimManager} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
			defer cancel()
			output, err := exec.CommandContext(ctx, lab.Repo.Path("bin", program), "--kubeconfig=/nowhere/kubeconfig").CombinedOutput()
			var exit *exec.ExitError
			if ctx.Err() != nil || !errors.As(err, &exit) {
				t.Fatalf("%s ended with %v (%v), want an exit code; it wrote:\n%s", program, err, ctx.Err(), output)
			}
			if missing := unsaid(string(output), "/nowhere/kubeconfig", "give --kubeconfig"); len(missing) > 0 {
				t.Errorf("%s does not say %q, but:\n%s", program, missing, output)
			}
		})
	}
}

// TestManagersWaitForTheirCRDs starts both programs beside an API server where
// nothing was installed. They name each CRD and who brings it; once that is
// mended they go on by themselves.
func TestManagersWaitForTheirCRDs(t *testing.T) {
	t.Parallel()
	bare := newBareCluster(t)
	ready := map[string]func(context.Context) error{}
	for program, parts := range map[string][]string{
		components.ProviderManager: {
			"CRD metal3machines.infrastructure.cluster.x-k8s.io", "install the provider", "CRD clusters.cluster.x-k8s.io", "install Cluster API",
		},
		components.HostClaimManager: {
			"CRD hostclaims.metal3.io", "config/hostclaim/crd", "CRD baremetalhosts.metal3.io", "install baremetal-operator",
		},
	} {
		ready[program] = bare.start(t, program)
		eventually(t, program+" says what is missing", func(g gomega.Gomega) {
			log, err := os.ReadFile(bare.Group.LogFile(program))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(unsaid(string(log), parts...)).To(gomega.BeEmpty(), string(log))
		})
	}
	bare.installCRDs(t)
	for program, check := range ready {
		eventually(t, program+" goes on", func(g gomega.Gomega) {
			g.Expect(check(t.Context())).To(gomega.Succeed())
		})
	}
}

// bareCluster is a control plane of its own.
type bareCluster struct {
	*cluster.Cluster
}

// newBareCluster starts it, with nothing installed.
func newBareCluster(t *testing.T) bareCluster {
	t.Helper()
	group, err := process.NewGroup(lab.bare())
	must(t, err)
	t.Cleanup(func() {
		if err := group.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := cluster.Start(t.Context(), cluster.Options{Dir: lab.bare(), Repo: lab.Repo, Group: group, Out: console.New(t.Output())})
	must(t, err)
	return bareCluster{c}
}

// start starts one of our programs as the administrator, and returns a check
// that it is ready.
func (b bareCluster) start(t *testing.T, program string) func(context.Context) error {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	must(t, err)
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	_, err = b.Group.Start(process.Spec{
		Name: program,
		Path: lab.Repo.Path("bin", program),
		Args: []string{
			"--kubeconfig=" + cluster.AdminKubeconfig(b.Dir), "--leader-elect=false", "--webhook-port=0",
			"--health-addr=" + health, "--diagnostics-address=0",
		},
		Tier: cluster.TierManagers,
	})
	must(t, err)
	return cluster.Healthy(http.DefaultClient, "http://"+health+"/readyz")
}

// installCRDs installs what the other cluster has. No conversion is served here.
func (b bareCluster) installCRDs(t *testing.T) {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	must(t, definitions(t, lab.Admin).List(t.Context(), &crds))
	into := definitions(t, b.Admin)
	for _, crd := range crds.Items {
		crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name, Labels: crd.Labels}
		crd.Spec.Conversion = nil
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		must(t, into.Create(t.Context(), &crd))
	}
}

// definitions is a client for CRDs.
func definitions(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	return c
}
