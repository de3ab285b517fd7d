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

package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	texttemplate "text/template"

	"github.com/google/go-cmp/cmp"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// required are the variables that a template has no default for.
func required() map[string]string {
	return map[string]string{
		"CLUSTER_NAME":                "blue",
		"NAMESPACE":                   "tenant-a",
		"KUBERNETES_VERSION":          "v1.36.1",
		"CONTROL_PLANE_MACHINE_COUNT": "3",
		"WORKER_MACHINE_COUNT":        "2",
		"CLUSTER_APIENDPOINT_HOST":    "127.0.0.1",
		"IMAGE_URL":                   "http://images.example.com/image.qcow2",
		"IMAGE_CHECKSUM":              "0123",
		"IPPOOL_START":                "192.0.2.10",
		"IPPOOL_END":                  "192.0.2.99",
		"IPPOOL_GATEWAY":              "192.0.2.1",
		"DNS_SERVER":                  "192.0.2.2",
		"IPPOOL6_START":               "2001:db8::10",
		"IPPOOL6_END":                 "2001:db8::99",
		"IPPOOL6_GATEWAY":             "2001:db8::1",
		"FAILURE_DOMAIN_1":            "a1",
		"FAILURE_DOMAIN_2":            "a2",
	}
}

// newObject gives an empty object for each apiVersion and kind that a template may hold.
func newObject(apiVersion, kind string) (any, error) {
	switch apiVersion + " " + kind {
	case "cluster.x-k8s.io/v1beta2 Cluster":
		return &clusterv1.Cluster{}, nil
	case "cluster.x-k8s.io/v1beta2 ClusterClass":
		return &clusterv1.ClusterClass{}, nil
	case "controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlaneTemplate":
		return &controlplanev1.KubeadmControlPlaneTemplate{}, nil
	case "infrastructure.cluster.x-k8s.io/v1beta2 Metal3ClusterTemplate":
		return &infrav1.Metal3ClusterTemplate{}, nil
	case "cluster.x-k8s.io/v1beta2 MachineDeployment":
		return &clusterv1.MachineDeployment{}, nil
	case "controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane":
		return &controlplanev1.KubeadmControlPlane{}, nil
	case "bootstrap.cluster.x-k8s.io/v1beta2 KubeadmConfigTemplate":
		return &bootstrapv1.KubeadmConfigTemplate{}, nil
	case "infrastructure.cluster.x-k8s.io/v1beta2 Metal3Cluster":
		return &infrav1.Metal3Cluster{}, nil
	case "infrastructure.cluster.x-k8s.io/v1beta2 Metal3MachineTemplate":
		return &infrav1.Metal3MachineTemplate{}, nil
	case "infrastructure.cluster.x-k8s.io/v1beta2 Metal3DataTemplate":
		return &infrav1.Metal3DataTemplate{}, nil
	case "infrastructure.cluster.x-k8s.io/v1beta2 Metal3RemediationTemplate":
		return &infrav1.Metal3RemediationTemplate{}, nil
	case "cluster.x-k8s.io/v1beta2 MachineHealthCheck":
		return &clusterv1.MachineHealthCheck{}, nil
	case "ipam.metal3.io/v1alpha1 IPPool":
		return &ipamv1alpha1.IPPool{}, nil
	case "ipam.cluster.x-k8s.io/v1alpha2 InClusterIPPool":
		return &unstructured.Unstructured{}, nil
	default:
		return nil, fmt.Errorf("%s %s has no place in a template", apiVersion, kind)
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)(:=([^}]*))?\}`)

// fill puts values, or else defaults, in the place of variables. It understands
// the two forms that the template uses.
func fill(template string, values map[string]string) (text string, missing []string) {
	text = variable.ReplaceAllStringFunc(template, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		if value, ok := values[parts[1]]; ok {
			return value
		}
		if parts[2] == "" {
			missing = append(missing, parts[1])
		}
		return parts[3]
	})
	return text, missing
}

const (
	dhcp     = "cluster-template.yaml"
	topology = "cluster-template-topology.yaml"
	class    = "clusterclass-metal3.yaml"
)

// load fills a template and decodes it strictly. All its objects must be in
// the namespace that clusterctl puts them into; a class leaves it to clusterctl.
func load(t *testing.T, file string, values map[string]string) map[string]any {
	t.Helper()
	template, err := os.ReadFile(file)
	expect.NoError(t, err)
	text, missing := fill(string(template), values)
	expect.Must(t, len(missing) == 0, "variables without value or default: %v", missing)
	objects := map[string]any{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var head struct {
			APIVersion, Kind string
			Metadata         struct{ Name, Namespace string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		object, err := newObject(head.APIVersion, head.Kind)
		expect.NoError(t, err)
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Errorf("%s %s: %v", head.Kind, head.Metadata.Name, err)
		}
		expect.That(t, head.Metadata.Namespace == values["NAMESPACE"], "%s %s is in namespace %q, not in %q", head.Kind, head.Metadata.Name, head.Metadata.Namespace, values["NAMESPACE"])
		objects[head.Kind+"/"+head.Metadata.Name] = object
	}
	return objects
}

func TestTemplatesHoldAWholeCluster(t *testing.T) {
	tests := map[string]struct {
		values map[string]string
		want   []string
	}{
		dhcp: {
			values: required(),
			want: []string{
				"Cluster/blue", "KubeadmConfigTemplate/blue-workers", "KubeadmControlPlane/blue",
				"MachineDeployment/blue", "Metal3Cluster/blue",
				"Metal3DataTemplate/blue-controlplane-template", "Metal3DataTemplate/blue-workers-template",
				"Metal3MachineTemplate/blue-controlplane", "Metal3MachineTemplate/blue-workers",
			},
		},
		topology: {
			values: required(),
			want: []string{
				"Cluster/blue",
				"Metal3DataTemplate/blue-controlplane-template", "Metal3DataTemplate/blue-workers-template",
			},
		},
		class: {
			want: []string{
				"ClusterClass/metal3", "KubeadmConfigTemplate/metal3-workers", "KubeadmControlPlaneTemplate/metal3-controlplane",
				"Metal3ClusterTemplate/metal3", "Metal3MachineTemplate/metal3-controlplane", "Metal3MachineTemplate/metal3-workers",
			},
		},
	}
	for file, test := range tests {
		t.Run(file, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(load(t, file, test.values)))
			expect.Equal(t, test.want, got)
		})
	}
}

// TestTopologySuitsTheClass checks that the cluster names the class and sets exactly
// those of its variables that must be set.
func TestTopologySuitsTheClass(t *testing.T) {
	cluster := load(t, topology, required())["Cluster/blue"].(*clusterv1.Cluster).Spec.Topology
	clusterClass := load(t, class, nil)["ClusterClass/"+cluster.ClassRef.Name].(*clusterv1.ClusterClass)

	var needed, set []string
	for _, v := range clusterClass.Spec.Variables {
		if ptr.Deref(v.Required, false) {
			needed = append(needed, v.Name)
		}
	}
	for _, v := range cluster.Variables {
		set = append(set, v.Name)
	}
	expect.Equal(t, needed, set) // variables that the class needs and that the cluster sets
	for _, workers := range cluster.Workers.MachineDeployments {
		if !slices.ContainsFunc(clusterClass.Spec.Workers.MachineDeployments, func(c clusterv1.MachineDeploymentClass) bool {
			return c.Class == workers.Class
		}) {
			t.Errorf("the class has no workers of class %q", workers.Class)
		}
	}
}

// classWith loads the class with everything in its file.
func classWith(t *testing.T) (clusterv1.ClusterClassSpec, map[string]any) {
	t.Helper()
	objects := load(t, class, nil)
	return objects["ClusterClass/metal3"].(*clusterv1.ClusterClass).Spec, objects
}

func TestReferencesOfTheClassMeet(t *testing.T) {
	spec, objects := classWith(t)
	references := []clusterv1.ClusterClassTemplateReference{
		spec.Infrastructure.TemplateRef, spec.ControlPlane.TemplateRef, spec.ControlPlane.MachineInfrastructure.TemplateRef,
	}
	for _, c := range spec.Workers.MachineDeployments {
		references = append(references, c.Bootstrap.TemplateRef, c.Infrastructure.TemplateRef)
	}
	for _, ref := range references {
		expect.That(t, objects[ref.Kind+"/"+ref.Name] != nil, "no %s %s in the file of the class", ref.Kind, ref.Name)
	}
}

// TestEachVariableOfTheClassHasAnEffect compares the variables with what patches take.
func TestEachVariableOfTheClassHasAnEffect(t *testing.T) {
	spec, _ := classWith(t)
	known, taken := map[string]bool{}, map[string]bool{}
	for _, v := range spec.Variables {
		known[v.Name] = true
	}
	inTemplate := regexp.MustCompile(`{{ \.(\w+)[. |}]`)
	for _, patch := range spec.Patches {
		for _, d := range patch.Definitions {
			for _, json := range d.JSONPatches {
				if json.ValueFrom == nil {
					continue
				}
				if json.ValueFrom.Variable != "" {
					taken[json.ValueFrom.Variable] = true
				}
				for _, match := range inTemplate.FindAllStringSubmatch(json.ValueFrom.Template, -1) {
					taken[match[1]] = true
				}
			}
		}
	}
	expect.Equal(t, known, taken) // variables of the class and those that patches take
}

// The image of a group is that of the version which the group is to have now. What Cluster API
// makes of the patches is in test/e2e; its functions replace and toJson are played here.
func TestImageFollowsTheVersionOfTheGroup(t *testing.T) {
	functions := texttemplate.FuncMap{
		"toJson": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"replace": func(old, with, text string) string { return strings.ReplaceAll(text, old, with) },
	}
	values := map[string]any{
		"image": map[string]any{"url": "http://i/node-{version}.raw", "checksum": "http://i/{version}.sum", "diskFormat": "raw"},
	}
	image := func(version string) infrav1.Image {
		return infrav1.Image{URL: "http://i/node-" + version + ".raw", Checksum: ptr.To("http://i/" + version + ".sum"), DiskFormat: "raw"}
	}
	spec, _ := classWith(t)
	at := slices.IndexFunc(spec.Patches, func(p clusterv1.ClusterClassPatch) bool { return p.Name == "image" })
	got := map[string]infrav1.Image{}
	for _, d := range spec.Patches[at].Definitions {
		group, version := "workers", "v1.35.6"
		values["builtin"] = map[string]any{"machineDeployment": map[string]any{"version": version}}
		if ptr.Deref(d.Selector.MatchResources.ControlPlane, false) {
			group, version = "control plane", "v1.36.1"
			values["builtin"] = map[string]any{"controlPlane": map[string]any{"version": version}}
		}
		parsed, err := texttemplate.New("image").Funcs(functions).Parse(d.JSONPatches[0].ValueFrom.Template)
		expect.NoError(t, err)
		var text strings.Builder
		expect.NoError(t, parsed.Execute(&text, values))
		var rendered infrav1.Image
		expect.NoError(t, yaml.UnmarshalStrict([]byte(text.String()), &rendered))
		got[group] = rendered
	}
	expect.Equal(t, map[string]infrav1.Image{"control plane": image("v1.36.1"), "workers": image("v1.35.6")}, got)
}

func TestTemplateReferencesMeet(t *testing.T) {
	for _, file := range flavors(t) {
		t.Run(file, func(t *testing.T) { checkReferences(t, load(t, file, required())) })
	}
}

// flavors are the templates that make a cluster without a class.
func flavors(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("cluster-template*.yaml")
	expect.NoError(t, err)
	return slices.DeleteFunc(files, func(file string) bool { return file == topology })
}

// checkReferences expects in a template whatever its objects refer to.
func checkReferences(t *testing.T, objects map[string]any) {
	t.Helper()
	cluster := objects["Cluster/blue"].(*clusterv1.Cluster)
	controlPlane := objects["KubeadmControlPlane/blue"].(*controlplanev1.KubeadmControlPlane)
	workers := objects["MachineDeployment/blue"].(*clusterv1.MachineDeployment)
	for _, ref := range []clusterv1.ContractVersionedObjectReference{
		cluster.Spec.InfrastructureRef,
		cluster.Spec.ControlPlaneRef,
		controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef,
		workers.Spec.Template.Spec.InfrastructureRef,
		workers.Spec.Template.Spec.Bootstrap.ConfigRef,
	} {
		expect.That(t, objects[ref.Kind+"/"+ref.Name] != nil, "no %s %s of %s in the template", ref.Kind, ref.Name, ref.APIGroup)
	}
	for _, name := range []string{"blue-controlplane", "blue-workers"} {
		machine := objects["Metal3MachineTemplate/"+name].(*infrav1.Metal3MachineTemplate).Spec.Template.Spec
		data, ok := objects["Metal3DataTemplate/"+machine.DataTemplate.Name].(*infrav1.Metal3DataTemplate)
		expect.Must(t, ok, "no Metal3DataTemplate %s in the template", machine.DataTemplate.Name)
		if data.Spec.NetworkData == nil {
			continue
		}
		var pools []*infrav1.IPPoolReference
		for _, network := range data.Spec.NetworkData.Networks.IPv4 {
			pools = append(pools, network.FromPoolRef)
		}
		for _, network := range data.Spec.NetworkData.Networks.IPv6 {
			pools = append(pools, network.FromPoolRef)
		}
		for _, pool := range pools {
			expect.That(t, objects[pool.Kind+"/"+pool.Name] != nil, "no %s %s in the template", pool.Kind, pool.Name)
		}
	}
}

// CAPM3's quick start sets these, and what differs between clusters as a flag.
func TestVariablesOfCAPM3AreEnough(t *testing.T) {
	objects := load(t, dhcp, map[string]string{
		"CLUSTER_NAME":                  "blue",
		"NAMESPACE":                     "tenant-a",
		"CONTROL_PLANE_MACHINE_COUNT":   "1",
		"WORKER_MACHINE_COUNT":          "1",
		"IMAGE_URL":                     "http://images.example.com/node.raw",
		"IMAGE_CHECKSUM":                "http://images.example.com/node.raw.sha256sum",
		"IMAGE_CHECKSUM_TYPE":           "sha256",
		"IMAGE_FORMAT":                  "raw",
		"KUBERNETES_VERSION":            "v1.36.1",
		"POD_CIDR":                      `["192.0.2.0/24"]`,
		"CTLPLANE_KUBEADM_EXTRA_CONFIG": "\n    preKubeadmCommands:\n    - systemctl enable --now crio",
		"WORKERS_KUBEADM_EXTRA_CONFIG":  "\n      preKubeadmCommands:\n      - systemctl enable --now crio",
		"CLUSTER_APIENDPOINT_HOST":      "192.0.2.101",
		"CLUSTER_APIENDPOINT_PORT":      "6443",
		"NODE_DRAIN_TIMEOUT":            "30",
	})
	workers := objects["MachineDeployment/blue"].(*clusterv1.MachineDeployment)
	expect.Equal(t, 30, ptr.Deref(workers.Spec.Template.Spec.Deletion.NodeDrainTimeoutSeconds, 0))
}

// A selector and an identity are variables of each flavor.
func TestServersAreChosenByVariables(t *testing.T) {
	values := required()
	values["CONTROL_PLANE_HOST_SELECTOR"] = "hostSelector: {matchLabels: {size: small}}"
	values["WORKER_HOST_SELECTOR"] = "hostSelector: {matchLabels: {size: large}}"
	values["IDENTITY_REF"] = "identityRef: {name: hosts, context: infra}"
	identity := &infrav1.IdentityReference{Name: "hosts", Context: "infra"}
	for _, file := range flavors(t) {
		objects := load(t, file, values)
		got := []any{objects["Metal3Cluster/blue"].(*infrav1.Metal3Cluster).Spec.IdentityRef}
		for _, name := range []string{"blue-controlplane", "blue-workers"} {
			machine := objects["Metal3MachineTemplate/"+name].(*infrav1.Metal3MachineTemplate).Spec.Template.Spec
			got = append(got, machine.IdentityRef, machine.HostSelector.MatchLabels["size"])
		}
		if diff := cmp.Diff([]any{identity, identity, "small", identity, "large"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestFailureDomainsAreVariables(t *testing.T) {
	values := required()
	values["FAILURE_DOMAINS"] = "failureDomains: [{name: a1, controlPlane: true}, {name: a2}]"
	values["WORKER_FAILURE_DOMAIN"] = "failureDomain: a2"
	for file, want := range map[string][]string{
		dhcp:                                    {"MachineDeployment/blue a2"},
		"cluster-template-failure-domains.yaml": {"MachineDeployment/blue a1", "MachineDeployment/blue-1 a2"},
	} {
		objects := load(t, file, values)
		var names, got []string
		for _, domain := range objects["Metal3Cluster/blue"].(*infrav1.Metal3Cluster).Spec.FailureDomains {
			names = append(names, domain.Name)
		}
		for name, object := range objects {
			if workers, found := object.(*clusterv1.MachineDeployment); found {
				got = append(got, name+" "+workers.Spec.Template.Spec.FailureDomain)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff([][]string{{"a1", "a2"}, want}, [][]string{names, got}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestTemplateTakesExtraKubeadmConfiguration(t *testing.T) {
	values := required()
	values["CTLPLANE_KUBEADM_EXTRA_CONFIG"] = "\n    preKubeadmCommands:\n    - control plane"
	values["WORKERS_KUBEADM_EXTRA_CONFIG"] = "\n      preKubeadmCommands:\n      - workers"
	objects := load(t, dhcp, values)

	controlPlane := objects["KubeadmControlPlane/blue"].(*controlplanev1.KubeadmControlPlane)
	expect.Equal(t, []string{"control plane"}, controlPlane.Spec.KubeadmConfigSpec.PreKubeadmCommands)
	workers := objects["KubeadmConfigTemplate/blue-workers"].(*bootstrapv1.KubeadmConfigTemplate)
	expect.Equal(t, []string{"workers"}, workers.Spec.Template.Spec.PreKubeadmCommands)
}

// TestTemplateNamesNodesByMetadata holds the agreement between kubeadm
// configuration and data template: what the one reads the other must render.
func TestTemplateNamesNodesByMetadata(t *testing.T) {
	objects := load(t, dhcp, required())
	controlPlane := objects["KubeadmControlPlane/blue"].(*controlplanev1.KubeadmControlPlane).Spec.KubeadmConfigSpec
	workers := objects["KubeadmConfigTemplate/blue-workers"].(*bootstrapv1.KubeadmConfigTemplate).Spec.Template.Spec
	classObjects := load(t, class, nil)
	classControlPlane := classObjects["KubeadmControlPlaneTemplate/metal3-controlplane"].(*controlplanev1.KubeadmControlPlaneTemplate).Spec.Template.Spec.KubeadmConfigSpec
	classWorkers := classObjects["KubeadmConfigTemplate/metal3-workers"].(*bootstrapv1.KubeadmConfigTemplate).Spec.Template.Spec

	providerID, label := "metal3://{{ ds.meta_data.providerid }}", "metal3.io/uuid={{ ds.meta_data.uuid }}"
	want := bootstrapv1.NodeRegistrationOptions{
		Name:             "{{ ds.meta_data.local_hostname }}",
		KubeletExtraArgs: []bootstrapv1.Arg{{Name: "node-labels", Value: &label}, {Name: "provider-id", Value: &providerID}},
	}
	for name, got := range map[string]bootstrapv1.NodeRegistrationOptions{
		"first control-plane machine": controlPlane.InitConfiguration.NodeRegistration,
		"further ones":                controlPlane.JoinConfiguration.NodeRegistration,
		"workers":                     workers.JoinConfiguration.NodeRegistration,
		"first control-plane machine of the class": classControlPlane.InitConfiguration.NodeRegistration,
		"further ones of the class":                classControlPlane.JoinConfiguration.NodeRegistration,
		"workers of the class":                     classWorkers.JoinConfiguration.NodeRegistration,
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, want, got) })
	}
	for _, name := range []string{"controlplane", "workers"} {
		data := objects["Metal3DataTemplate/blue-"+name+"-template"].(*infrav1.Metal3DataTemplate)
		keys := map[string]infrav1.DataObject{}
		for _, entry := range data.Spec.MetaData.ObjectNames {
			keys[entry.Key] = entry.Object
		}
		expect.That(t, keys["local_hostname"] == infrav1.DataObjectMachine, "the data template of the %s does not set local_hostname after the machine", name)
	}
}
