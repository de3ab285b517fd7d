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

	"github.com/google/go-cmp/cmp"
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
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

const (
	teamLabel = "example.com/team"
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
	t.Run("metadata of the templates is on what was made of them", c.metadataIsApplied)
	t.Run("the templates promise what the servers have", c.capacityIsPromised)
	t.Run("a change that needs no new machines makes no new templates", c.templatesStay)
	mustRun(t, "a new image is rolled out", c.imageIsRolledOut)
	t.Run("the templates stay after that too", c.templatesStay)
	mustRun(t, "a new version alone is rolled out", c.versionIsRolledOut)
	t.Run("a deleted cluster leaves the class alone", c.goes)
}

// newClassStory registers two servers more than the cluster has machines, for a rollout, and
// lets the tenant bring the class, with metadata in its templates.
func newClassStory(t *testing.T) *classStory {
	t.Helper()
	c := &classStory{pool: story.Pool{Namespace: "classy-infra", Servers: 4, Tenants: []string{"classy"}}}
	must(t, c.pool.Register(t.Context(), lab.admin))
	must(t, c.pool.WaitAvailable(limited(t), lab.world, ignoreNotes))
	ports, err := cluster.FreePorts(1)
	must(t, err)
	c.tenantCluster = newTenantCluster(t, "classy", story.Cluster{Name: "c", ControlPlanes: 1, Workers: 1, Port: ports[0], Subnet: 112})
	must(t, story.BringClass(t.Context(), lab.Repo, c.Tenant, withMetadata))
	return c
}

// withMetadata gives the templates of the infrastructure a label that people read and an
// annotation that claims understand.
func withMetadata(object *unstructured.Unstructured) {
	if !strings.HasPrefix(object.GetKind(), "Metal3") {
		return
	}
	metadata := map[string]any{
		"labels":      map[string]any{teamLabel: "blue"},
		"annotations": map[string]any{infrav1.SoftFailureDomainAnnotation: "true"},
	}
	// The path leads through objects only, so that this cannot fail.
	_ = unstructured.SetNestedMap(object.Object, metadata, "spec", "template", "metadata")
}

