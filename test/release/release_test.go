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
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	r := &release{repo: repo, clusterctl: program, out: filepath.Join(t.TempDir(), "out")}
	if said, err := makeRelease(t, repo, "OUT="+r.out, "RELEASE="+version); err != nil {
		t.Fatalf("make release: %v\n%s", err, said)
	}
	return r
}

// makeRelease runs make with these variables and returns its output.
func makeRelease(t *testing.T, repo components.Repo, variables ...string) (string, error) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "make", append([]string{"-C", repo.Root, "release"}, variables...)...).CombinedOutput()
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
		"ENABLE_BMH_NAME_BASED_PREALLOCATION=true", "CLUSTER_APIENDPOINT_HOST=192.0.2.100", "IMAGE_URL=http://images.example.com/node.qcow2", "IMAGE_CHECKSUM=0123",
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	written, err := cmd.Output()
	if err != nil {
		t.Fatalf("clusterctl %v: %v\n%s", args, err, complaints.String())
	}
	return written
}

// folder is that of a provider in the release.
func (r *release) folder(provider string) string {
	return filepath.Join(r.out, provider, version)
}

// path is where a file of the release lies, which is named <provider>/<file>.
func (r *release) path(file string) string {
	return filepath.Join(r.folder(filepath.Dir(file)), filepath.Base(file))
}

