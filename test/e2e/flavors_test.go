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
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
)

// flavor is a template for clusterctl, and what its user would say about it.
type flavor struct {
	controlPlanes, workers int
	// variables are more than each flavor wants.
	variables manifests.Variables
	// always has the cluster created in each run; only the long run does it for the others.
	always bool
}

// flavors are those of folder templates, by name.
func flavors() map[string]flavor {
	six := manifests.Variables{"IPPOOL_START": "2001:db8::10", "IPPOOL_END": "2001:db8::99", "IPPOOL_GATEWAY": "2001:db8::1", "DNS_SERVER": "2001:db8::2"}
	return map[string]flavor{
		"default": {controlPlanes: 1, workers: 1},
		"dual-stack": {controlPlanes: 1, workers: 1, always: true, variables: manifests.Variables{
			"IPPOOL6_START": "2001:db8::10", "IPPOOL6_END": "2001:db8::99", "IPPOOL6_GATEWAY": "2001:db8::1",
		}},
		"failure-domains": {controlPlanes: 1, workers: 2, variables: manifests.Variables{
			"FAILURE_DOMAIN_1": "a1", "FAILURE_DOMAIN_2": "a2", "WORKER_MACHINE_COUNT": "1",
		}},
		"ignition":        {controlPlanes: 1, workers: 1, always: true},
		"ipam":            {controlPlanes: 1, workers: 1},
		"ipam-in-cluster": {controlPlanes: 1, workers: 1, always: true},
		"ipv6":            {controlPlanes: 1, workers: 1, variables: six},
		"kube-vip":        {controlPlanes: 3, workers: 1, always: true},
		"live-iso":        {controlPlanes: 1, workers: 1, variables: manifests.Variables{"IMAGE_URL": "http://images.example.com/node-v1.36.1.iso"}},
		"node-reuse":      {controlPlanes: 3, workers: 1},
		"remediation":     {controlPlanes: 1, workers: 1},
		"topology":        {controlPlanes: 1, workers: 1},
	}
}

// TestFlavors generates each flavor with clusterctl, has the API server and all webhooks judge its
// objects, and creates clusters of them.
func TestFlavors(t *testing.T) {
	t.Parallel()
	pool := story.Pool{Namespace: "flavors-infra"}
	all := flavors()
	files, err := filepath.Glob(lab.Repo.Path("templates", "cluster-template*.yaml"))
	expect.NoError(t, err)
	expect.That(t, len(files) == len(all), "%d templates, and %d flavors", len(files), len(all))
	for name, f := range all {
		if f.created() {
			pool.Servers += f.controlPlanes + f.workers
			pool.Tenants = append(pool.Tenants, "flavor-"+name)
		}
	}
	expect.NoError(t, pool.Register(t.Context(), lab.admin))
	serveInClusterPools(t)
	expect.NoError(t, pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	for _, host := range hosts(t, pool.Namespace) {
		before := host.DeepCopy()
		host.Labels[infrav1.FailureDomainLabel] = host.Labels["rack"]
		expect.NoError(t, lab.admin.Patch(t.Context(), &host, client.MergeFrom(before)))
	}
	ports, err := cluster.FreeEndpoints(len(all))
	expect.NoError(t, err)
	subnet := 130
	for name, f := range all {
		subnet++
		port := ports[subnet-131]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.comesUp(t, name, story.Cluster{Name: "f", ControlPlanes: f.controlPlanes, Workers: f.workers, Port: port, Subnet: subnet})
		})
	}
}

// serveInClusterPools runs the provider that answers claims on pools of Cluster API's own kind.
func serveInClusterPools(t *testing.T) {
	t.Helper()
	out := console.New(t.Output())
	expect.NoError(t, lab.Repo.Build(t.Context(), out, components.InClusterIPAM))
	_, err := manager.Start(t.Context(), manager.Options{Cluster: lab.Cluster, Repo: lab.Repo, Out: out}, []manager.Manager{manager.InClusterIPAM()})
	expect.NoError(t, err)
}

func (f flavor) created() bool { return f.always || long() }

func (f flavor) comesUp(t *testing.T, name string, wanted story.Cluster) {
	c := newTenantCluster(t, "flavor-"+name, wanted)
	if name == "topology" {
		expect.NoError(t, story.BringClass(t.Context(), lab.Repo, c.Tenant))
	}
	objects := f.generate(t, name, c)
	for _, object := range objects {
		if err := c.Client.Create(t.Context(), object.DeepCopy(), client.DryRunAll); err != nil {
			t.Fatalf("dry run of %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	if !f.created() {
		return
	}
	start := time.Now()
	expect.NoError(t, manifests.Apply(t.Context(), c.Client, objects))
	expect.NoError(t, c.cluster.WaitRunning(limited(t), lab.world, c.Namespace, ignoreNotes))
	t.Logf("all machines run after %s", time.Since(start).Round(time.Second))
}

// generate lets clusterctl make the objects of a flavor, with the variables in its configuration.
func (f flavor) generate(t *testing.T, name string, c *tenantCluster) []*unstructured.Unstructured {
	t.Helper()
	variables := c.cluster.Variables(c.Namespace)
	maps.Copy(variables, f.variables)
	text, err := yaml.Marshal(variables)
	expect.NoError(t, err)
	config := filepath.Join(t.TempDir(), "clusterctl.yaml")
	expect.NoError(t, os.WriteFile(config, text, 0o600))
	file := "cluster-template-" + name + ".yaml"
	if name == "default" {
		file = "cluster-template.yaml"
	}
	said, err := clusterctl(t, "generate", "cluster", c.cluster.Name, "--from", lab.Repo.Path("templates", file), "--config", config,
		"--kubeconfig", c.Kubeconfig, "--target-namespace", c.Namespace, "--kubernetes-version", story.KubernetesVersion,
		"--control-plane-machine-count", variables["CONTROL_PLANE_MACHINE_COUNT"], "--worker-machine-count", variables["WORKER_MACHINE_COUNT"])
	expect.Must(t, err == nil, "%v", strings.TrimSpace(said))
	objects, err := manifests.Process([]byte(said), nil)
	expect.NoError(t, err)
	return objects
}