func (c *classStory) comesUp(t *testing.T) {
	must(t, c.cluster.CreateOfClass(t.Context(), lab.Repo, c.Tenant, func(object *unstructured.Unstructured) {
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
		if mode := m.Metal3.Spec.AutomatedCleaningMode; mode != "metadata" {
			t.Errorf("%s has cleaning mode %q", m.Name(), mode)
		}
	}
	var clusters infrav1.Metal3ClusterList
	must(t, c.Client.List(t.Context(), &clusters, client.InNamespace(c.Namespace)))
	var controlPlanes controlplanev1.KubeadmControlPlaneList
	must(t, c.Client.List(t.Context(), &controlPlanes, client.InNamespace(c.Namespace)))
	got := []any{len(clusters.Items), len(controlPlanes.Items)}
	if diff := cmp.Diff([]any{1, 1}, got); diff != "" {
		t.Fatalf("clusters and control planes (-want +got):\n%s", diff)
	}
	config := controlPlanes.Items[0].Spec.KubeadmConfigSpec
	if len(config.Files) != 1 || len(config.PreKubeadmCommands) != 1 {
		t.Fatalf("files and commands of kube-vip: %v, %v", config.Files, config.PreKubeadmCommands)
	}
	port := fmt.Sprintf(`{name: port, value: "%d"}`, c.cluster.Port)
	if missing := unsaid(config.Files[0].Content, `{name: address, value: "127.0.0.1"}`, port, `{name: vip_interface, value: ""}`); missing != nil {
		t.Errorf("the manifest of kube-vip lacks %v:\n%s", missing, config.Files[0].Content)
	}
	if domains := clusters.Items[0].Spec.FailureDomains; len(domains) != 1 || domains[0].Name != "a1" {
		t.Errorf("failure domains %v", domains)
	}
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
	must(t, c.Client.Get(t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.cluster.Name}, whole))
	return whole
}

// metadataIsApplied looks for the labels and annotations of the templates, and for what
// a claim understands of them on the claims.
func (c *classStory) metadataIsApplied(t *testing.T) {
	var clusters infrav1.Metal3ClusterList
	must(t, c.Client.List(t.Context(), &clusters, client.InNamespace(c.Namespace)))
	if len(clusters.Items) != 1 || clusters.Items[0].Labels[teamLabel] != "blue" {
		t.Errorf("no Metal3Cluster with the label of its template: %v", clusters.Items)
	}
	for _, m := range c.machines(t) {
		soft := infrav1.SoftFailureDomainAnnotation
		got := []string{
			m.Metal3.Labels[teamLabel], m.Metal3.Annotations[soft], m.Claim.Annotations[soft], m.Claim.Labels[teamLabel],
		}
		if diff := cmp.Diff([]string{"blue", "true", "true", ""}, got); diff != "" {
			t.Errorf("label and annotation of %s, annotation and label of its claim (-want +got):\n%s", m.Name(), diff)
		}
	}
}

// capacityIsPromised compares the templates of the cluster with the servers of the pool,
// which are all alike. Of the templates of the class no machine is ever made.
func (c *classStory) capacityIsPromised(t *testing.T) {
	eventually(t, "the templates tell the size of the servers", func(g gomega.Gomega) {
		var templates infrav1.Metal3MachineTemplateList
		g.Expect(c.Client.List(t.Context(), &templates, client.InNamespace(c.Namespace))).To(gomega.Succeed())
		got := map[string]int{}
		for _, template := range templates.Items {
			s := template.Status
			ready := meta.FindStatusCondition(s.Conditions, infrav1.ReadyCondition)
			g.Expect(ready).NotTo(gomega.BeNil(), template.Name)
			told := fmt.Sprintf("%s %s %s", ready.Reason, s.Capacity.Cpu(), s.Capacity.Memory())
			if s.NodeInfo != nil {
				told += fmt.Sprintf(" %s %s", s.NodeInfo.Architecture, s.NodeInfo.OperatingSystem)
			}
			got[told]++
		}
		g.Expect(got).To(gomega.Equal(map[string]int{
			"CapacityObserved 32 64Gi amd64 linux": 2,
			"CapacityUnknown 0 0":                  2,
		}))
	})
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
		must(t, lab.admin.List(t.Context(), list, client.InNamespace(c.Namespace)))
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
	for round := range 3 {
		touch := fmt.Sprint(c.whole(t).ResourceVersion, "-", round)
		whole := c.whole(t)
		was := whole.DeepCopy()
		whole.Spec.Topology.Workers.MachineDeployments[0].Metadata.Annotations = map[string]string{touchedKey: touch}
		must(t, c.Client.Patch(t.Context(), whole, client.MergeFrom(was)))
		eventually(t, "the annotation reaches the MachineDeployment", func(g gomega.Gomega) {
			var list clusterv1.MachineDeploymentList
			g.Expect(lab.world.List(t.Context(), &list, client.InNamespace(c.Namespace))).To(gomega.Succeed())
			g.Expect(list.Items).To(gomega.ConsistOf(gomega.HaveField("ObjectMeta.Annotations", gomega.HaveKeyWithValue(touchedKey, touch))))
		})
	}
	c.settles(t, "")
	if diff := cmp.Diff(before, c.revisions(t)); diff != "" {
		t.Errorf("objects of the cluster (-before +after):\n%s", diff)
	}
}

// imageIsRolledOut changes a variable, as a tenant would.
func (c *classStory) imageIsRolledOut(t *testing.T) {
	c.rollsOut(t, of(nextImages, story.KubernetesVersion), func(topology *clusterv1.Topology) {
		for i, v := range topology.Variables {
			if v.Name == "image" {
				image := map[string]any{}
				must(t, json.Unmarshal(v.Value.Raw, &image))
				image["url"] = nextImages
				raw, err := json.Marshal(image)
				must(t, err)
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
		if m.Machine.Spec.Version != nextVersion {
			t.Errorf("%s has version %q", m.Name(), m.Machine.Spec.Version)
		}
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
	must(t, c.Client.Patch(t.Context(), whole, client.MergeFrom(was)))
	c.settles(t, image)
	eventually(t, "the former templates are gone", func(g gomega.Gomega) {
		g.Expect(c.revisions(t)).To(gomega.HaveLen(len(before)))
	})
	if diff := cmp.Diff(map[string]int{"Machine": 2, "Metal3MachineTemplate": 2}, news(before, c.revisions(t))); diff != "" {
		t.Errorf("new objects (-want +got):\n%s", diff)
	}
	for _, m := range c.machines(t) {
		if got := imageOn(m); got != image {
			t.Errorf("the server of %s has image %q", m.Name(), got)
		}
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
	if m.Host == nil || m.Host.Status.Provisioning.Image.URL == "" {
		return ""
	}
	return m.Host.Status.Provisioning.Image.URL
}

// goes deletes the cluster; the class stays for the next one.
func (c *classStory) goes(t *testing.T) {
	must(t, c.Client.Delete(t.Context(), c.whole(t)))
	eventually(t, "nothing of the cluster is left", func(g gomega.Gomega) {
		g.Expect(leftOf(t, c.Namespace)).To(gomega.BeEmpty())
		g.Expect(c.revisions(t)).To(gomega.HaveLen(3), "the templates of the class")
		for _, host := range hosts(t, c.pool.Namespace) {
			g.Expect(host.Spec.ConsumerRef).To(gomega.BeNil(), host.Name)
			g.Expect(host.Status.Provisioning.State).To(gomega.Equal(bmov1alpha1.StateAvailable), host.Name)
		}
	})
}
