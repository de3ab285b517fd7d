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
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// version is another one than the default, of the series that metadata.yaml names.
const version = "v1.14.7"

// release is a folder that make has written and the program that reads it.
type release struct {
	repo       components.Repo
	out        string
	clusterctl string
}

func newRelease(t *testing.T) *release {
	t.Helper()
	repo, program := harness.Clusterctl(t)
	r := &release{repo: repo, clusterctl: program, out: t.TempDir()}
	if said, err := makeRelease(t, repo, "OUT="+r.out, "RELEASE="+version); err != nil {
		t.Fatalf("make release-manifests: %v\n%s", err, said)
	}
	return r
}

// makeRelease runs make with these variables and returns its output.
func makeRelease(t *testing.T, repo components.Repo, variables ...string) (string, error) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "make", append([]string{"-C", repo.Root, "release-manifests"}, variables...)...).CombinedOutput()
	return string(said), err
}

// run calls clusterctl with the configuration that make has written. It has no
// kubeconfig and does not look at what the user of this machine has configured.
func (r *release) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.clusterctl, append(args, "--config", filepath.Join(r.out, "clusterctl.yaml"))...)
	home := t.TempDir()
	cmd.Env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "CLUSTERCTL_DISABLE_VERSIONCHECK=true",
		"CLUSTER_APIENDPOINT_HOST=192.0.2.100", "IMAGE_URL=http://images.example.com/node.qcow2", "IMAGE_CHECKSUM=0123",
		"IPPOOL_START=192.0.2.101", "IPPOOL_END=192.0.2.150", "IPPOOL_GATEWAY=192.0.2.1", "DNS_SERVER=192.0.2.1",
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	written, err := cmd.Output()
	if err != nil {
		t.Fatalf("clusterctl %v: %v\n%s", args, err, complaints.String())
	}
	return written
}

// objects reads a file of the release.
func (r *release) objects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, "infrastructure-metal3", version, file))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Process(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// crdLabels are the labels of the CRDs in a file of the release, by name.
func (r *release) crdLabels(t *testing.T, file string) map[string]map[string]string {
	t.Helper()
	return crdLabels(r.objects(t, file))
}

func crdLabels(objects []*unstructured.Unstructured) map[string]map[string]string {
	labels := map[string]map[string]string{}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			labels[object.GetName()] = object.GetLabels()
		}
	}
	return labels
}

