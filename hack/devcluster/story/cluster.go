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

package story

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// KubernetesVersion is what the clusters of the story run.
const KubernetesVersion = "v1.36.1"

// Cluster is what a tenant wants.
type Cluster struct {
	Name          string
	ControlPlanes int
	Workers       int
	// Port of the API server, on the loopback address.
	Port int
	// Subnet is the third number of the Nodes' addresses, so that clusters differ.
	Subnet int
	// Identity is the Secret for the cluster with the hosts, VirtualIdentity that for the one with the virtual machines;
	// empty if they are here, or in the same one as the hosts.
	Identity, VirtualIdentity string
}

// Create makes the cluster from our cluster template, with the tenant's rights. Each change is
// made to every object of it before.
func (c Cluster) Create(ctx context.Context, repo components.Repo, tenant *Tenant, changes ...func(*unstructured.Unstructured)) error {
	return c.create(ctx, repo, tenant, "cluster-template-ipam.yaml", changes...)
}

func (c Cluster) create(
	ctx context.Context, repo components.Repo, tenant *Tenant, file string, changes ...func(*unstructured.Unstructured),
) error {
	template, err := os.ReadFile(repo.Path("templates", file))
	if err != nil {
		return err
	}
	objects, err := manifests.Process(template, c.Variables(tenant.Namespace))
	if err != nil {
		return fmt.Errorf("cluster template: %w", err)
	}
	for _, object := range objects {
		for _, change := range changes {
			change(object)
		}
	}
	if err := manifests.Apply(ctx, tenant.Client, objects); err != nil {
		return fmt.Errorf("create cluster %s as %s: %w", c.Name, tenant.Namespace, err)
	}
	return nil
}

// Variables are what `clusterctl generate cluster` would ask its user for.
func (c Cluster) Variables(namespace string) manifests.Variables {
	variables := manifests.Variables{
		"CLUSTER_NAME":                c.Name,
		"NAMESPACE":                   namespace,
		"KUBERNETES_VERSION":          KubernetesVersion,
		"CONTROL_PLANE_MACHINE_COUNT": fmt.Sprint(c.ControlPlanes),
		"WORKER_MACHINE_COUNT":        fmt.Sprint(c.Workers),
		"CLUSTER_APIENDPOINT_HOST":    "127.0.0.1",
		"CLUSTER_APIENDPOINT_PORT":    fmt.Sprint(c.Port),
		"IMAGE_URL":                   "http://images.example.com/node-" + KubernetesVersion + ".qcow2",
		"IMAGE_CHECKSUM":              "http://images.example.com/node-" + KubernetesVersion + ".qcow2.sha256sum",
		"IPPOOL_START":                fmt.Sprintf("192.168.%d.10", c.Subnet),
		"IPPOOL_END":                  fmt.Sprintf("192.168.%d.99", c.Subnet),
		"IPPOOL_GATEWAY":              fmt.Sprintf("192.168.%d.1", c.Subnet),
		"DNS_SERVER":                  fmt.Sprintf("192.168.%d.2", c.Subnet),
	}
	if c.Identity != "" {
		variables["IDENTITY_REF"] = fmt.Sprintf("identityRef: {name: %s}", c.Identity)
	}
	return variables
}

// WaitRunning waits until the cluster has exactly the machines that it should
// have, all of them Nodes, and Cluster API calls it available.
func (c Cluster) WaitRunning(ctx context.Context, w *world.World, namespace string, note func(string)) error {
	return w.Until(ctx, func(ctx context.Context) (string, error) {
		machines, err := w.Machines(ctx, namespace)
		if err != nil {
			return "", err
		}
		running, wanted := 0, c.ControlPlanes+c.Workers
		for _, machine := range machines {
			if machine.Running() {
				running++
			}
		}
		note(fmt.Sprintf("%d of %d machines run", running, wanted))
		if running != wanted || len(machines) != wanted {
			return fmt.Sprintf("%s/%s has %d machines of which %d run, and should have %d",
				namespace, c.Name, len(machines), running, wanted), nil
		}
		return c.notAvailable(ctx, w, namespace)
	})
}

