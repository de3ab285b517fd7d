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
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	nextImage = "http://images.example.com/node-v1.36.1-next.qcow2"
	// firstImages and nextImages are those of the variable, with the version left open.
	firstImages = "http://images.example.com/node-{version}.qcow2"
	nextImages  = "http://images.example.com/node-{version}-next.qcow2"
	nextVersion = "v1.36.2"
	touchedKey  = "example.com/touched"
)

// classStory is a tenant whose cluster is one of the ClusterClass of this repository.
type classStory struct {
	*tenantCluster

	pool story.Pool
}

// TestClustersOfAClass plays the life of such a cluster. Its chapters build on each other.
func TestClustersOfAClass(t *testing.T) {
	t.Parallel()
	c := newClassStory(t)
	mustRun(t, "a cluster of the class comes up", c.comesUp)
	t.Run("a change that needs no new machines makes no new templates", c.templatesStay)
	mustRun(t, "a new image is rolled out", c.imageIsRolledOut)
	t.Run("the templates stay after that too", c.templatesStay)
	mustRun(t, "a new version alone is rolled out", c.versionIsRolledOut)
	t.Run("a deleted cluster leaves the class alone", c.goes)
}

// A class whose templates are of v1beta1, as those of CAPM3 are, makes machines once. The topology controller compares
// what it makes by dry runs, in that version, and finds nothing to replace. No policy admits these machines to a server.
func TestTemplatesOfV1beta1StayInTheirClass(t *testing.T) {
	t.Parallel()
	c := &classStory{tenantCluster: newTenantCluster(t, "older-class", story.Cluster{Name: "c", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 119})}
	older := func(object *unstructured.Unstructured) {
		text, err := json.Marshal(object)
		expect.NoError(t, err)
		expect.NoError(t, json.Unmarshal([]byte(strings.NewReplacer(
			infrav1.GroupVersion.String(), infrav1.GroupVersion.Group+"/v1beta1", `"diskFormat"`, `"format"`,
		).Replace(string(text))), object))
	}
	expect.NoError(t, story.BringClass(t.Context(), lab.Repo, c.Tenant, older))
	expect.NoError(t, c.cluster.CreateOfClass(t.Context(), lab.Repo, c.Tenant, older))
	var before map[string]revision
	eventually(t, "the machines wait for servers", func(g gomega.Gomega) {
		g.Expect(meta.IsStatusConditionTrue(c.whole(t).Status.Conditions, clusterv1.ClusterTopologyReconciledCondition)).To(gomega.BeTrue())
		machines := c.machines(t)
		g.Expect(machines).To(gomega.HaveLen(2))
		for _, m := range machines {
			g.Expect(m.Metal3).NotTo(gomega.BeNil())
			g.Expect(m.Metal3.Spec.Image.URL).NotTo(gomega.ContainSubstring("image.invalid"))
			g.Expect(m.Metal3.Spec.Image.DiskFormat).To(gomega.Equal(infrav1.DiskFormatQCOW2))
		}
		before = c.revisions(t)
	})
	c.comparesAnew(t)
	expect.Equal(t, before, c.revisions(t))
	expect.NoError(t, c.Client.Delete(t.Context(), c.whole(t)))
	eventually(t, "nothing is left of the cluster", func(g gomega.Gomega) { g.Expect(c.machines(t)).To(gomega.BeEmpty()) })
}