// objects reads a file of the release.
func (r *release) objects(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(r.path(file))
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

// ignoreProvider leaves out of a comparison of labels what clusterctl adds to the objects of an addon.
// kubectl installs the hostclaim manager where there is no Cluster API, so that its files lack it, and
// policies move with nothing.
func ignoreProvider(kind string) cmp.Option {
	return cmpopts.IgnoreMapEntries(func(label, _ string) bool {
		return kind == "addon" && (label == "cluster.x-k8s.io/provider" || label == "clusterctl.cluster.x-k8s.io")
	})
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

// TestRelease looks at one release in many ways: to make it takes longest.
func TestRelease(t *testing.T) {
	r := newRelease(t)
	t.Run("clusterctl reads it", r.clusterctlReads)
	t.Run("it has every form", r.hasEveryForm)
	t.Run("what kubectl installs can be moved", r.canBeMoved)
	t.Run("it can be made again", r.canBeMadeAgain)
	t.Run("it has the plugin of kubectl", r.hasThePlugin)
	t.Run("it lists its modules", r.listsItsModules)
	t.Run("the managers know their version", r.managersKnowTheirVersion)
}

func (r *release) clusterctlReads(t *testing.T) {
	for _, p := range []struct{ kind, name, file, deployment, namespace, arg string }{
		{
			"infrastructure", "metal3", "infrastructure-metal3/infrastructure-components.yaml", "capm3-controller-manager", "capm3-system",
			"--enable-bmh-name-based-preallocation=true",
		},
		{"addon", "hostclaim", "addon-hostclaim/addon-components.yaml", "hostclaim-controller-manager", "hostclaim-system", "--leader-elect"},
		{
			"addon", "hostclaim-kubevirt", "addon-hostclaim-kubevirt/addon-components.yaml", "hostclaim-kubevirt-controller-manager",
			"hostclaim-kubevirt-system", "--leader-elect",
		},
	} {
		t.Run("it finds provider "+p.name, func(t *testing.T) {
			text := r.run(t, "generate", "provider", "--"+p.kind, p.name)
			if !bytes.Contains(text, []byte("- "+p.arg+"\n")) {
				t.Errorf("the manager is not called with %s", p.arg)
			}
			objects, err := manifests.Process(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.crdLabels(t, p.file), crdLabels(objects), ignoreProvider(p.kind)); diff != "" {
				t.Errorf("labels of CRDs that only clusterctl adds (-in the file +installed):\n%s", diff)
			}
			deployment := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
			if deployment < 0 || objects[deployment].GetName() != p.deployment || objects[deployment].GetNamespace() != p.namespace {
				t.Errorf("the provider has no Deployment of ours: %d objects", len(objects))
			}
		})
	}

	cluster := []string{
		"Cluster", "KubeadmConfigTemplate", "KubeadmControlPlane", "MachineDeployment",
		"Metal3Cluster", "Metal3DataTemplate", "Metal3MachineTemplate",
	}
	topology := []string{
		"Cluster", "ClusterClass", "KubeadmConfigTemplate", "KubeadmControlPlaneTemplate",
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

// The linker passes over a variable that does not exist; the image must name the same one as make.
func (r *release) managersKnowTheirVersion(t *testing.T) {
	for _, name := range []string{"manager", "hostclaim-manager", "kubevirt-manager"} {
		said, err := exec.CommandContext(t.Context(), filepath.Join(r.repo.Root, "bin", name), "--version").CombinedOutput()
		if got := strings.TrimSpace(string(said)); err != nil || got != version {
			t.Errorf("%s --version prints %q (%v), want %s", name, got, err, version)
		}
	}
	dockerfile, err := os.ReadFile(filepath.Join(r.repo.Root, "Dockerfile"))
	if want := " -X k8s.io/component-base/version.gitVersion=${VERSION}"; err != nil || !bytes.Contains(dockerfile, []byte(want)) {
		t.Errorf("the images are not built with%s: %v", want, err)
	}
}

// Either manager can be installed in its hardened form.
func (r *release) hasEveryForm(t *testing.T) {
	for file, namespace := range map[string]string{
		"infrastructure-metal3/infrastructure-components-hardened.yaml": "capm3-system",
		"addon-hostclaim/addon-components.yaml":                         "hostclaim-system",
		"addon-hostclaim/addon-components-hardened.yaml":                "hostclaim-system",
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
// clusterctl init adds.
func (r *release) canBeMoved(t *testing.T) {
	for _, file := range []string{
		"infrastructure-metal3/infrastructure-components.yaml", "infrastructure-metal3/infrastructure-components-hardened.yaml",
	} {
		all := r.crdLabels(t, file)
		if len(all) == 0 {
			t.Errorf("%s has no CRDs", file)
		}
		for name, labels := range all {
			if _, moved := labels["clusterctl.cluster.x-k8s.io"]; !moved {
				t.Errorf("%s in %s is not found by clusterctl move", name, file)
			}
		}
	}
	// Those of baremetal-operator are completed by the manager, and are not replaced.
	for _, file := range []string{"addon-hostclaim/addon-components.yaml", "addon-hostclaim/addon-components-hardened.yaml"} {
		all := r.crdLabels(t, file)
		if _, found := all["hostclaimclasses.hostclaim.metal3.io"]; !found || len(all) != 1 {
			t.Errorf("%s has the CRDs %v", file, all)
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
	// The digest of one image is known and that of the other is not.
	digest := "sha256:" + strings.Repeat("0a", 32)
	said, err := makeRelease(t, repo, "OUT="+relative, "RELEASE="+version, "IMAGE_PREFIX=registry.example.com/metal3", "IMAGE_TAG=v1.14.7",
		"DOCKER=false", "IMAGE_DIGESTS=hostclaim-manager="+digest)
	if err != nil {
		t.Fatalf("make release: %v\n%s", err, said)
	}
	for file, image := range map[string]string{
		"infrastructure-metal3/infrastructure-components.yaml":                  "cluster-api-provider-metal3:v1.14.7",
		"infrastructure-metal3/infrastructure-components-hardened.yaml":         "cluster-api-provider-metal3:v1.14.7",
		"infrastructure-metal3/infrastructure-components-in-place-updates.yaml": "cluster-api-provider-metal3:v1.14.7",
		"infrastructure-metal3/images.txt":                                      "cluster-api-provider-metal3:v1.14.7",
		"addon-hostclaim/addon-components.yaml":                                 "hostclaim-manager@" + digest,
		"addon-hostclaim/addon-components-hardened.yaml":                        "hostclaim-manager@" + digest,
		"addon-hostclaim/images.txt":                                            "hostclaim-manager@" + digest,
		"addon-hostclaim-kubevirt/addon-components.yaml":                        "kubevirt-manager:v1.14.7",
		"addon-hostclaim-kubevirt/images.txt":                                   "kubevirt-manager:v1.14.7",
	} {
		text, err := os.ReadFile(r.path(file))
		if err != nil {
			t.Fatal(err)
		}
		if want := "registry.example.com/metal3/" + image + "\n"; !bytes.Contains(text, []byte(want)) || bytes.Contains(text, []byte("localhost/")) {
			t.Errorf("%s does not name %s", file, want)
		}
	}
	if want := "cluster-api-provider-metal3 by its tag"; !strings.Contains(said, want) || strings.Contains(said, "hostclaim-manager by its tag") {
		t.Errorf("it does not tell which digest is not known:\n%s", said)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "clusterctl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "url: file://" + r.out; !bytes.Contains(text, []byte(want)) {
		t.Errorf("clusterctl.yaml has no absolute address %s:\n%s", want, text)
	}
}

// Who has a release can check it, and who makes it again gets the same bytes.
func (r *release) canBeMadeAgain(t *testing.T) {
	second := newRelease(t)
	for _, provider := range []string{"infrastructure-metal3", "addon-hostclaim", "addon-hostclaim-kubevirt"} {
		if said, err := exec.CommandContext(t.Context(), "diff", "-r", r.folder(provider), second.folder(provider)).CombinedOutput(); err != nil {
			t.Errorf("two releases differ: %v\n%s", err, said)
		}
		check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", "sha256sums.txt")
		check.Dir = r.folder(provider)
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("checksums of %s: %v\n%s", provider, err, said)
		}
		sums, err := os.ReadFile(filepath.Join(check.Dir, "sha256sums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(check.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := file.Name(); name != "sha256sums.txt" && !bytes.Contains(sums, []byte("  "+name+"\n")) {
				t.Errorf("%s of %s has no checksum", name, provider)
			}
		}
	}
}

// krew installs the plugin of the machine that it runs on, if its checksum is that of the manifest.
func (r *release) hasThePlugin(t *testing.T) {
	manifest, err := os.ReadFile(r.path("infrastructure-metal3/metal3.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for platform, magic := range map[string]string{
		// The machine is at byte 18 of ELF and at byte 4 of Mach-O.
		"linux_amd64":  "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x3e\x00",
		"linux_arm64":  "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00",
		"darwin_arm64": "\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
	} {
		archive := "kubectl-metal3_" + platform + ".tar.gz"
		program, err := exec.CommandContext(t.Context(), "tar", "-xzOf", r.path("infrastructure-metal3/"+archive), "kubectl-metal3").Output()
		if err != nil || !bytes.HasPrefix(program, []byte(magic)) {
			t.Errorf("%s has no program for it: %d bytes, %v", archive, len(program), err)
		}
		packed, err := os.ReadFile(r.path("infrastructure-metal3/" + archive))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%s/%s\n    sha256: %x\n", version, archive, sha256.Sum256(packed)); !bytes.Contains(manifest, []byte(want)) {
			t.Errorf("the manifest has no %q:\n%s", want, manifest)
		}
	}
}

// The bill of materials is that of the program, not of the repository: the managers of claims know
// nothing of address pools.
func (r *release) listsItsModules(t *testing.T) {
	const pools = "github.com/metal3-io/ip-address-manager/api"
	for provider, withPools := range map[string]bool{"infrastructure-metal3": true, "addon-hostclaim": false, "addon-hostclaim-kubevirt": false} {
		text, err := os.ReadFile(filepath.Join(r.folder(provider), "sbom.cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		var bom struct {
			Metadata   struct{ Component struct{ Version string } }
			Components []struct{ Name, Version, PURL string }
		}
		if err := json.Unmarshal(text, &bom); err != nil {
			t.Fatal(err)
		}
		has := func(module string) bool {
			for _, c := range bom.Components {
				if c.Name == module && c.Version != "" && strings.HasPrefix(c.PURL, "pkg:golang/") {
					return true
				}
			}
			return false
		}
		if bom.Metadata.Component.Version != version || !has("sigs.k8s.io/controller-runtime") || has(pools) != withPools {
			t.Errorf("%s: version %s, %d modules, address pools among them: %t", provider, bom.Metadata.Component.Version, len(bom.Components), has(pools))
		}
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