func (c Cluster) notAvailable(ctx context.Context, w *world.World, namespace string) (string, error) {
	cluster := &clusterv1.Cluster{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.Name}, cluster); err != nil {
		return "", err
	}
	available := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ClusterAvailableCondition)
	switch {
	case available == nil:
		return "cluster " + c.Name + " has no condition Available", nil
	case available.Status != metav1.ConditionTrue:
		return "cluster " + c.Name + " is not available: " + available.Message, nil
	}
	return "", nil
}

// ScaleWorkers sets the number of workers, with the tenant's rights, and returns
// the cluster as it is wanted now.
func (c Cluster) ScaleWorkers(ctx context.Context, tenant *Tenant, workers int) (Cluster, error) {
	c.Workers = workers
	replicas := int32(workers)
	deployment := &clusterv1.MachineDeployment{}
	if err := tenant.Client.Get(ctx, client.ObjectKey{Namespace: tenant.Namespace, Name: c.Name}, deployment); err != nil {
		return c, err
	}
	before := deployment.DeepCopy()
	deployment.Spec.Replicas = &replicas
	if err := tenant.Client.Patch(ctx, deployment, client.MergeFrom(before)); err != nil {
		return c, fmt.Errorf("scale the workers of %s to %d: %w", c.Name, workers, err)
	}
	return c, nil
}

// KeepServers has each worker that is replaced leave its server to the next one, with the
// tenant's rights.
func (c Cluster) KeepServers(ctx context.Context, tenant *Tenant) error {
	for _, o := range []struct {
		object client.Object
		name   string
		patch  string
	}{
		{&infrav1.Metal3MachineTemplate{}, c.Name + "-workers", `{"spec": {"nodeReuse": true}}`},
		{
			&clusterv1.MachineDeployment{}, c.Name,
			`{"spec": {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}}}`,
		},
	} {
		o.object.SetNamespace(tenant.Namespace)
		o.object.SetName(o.name)
		if err := tenant.Client.Patch(ctx, o.object, client.RawPatch(types.MergePatchType, []byte(o.patch))); err != nil {
			return fmt.Errorf("keep the servers of the workers of %s: %w", c.Name, err)
		}
	}
	return nil
}

// RollWorkers has Cluster API replace each worker, with the tenant's rights.
func (c Cluster) RollWorkers(ctx context.Context, tenant *Tenant) error {
	deployment := &clusterv1.MachineDeployment{}
	if err := tenant.Client.Get(ctx, client.ObjectKey{Namespace: tenant.Namespace, Name: c.Name}, deployment); err != nil {
		return err
	}
	before := deployment.DeepCopy()
	deployment.Spec.Rollout.After = metav1.Now()
	if err := tenant.Client.Patch(ctx, deployment, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("roll the workers of %s: %w", c.Name, err)
	}
	return nil
}

// WaitForShortage waits until every server of the pool is taken and exactly one machine of the
// namespace waits for one. It returns that machine and the message for its owner.
func WaitForShortage(ctx context.Context, w *world.World, pool Pool, namespace string) (world.Machine, string, error) {
	var waiting world.Machine
	var reason string
	err := w.Until(ctx, func(ctx context.Context) (string, error) {
		machines, err := w.Machines(ctx)
		if err != nil {
			return "", err
		}
		taken, count := 0, 0
		for _, machine := range machines {
			if machine.Host != nil && machine.Host.Namespace == pool.Namespace {
				taken++
			}
			if text, waits := machine.WaitsForHost(); waits && machine.Machine.Namespace == namespace {
				waiting, reason = machine, text
				count++
			}
		}
		if taken == pool.Servers && count == 1 {
			return "", nil
		}
		return fmt.Sprintf("%d of %d servers are taken, %d machines of %s wait for one", taken, pool.Servers, count, namespace), nil
	})
	return waiting, reason, err
}