// kinds lists the kinds in a file of objects, each once, in alphabetical order.
func kinds(t *testing.T, text []byte) []string {
	t.Helper()
	objects, err := manifests.Process(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, object := range objects {
		found = append(found, object.GetKind())
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestClusterctlReadsTheRelease(t *testing.T) {
	r := newRelease(t)

	t.Run("it finds the provider", func(t *testing.T) {
		objects, err := manifests.Process(r.run(t, "generate", "provider", "--infrastructure", "metal3"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.crdLabels(t, "infrastructure-components.yaml"), crdLabels(objects)); diff != "" {
			t.Errorf("labels of CRDs that only clusterctl adds (-in the file +installed):\n%s", diff)
		}
		deployment := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
		if deployment < 0 || objects[deployment].GetName() != "capm3-controller-manager" || objects[deployment].GetNamespace() != "capm3-system" {
			t.Errorf("the provider has no Deployment of ours: %d objects", len(objects))
		}
	})

	cluster := []string{
		"Cluster", "IPPool", "KubeadmConfigTemplate", "KubeadmControlPlane", "MachineDeployment",
		"Metal3Cluster", "Metal3DataTemplate", "Metal3MachineTemplate",
	}
	topology := []string{
		"Cluster", "ClusterClass", "IPPool", "KubeadmConfigTemplate", "KubeadmControlPlaneTemplate",
		"Metal3ClusterTemplate", "Metal3DataTemplate", "Metal3MachineTemplate",
	}
	for flavor, want := range map[string][]string{"": cluster, "topology": topology} {
		t.Run("it makes a cluster of flavor '"+flavor+"'", func(t *testing.T) {
			got := kinds(t, r.run(t, "generate", "cluster", "demo", "--infrastructure", "metal3:"+version, "--flavor", flavor,
				"--target-namespace", "tenant-a", "--kubernetes-version", "v1.36.1"))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}

// kubectl installs the hostclaim manager, and either manager in its hardened form.
func TestTheReleaseHasEveryForm(t *testing.T) {
	r := newRelease(t)
	for file, namespace := range map[string]string{
		"infrastructure-components-hardened.yaml": "capm3-system",
		"hostclaim-components.yaml":               "hostclaim-system",
		"hostclaim-components-hardened.yaml":      "hostclaim-system",
	} {
		deploys := slices.ContainsFunc(r.objects(t, file), func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "Deployment" && o.GetNamespace() == namespace
		})
		if !deploys {
			t.Errorf("%s has no Deployment in namespace %s", file, namespace)
		}
	}
}

// kubectl apply adds no labels, and clusterctl move passes over CRDs without the label that
// clusterctl init adds. Policies are the infrastructure team's and move with nothing.
func TestWhatKubectlInstallsCanBeMoved(t *testing.T) {
	r := newRelease(t)
	for _, file := range []string{
		"infrastructure-components.yaml", "infrastructure-components-hardened.yaml",
		"hostclaim-components.yaml", "hostclaim-components-hardened.yaml",
	} {
		all := r.crdLabels(t, file)
		if len(all) == 0 {
			t.Errorf("%s has no CRDs", file)
		}
		for name, labels := range all {
			_, moved := labels["clusterctl.cluster.x-k8s.io"]
			if want := name != "hostdeploypolicies.metal3.io"; moved != want {
				t.Errorf("%s in %s is found by clusterctl move: %t, want %t", name, file, moved, want)
			}
		}
	}
}

func TestTheReleaseNamesTheImagesThatWereBuilt(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{out: filepath.Join(t.TempDir(), "with a space")}
	// As a person would write it, below the folder where make runs.
	relative, err := filepath.Rel(repo.Root, r.out)
	if err != nil {
		t.Fatal(err)
	}
	said, err := makeRelease(t, repo, "OUT="+relative, "RELEASE="+version, "IMAGE_PREFIX=registry.example.com/metal3", "IMAGE_TAG=v1.14.7")
	if err != nil {
		t.Fatalf("make release-manifests: %v\n%s", err, said)
	}
	for file, image := range map[string]string{
		"infrastructure-components.yaml":                  "cluster-api-provider-metal3",
		"infrastructure-components-hardened.yaml":         "cluster-api-provider-metal3",
		"infrastructure-components-in-place-updates.yaml": "cluster-api-provider-metal3",
		"hostclaim-components.yaml":                       "hostclaim-manager",
		"hostclaim-components-hardened.yaml":              "hostclaim-manager",
	} {
		text, err := os.ReadFile(filepath.Join(r.out, "infrastructure-metal3", version, file))
		if err != nil {
			t.Fatal(err)
		}
		if want := "image: registry.example.com/metal3/" + image + ":v1.14.7\n"; !bytes.Contains(text, []byte(want)) || bytes.Contains(text, []byte("localhost/")) {
			t.Errorf("%s does not name %s", file, want)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.out, "clusterctl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "url: file://" + r.out; !bytes.Contains(text, []byte(want)) {
		t.Errorf("clusterctl.yaml has no absolute address %s:\n%s", want, text)
	}
}

func TestAReleaseThatNoClusterCanUseIsNamed(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"nonsense", "1.14.0", "v1.14", "v1.15.0"} {
		if said, err := makeRelease(t, repo, "OUT="+t.TempDir(), "RELEASE="+version); err == nil || !strings.Contains(said, "RELEASE="+version) {
			t.Errorf("RELEASE=%s: %v\n%s", version, err, said)
		}
	}
	said, err := makeRelease(t, repo, "OUT="+t.TempDir())
	if err != nil || !strings.Contains(said, "IMAGE_PREFIX") {
		t.Errorf("nothing tells of images that no cluster pulls: %v\n%s", err, said)
	}
}