// newClassStory registers two servers more than the cluster has machines, for a rollout, and
// lets the tenant bring the class.
func newClassStory(t *testing.T) *classStory {
	t.Helper()
	c := &classStory{pool: story.Pool{Namespace: "classy-infra", Servers: 4, Tenants: []string{"classy"}}}
	expect.NoError(t, c.pool.Register(t.Context(), lab.admin))
	expect.NoError(t, c.pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	c.tenantCluster = newTenantCluster(t, "classy", story.Cluster{Name: "c", ControlPlanes: 1, Workers: 1, Port: freePort(t), Subnet: 112})
	expect.NoError(t, story.BringClass(t.Context(), lab.Repo, c.Tenant))
	return c
}

func (c *classStory) comesUp(t *testing.T) {
	expect.NoError(t, c.cluster.CreateOfClass(t.Context(), lab.Repo, c.Tenant, func(object *unstructured.Unstructured) {
		if object.GetKind() == "Cluster" {
			variables, _, _ := unstructured.NestedSlice(object.Object, "spec", "topology", "variables")
			for _, v := range variables {
				if v, _ := v.(map[string]any); v["name"] == "image" {
					_ = unstructured.SetNestedField(v, firstImages, "value", "url")
				}
			}
			for name, value := range map[string]any{
				"kubeVIP": map[string]any{}, "automatedCleaningMode": "metadata", "controlPlaneMaxSurge": int64(1),
				"failureDomains": []any{map[string]any{"name": "a1"}},
			} {
				variables = append(variables, map[string]any{"name": name, "value": value})
			}
			_ = unstructured.SetNestedSlice(object.Object, variables, "spec", "topology", "variables")
		}
	}))
	c.settles(t, of(firstImages, story.KubernetesVersion))
	c.variablesArrive(t)
}

// variablesArrive looks for the variables that the cluster sets besides those that it must.
func (c *classStory) variablesArrive(t *testing.T) {
	t.Helper()
	for _, m := range c.machines(t) {
		expect.That(t, m.Metal3.Spec.AutomatedCleaningMode == "metadata", "%s has cleaning mode %q", m.Name(), m.Metal3.Spec.AutomatedCleaningMode)
	}
	var clusters infrav1.Metal3ClusterList
	expect.NoError(t, c.Client.List(t.Context(), &clusters, client.InNamespace(c.Namespace)))
	var controlPlanes controlplanev1.KubeadmControlPlaneList
	expect.NoError(t, c.Client.List(t.Context(), &controlPlanes, client.InNamespace(c.Namespace)))
	count := [2]int{len(clusters.Items), len(controlPlanes.Items)}
	expect.Must(t, count == [2]int{1, 1}, "clusters and control planes: %v", count)
	config := controlPlanes.Items[0].Spec.KubeadmConfigSpec
	expect.Must(t, len(config.Files) == 1 && len(config.PreKubeadmCommands) == 1, "files and commands of kube-vip: %v, %v", config.Files, config.PreKubeadmCommands)
	port := fmt.Sprintf(`{name: port, value: "%d"}`, c.cluster.Port)
	missing := unsaid(config.Files[0].Content, `{name: address, value: "127.0.0.1"}`, port, `{name: vip_interface, value: ""}`)
	expect.That(t, missing == nil, "the manifest of kube-vip lacks %v:\n%s", missing, config.Files[0].Content)
	domains := clusters.Items[0].Spec.FailureDomains
	expect.That(t, len(domains) == 1 && domains[0].Name == "a1", "failure domains %v", domains)
}

// of is an image of a version.
func of(images, version string) string { return strings.ReplaceAll(images, "{version}", version) }

// settles waits until every machine runs, with that image if one is named, and Cluster
// API has nothing left to do for the cluster.
func (c *classStory) settles(t *testing.T, image string) {
	t.Helper()
	eventually(t, "the cluster of the class runs", func(g gomega.Gomega) {
		machines := c.machines(t)
		g.Expect(machines).To(gomega.HaveLen(c.cluster.ControlPlanes + c.cluster.Workers))
		for _, m := range machines {
			g.Expect(m.Running()).To(gomega.BeTrue(), m.Name())
			if image != "" {
				g.Expect(m.Metal3.Spec.Image.URL).To(gomega.Equal(image), m.Name())
			}
		}
		whole := c.whole(t)
		for _, condition := range []string{clusterv1.ClusterAvailableCondition, clusterv1.ClusterTopologyReconciledCondition} {
			g.Expect(meta.IsStatusConditionTrue(whole.Status.Conditions, condition)).To(gomega.BeTrue(), condition)
		}
		rolling := meta.FindStatusCondition(whole.Status.Conditions, clusterv1.ClusterRollingOutCondition)
		g.Expect(rolling).To(gomega.HaveValue(gomega.HaveField("Status", metav1.ConditionFalse)), "RollingOut")
	})
}

func (c *classStory) whole(t *testing.T) *clusterv1.Cluster {
	t.Helper()
	whole := &clusterv1.Cluster{}
	expect.NoError(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.cluster.Name}, whole))
	return whole
}

// revision is what must not change without a reason: an object and its generation, or
// a machine.
type revision struct {
	UID        types.UID
	Generation int64
}

// revisions lists what the topology controller makes of the class, and the machines.
func (c *classStory) revisions(t *testing.T) map[string]revision {
	t.Helper()
	found := map[string]revision{}
	for _, kind := range []schema.GroupVersionKind{
		infrav1.GroupVersion.WithKind("Metal3Cluster"),
		infrav1.GroupVersion.WithKind("Metal3MachineTemplate"),
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfigTemplate"},
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		expect.NoError(t, lab.admin.List(t.Context(), list, client.InNamespace(c.Namespace)))
		for _, object := range list.Items {
			found[kind.Kind+" "+object.Name] = revision{object.UID, object.Generation}
		}
	}
	for _, m := range c.machines(t) {
		found["Machine "+m.Machine.Name] = revision{UID: m.UID()}
	}
	return found
}

