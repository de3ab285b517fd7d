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
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

func TestNoTwoCardsShareAnAddress(t *testing.T) {
	pool := Pool{Namespace: "infra", Servers: 8}
	seen := map[string]string{}
	for number := 1; number <= pool.Servers; number++ {
		facts := pool.hardware(number)
		if facts.Name != pool.host(number).Name {
			t.Errorf("the facts of %s are named %s", pool.host(number).Name, facts.Name)
		}
		for _, nic := range facts.Spec.HardwareDetails.NIC {
			for _, address := range []string{nic.MAC, nic.IP} {
				if other := seen[address]; other != "" {
					t.Errorf("%s is on %s and on %s", address, other, facts.Name)
				}
				seen[address] = facts.Name
			}
		}
		if boot := pool.host(number).Spec.BootMACAddress; seen[boot] != facts.Name {
			t.Errorf("%s boots from %s, which is none of its cards", facts.Name, boot)
		}
	}
}

// Applying config/samples on the dev cluster leaves the account of its tenant the rights that
// clusterctl needs: the binding of the samples, which has another subject, is another one.
func TestSamplesLeaveTheTenantItsRights(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := manifests.Render(repo.Path("config", "samples"), nil)
	if err != nil {
		t.Fatal(err)
	}
	binding := clusterctlUser(account("tenant-a", tenantAccount))
	for _, object := range samples {
		if object.GetKind() == "ClusterRoleBinding" && object.GetName() == binding.Name {
			t.Errorf("config/samples has a ClusterRoleBinding %s too", binding.Name)
		}
	}
}

// docs/claims-by-hand.md asks for a server of rack a1, and the demo leaves the ones
// after the eighth.
func TestAServerOfRackA1IsLeft(t *testing.T) {
	pool := Pool{Namespace: "infra"}
	if rack := pool.host(9).Labels["rack"]; rack != "a1" {
		t.Errorf("server-9 is in rack %s", rack)
	}
}

func TestTheTemplateGetsEveryVariable(t *testing.T) {
	objects := generated(t, Cluster{Name: "a", ControlPlanes: 3, Workers: 2})
	kinds := map[string]int{}
	for _, object := range objects {
		kinds[object.GetKind()]++
		if object.GetNamespace() != "tenant-a" {
			t.Errorf("%s %s is in namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
	for _, kind := range []string{"Cluster", "Metal3Cluster", "KubeadmControlPlane", "MachineDeployment", "IPPool"} {
		if kinds[kind] != 1 {
			t.Errorf("%d objects of kind %s instead of one", kinds[kind], kind)
		}
	}
}

func TestAnIdentityIsThatOfTheMetal3Cluster(t *testing.T) {
	for identity, want := range map[string]any{"": nil, "hosts": map[string]any{"name": "hosts"}} {
		for _, object := range generated(t, Cluster{Name: "a", Identity: identity}) {
			if object.GetKind() == "Metal3Cluster" {
				if diff := cmp.Diff(want, object.Object["spec"].(map[string]any)["identityRef"]); diff != "" {
					t.Errorf("identity %q (-want +got):\n%s", identity, diff)
				}
			}
		}
	}
}

// generated are the objects of a cluster of tenant a.
func generated(t *testing.T, c Cluster) []*unstructured.Unstructured {
	t.Helper()
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(repo.Path("templates", "cluster-template-ipam.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Process(template, c.Variables("tenant-a"))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTheClassAndItsClustersGetEveryVariable(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for file, variables := range map[string]manifests.Variables{
		"clusterclass-metal3.yaml":       nil,
		"cluster-template-topology.yaml": Cluster{Name: "a", ControlPlanes: 1, Workers: 1}.Variables("tenant-a"),
	} {
		template, err := os.ReadFile(repo.Path("templates", file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := manifests.Process(template, variables); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
