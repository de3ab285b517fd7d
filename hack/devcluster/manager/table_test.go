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

package manager

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":    {"none", nil},
		"everything": {"all", Components(All())},
		"hosts too":  {"simulated", Components(All())},
		"a newer operator": {
			"all-bmo-0.14", slices.Insert(Components(All()), 1+slices.Index(Components(All()), components.BareMetalOperator), components.BMOWebhooks),
		},
		"some by name": {"hostsim,capi-core", []string{components.HostSim, components.ClusterAPI}},
		"all and a further one": {
			"all,capi-ipam-in-cluster", append(Components(All()), components.InClusterIPAM),
		},
		"a set and more": {"third-party,hostsim", append(Components(ThirdParty()), components.HostSim)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, append([]string(nil), Components(found)...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Parse("capi"); err == nil || !strings.Contains(err.Error(), components.ClusterAPI) {
		t.Errorf("the error for an unknown name must list the known ones: %v", err)
	}
}

func TestEveryManagerGetsItsOwnPlace(t *testing.T) {
	place := Place{Namespace: "sys", Kubeconfig: "/k", Dir: "/d", CertDir: "/d/c", Health: 1, Webhook: 2, Metrics: 3}
	for _, m := range All() {
		args := m.Args(place)
		for _, want := range []string{"--kubeconfig=/k", "--health-addr=127.0.0.1:1"} {
			if !slices.Contains(args, want) {
				t.Errorf("%s is started without %s", m.Component, want)
			}
		}
	}
}

// The demo shows what users install: with leader election, without a right to
// the secrets of every namespace.
func TestOurManagersRunAsInLife(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Own() {
		args := strings.Join(m.Args(Place{Namespace: "sys"}), " ")
		if strings.Contains(args, "--leader-elect=false") || !strings.Contains(args, "--leader-election-namespace=sys") {
			t.Errorf("%s does not elect a leader: %s", m.Component, args)
		}
		if !strings.HasSuffix(m.Kustomization, "hardened") {
			t.Errorf("%s is installed from %s", m.Component, m.Kustomization)
		}
		if _, err := os.Stat(repo.Path(m.Kustomization, "kustomization.yaml")); err != nil {
			t.Error(err)
		}
	}
}

// Updates in place are the hardened install with what the documentation adds, and with the gates of
// Cluster API.
func TestInPlaceUpdatesAreInstalledAsDocumented(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range WithInPlaceUpdates(All()) {
		switch m.Component {
		case components.ClusterAPI, components.KubeadmControlPlane:
			if m.Variables["EXP_IN_PLACE_UPDATES"] != "true" || m.Variables["CLUSTER_TOPOLOGY"] != "true" {
				t.Errorf("%s has the variables %v", m.Component, m.Variables)
			}
		case components.ProviderManager:
			if args := m.Args(Place{Extension: 7}); !slices.Contains(args, "--runtime-extension-port=7") {
				t.Errorf("%s has the arguments %v", m.Component, args)
			}
			objects, err := manifests.Render(repo.Path(m.Kustomization), m.Variables)
			if err != nil {
				t.Fatal(err)
			}
			extensions, rest := manifests.Extensions(objects)
			want := map[string]any{"matchLabels": map[string]any{InPlaceUpdatesLabel: "true"}}
			if len(extensions) != 1 {
				t.Fatalf("there are %d extensions", len(extensions))
			}
			if got, _, err := unstructured.NestedMap(extensions[0].Object, "spec", "namespaceSelector"); err != nil || !cmp.Equal(want, got) {
				t.Errorf("the extension is for namespaces with %v: %v", got, err)
			}
			for _, object := range rest {
				if object.GetKind() == "ClusterRoleBinding" && object.GetName() == "capm3-in-place-updates" {
					t.Error("the rights for updates in place are given in all namespaces")
				}
			}
		}
	}
}

// A cluster of tenants must not have what would make it one with hosts.
func TestEachManagerRunsOnOneSide(t *testing.T) {
	sides := map[string]string{}
	for _, m := range BesideHosts() {
		sides[m.Component] = "hosts"
	}
	for _, m := range BesideTenants() {
		if sides[m.Component] != "" {
			t.Errorf("%s runs on both sides", m.Component)
		}
		sides[m.Component] = "tenants"
	}
	want := map[string]string{
		components.BareMetalOperator: "hosts", components.HostClaimManager: "hosts", components.HostSim: "hosts",
		components.ClusterAPI: "tenants", components.KubeadmBootstrap: "tenants", components.KubeadmControlPlane: "tenants",
		components.IPAddressManager: "tenants", components.ProviderManager: "tenants",
	}
	if diff := cmp.Diff(want, sides); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A comparison runs the other provider with its own flags over those of the place, and
// builds nothing in its stead.
func TestOtherProvider(t *testing.T) {
	m := Other([]string{"/opt/capm3", "--v=2"}, "/src/capm3/config/default")
	args := m.Args(Place{Kubeconfig: "/k"})
	if args[0] != "--kubeconfig=/k" || args[len(args)-1] != "--v=2" {
		t.Errorf("the arguments are %v", args)
	}
	if built := Components(append(ThirdParty(), m)); slices.Contains(built, OtherProvider) {
		t.Errorf("%v are built", built)
	}
	source, err := m.source(t.Context(), components.Repo{})
	if err != nil || source != "" {
		t.Errorf("its manifests are looked for in %q: %v", source, err)
	}
	if binary, err := m.binary(components.Repo{}); err != nil || binary != "/opt/capm3" {
		t.Errorf("its program is %q: %v", binary, err)
	}
}