// templatesStay makes the topology controller compare the class with the cluster anew,
// some times over, and expects the same objects afterwards. An annotation that goes to
// the MachineDeployment shows each time that it has done so.
func (c *classStory) templatesStay(t *testing.T) {
	before := c.revisions(t)
	c.comparesAnew(t)
	c.settles(t, "")
	expect.Equal(t, before, c.revisions(t))
}

func (c *classStory) comparesAnew(t *testing.T) {
	t.Helper()
	for round := range 3 {
		touch := fmt.Sprint(c.whole(t).ResourceVersion, "-", round)
		whole := c.whole(t)
		was := whole.DeepCopy()
		whole.Spec.Topology.Workers.MachineDeployments[0].Metadata.Annotations = map[string]string{touchedKey: touch}
		expect.NoError(t, c.Client.Patch(t.Context(), whole, client.MergeFrom(was)))
		eventually(t, "the annotation reaches the MachineDeployment", func(g gomega.Gomega) {
			var list clusterv1.MachineDeploymentList
			g.Expect(lab.world.List(t.Context(), &list, client.InNamespace(c.Namespace))).To(gomega.Succeed())
			g.Expect(list.Items).To(gomega.ConsistOf(gomega.HaveField("ObjectMeta.Annotations", gomega.HaveKeyWithValue(touchedKey, touch))))
		})
	}
}

// imageIsRolledOut changes a variable, as a tenant would.
func (c *classStory) imageIsRolledOut(t *testing.T) {
	c.rollsOut(t, of(nextImages, story.KubernetesVersion), func(topology *clusterv1.Topology) {
		for i, v := range topology.Variables {
			if v.Name == "image" {
				image := map[string]any{}
				expect.NoError(t, json.Unmarshal(v.Value.Raw, &image))
				image["url"] = nextImages
				raw, err := json.Marshal(image)
				expect.NoError(t, err)
				topology.Variables[i].Value.Raw = raw
			}
		}
	})
}

// versionIsRolledOut upgrades as the book of Cluster API describes: by the version and nothing
// else.
func (c *classStory) versionIsRolledOut(t *testing.T) {
	c.rollsOut(t, of(nextImages, nextVersion), func(topology *clusterv1.Topology) { topology.Version = nextVersion })
	for _, m := range c.machines(t) {
		expect.That(t, m.Machine.Spec.Version == nextVersion, "%s has version %q", m.Name(), m.Machine.Spec.Version)
	}
}

// rollsOut changes the topology, and waits until all servers have that image. Each template is replaced
// once, and each machine too.
func (c *classStory) rollsOut(t *testing.T, image string, edit func(*clusterv1.Topology)) {
	t.Helper()
	before := c.revisions(t)
	whole := c.whole(t)
	was := whole.DeepCopy()
	edit(&whole.Spec.Topology)
	expect.NoError(t, c.Client.Patch(t.Context(), whole, client.MergeFrom(was)))
	c.settles(t, image)
	eventually(t, "the former templates are gone", func(g gomega.Gomega) {
		g.Expect(c.revisions(t)).To(gomega.HaveLen(len(before)))
	})
	expect.Equal(t, map[string]int{"Machine": 2, "Metal3MachineTemplate": 2}, news(before, c.revisions(t)))
	for _, m := range c.machines(t) {
		expect.That(t, imageOn(m) == image, "the server of %s has image %q", m.Name(), imageOn(m))
	}
}

// news counts what is there after and was not before, by kind.
func news(before, after map[string]revision) map[string]int {
	count := map[string]int{}
	for name := range after {
		if _, known := before[name]; !known {
			kind, _, _ := strings.Cut(name, " ")
			count[kind]++
		}
	}
	return count
}

func imageOn(m world.Machine) string {
	if m.Host == nil {
		return ""
	}
	return m.Host.Status.Provisioning.Image.URL
}

// goes deletes the cluster; the class stays for the next one.
func (c *classStory) goes(t *testing.T) {
	expect.NoError(t, c.Client.Delete(t.Context(), c.whole(t)))
	eventually(t, "nothing of the cluster is left", func(g gomega.Gomega) {
		g.Expect(leftOf(t, c.Namespace)).To(gomega.BeEmpty())
		g.Expect(c.revisions(t)).To(gomega.HaveLen(3), "the templates of the class")
		for _, host := range hosts(t, c.pool.Namespace) {
			g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil(), host.Name)
			g.Expect(host.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateAvailable), host.Name)
		}
	})
}
