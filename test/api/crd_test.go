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

package api_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shape is what clusterctl, kubectl and Cluster API look at in a CRD.
type shape struct {
	Labels     map[string]string
	Versions   []string
	Scope      apiextensionsv1.ResourceScope
	Plural     string
	ShortNames []string
	Categories []string
	HasStatus  bool
}

func TestCRDs(t *testing.T) {
	provider := map[string]string{
		"cluster.x-k8s.io/provider": "infrastructure-metal3", "cluster.x-k8s.io/v1beta2": "v1beta2",
		"clusterctl.cluster.x-k8s.io": "",
	}
	moved := maps.Clone(provider)
	moved["clusterctl.cluster.x-k8s.io/move"] = ""
	ours := func(plural string, hasStatus bool, labels map[string]string, shortNames ...string) shape {
		return shape{
			Labels: labels, Versions: []string{"v1beta2"}, Scope: apiextensionsv1.NamespaceScoped,
			Plural: plural, ShortNames: shortNames, Categories: []string{"cluster-api"}, HasStatus: hasStatus,
		}
	}
	theirs := func(plural string, labels map[string]string) shape {
		return shape{
			Labels: labels, Versions: []string{"v1alpha1"}, Scope: apiextensionsv1.NamespaceScoped, Plural: plural, HasStatus: true,
		}
	}
	want := map[string]shape{
		"Metal3Cluster":             ours("metal3clusters", true, provider, "m3c", "m3cluster", "m3clusters", "metal3c", "metal3cluster"),
		"Metal3ClusterTemplate":     ours("metal3clustertemplates", false, provider, "m3ct"),
		"Metal3Machine":             ours("metal3machines", true, provider, "m3m", "m3machine", "m3machines", "metal3m", "metal3machine"),
		"Metal3MachineTemplate":     ours("metal3machinetemplates", true, provider, "m3mt", "m3machinetemplate", "m3machinetemplates", "metal3mt", "metal3machinetemplate"),
		"Metal3DataTemplate":        ours("metal3datatemplates", true, moved, "m3dt", "m3datatemplate", "m3datatemplates", "metal3dt", "metal3datatemplate"),
		"Metal3DataClaim":           ours("metal3dataclaims", true, provider, "m3dc", "m3dataclaim", "m3dataclaims", "metal3dc", "metal3dataclaim"),
		"Metal3Data":                ours("metal3datas", true, provider, "m3d", "m3data", "m3datas", "metal3d", "metal3data"),
		"Metal3Remediation":         ours("metal3remediations", true, provider, "m3r", "m3remediation"),
		"Metal3RemediationTemplate": ours("metal3remediationtemplates", true, provider, "m3rt", "m3remediationtemplate", "m3remediationtemplates", "metal3rt", "metal3remediationtemplate"),
		"HostClaim":                 theirs("hostclaims", map[string]string{"clusterctl.cluster.x-k8s.io": ""}),
		"HostDeployPolicy":          theirs("hostdeploypolicies", nil),
	}
	got := map[string]shape{}
	for kind, crd := range crds {
		seen := shape{
			Labels: crd.Labels, Scope: crd.Spec.Scope, Plural: crd.Spec.Names.Plural,
			ShortNames: crd.Spec.Names.ShortNames, Categories: crd.Spec.Names.Categories,
		}
		for _, version := range crd.Spec.Versions {
			seen.Versions = append(seen.Versions, version.Name)
			seen.HasStatus = version.Subresources != nil && version.Subresources.Status != nil
			if !version.Served || !version.Storage || version.Deprecated {
				t.Errorf("%s %s is not served and stored", kind, version.Name)
			}
		}
		got[kind] = seen
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// clusterctl derives the name of a CRD from its kind; the plural of Metal3Data
// is another, and only this annotation makes clusterctl take it.
func TestIrregularPlural(t *testing.T) {
	for kind, crd := range crds {
		_, found := crd.Annotations["clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"]
		if found != (kind == "Metal3Data") {
			t.Errorf("%s: the check of the name is skipped: %t", kind, found)
		}
	}
}

// Objects stay the same whichever project installs its CRDs last, baremetal-operator or this one.
func TestSchemasOfUpstream(t *testing.T) {
	for kind, theirs := range upstream {
		t.Run(kind, func(t *testing.T) {
			ours, found := crds[kind]
			if !found {
				t.Fatalf("config/hostclaim/crd has no %s", kind)
			}
			spec := *ours.Spec.DeepCopy()
			for i := range spec.Versions {
				spec.Versions[i].AdditionalPrinterColumns = nil
			}
			if diff := cmp.Diff(theirs.Spec, spec); diff != "" {
				t.Errorf("(-baremetal-operator +ours):\n%s", diff)
			}
		})
	}
	if len(upstream) != 2 {
		t.Errorf("baremetal-operator ships %d CRDs, want 2", len(upstream))
	}
}

// The server holds our form of the two kinds, although baremetal-operator's was
// installed before.
func TestOurCRDsGoOverThoseOfUpstream(t *testing.T) {
	for kind := range upstream {
		t.Run(kind, func(t *testing.T) {
			installed, want := apiextensionsv1.CustomResourceDefinition{}, crds[kind]
			if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(&want), &installed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Labels, installed.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Spec.Versions, installed.Spec.Versions); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}
