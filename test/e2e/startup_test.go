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
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// TestManagersSayWhyTheyCannotStart runs the programs where they cannot work. They
// must end by themselves, soon, and say what is missing and what to do about it.
func TestManagersSayWhyTheyCannotStart(t *testing.T) {
	t.Parallel()
	bare := bareCluster(t)
	tests := map[string]struct {
		program    string
		kubeconfig string
		want       []string
	}{
		"the provider without its kubeconfig": {
			components.ProviderManager, "/nowhere/kubeconfig",
			[]string{"/nowhere/kubeconfig", "give --kubeconfig"},
		},
		"the hostclaim manager without its kubeconfig": {
			components.HostClaimManager, "/nowhere/kubeconfig",
			[]string{"/nowhere/kubeconfig", "give --kubeconfig"},
		},
		"the provider without CRDs": {
			components.ProviderManager, bare,
			[]string{"CRD hostclaims.metal3.io", "install the hostclaim manager", "CRD clusters.cluster.x-k8s.io", "install Cluster API"},
		},
		"the hostclaim manager without CRDs": {
			components.HostClaimManager, bare,
			[]string{"CRD hostclaims.metal3.io", "config/hostclaim/crd", "CRD baremetalhosts.metal3.io", "install baremetal-operator"},
		},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			output := failsToStart(t, tt.program, "--kubeconfig="+tt.kubeconfig, "--leader-elect=false",
				"--webhook-port=0", "--health-addr=0", "--diagnostics-address=0")
			if missing := unsaid(output, tt.want...); len(missing) > 0 {
				t.Errorf("the program does not say %q, but:\n%s", missing, output)
			}
		})
	}
}

// failsToStart runs one of our programs until it ends, and returns what it wrote.
func failsToStart(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	output, err := exec.CommandContext(ctx, lab.Repo.Path("bin", program), args...).CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) {
		t.Fatalf("%s ended with %v (%v), want an exit code; it wrote:\n%s", program, err, ctx.Err(), output)
	}
	return string(output)
}

// bareCluster starts a control plane where nothing was installed, and returns
// the kubeconfig of its administrator.
func bareCluster(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(lab.dir, "bare")
	group, err := process.NewGroup(dir)
	must(t, err)
	t.Cleanup(func() {
		if err := group.Stop(); err != nil {
			t.Error(err)
		}
	})
	_, err = cluster.Start(t.Context(), cluster.Options{Dir: dir, Repo: lab.Repo, Group: group, Out: console.New(t.Output())})
	must(t, err)
	return cluster.AdminKubeconfig(dir)
}
