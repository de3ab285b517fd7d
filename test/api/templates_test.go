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
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// unserved are the groups of which this API server has no CRDs.
var unserved = map[string]bool{"bootstrap.cluster.x-k8s.io": true, "controlplane.cluster.x-k8s.io": true}

// The templates and samples that we ship are taken by a dry run of server-side
// apply that knows every field.
func TestShippedManifests(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"infra", "tenant-a"} {
		err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(repo.Path("templates", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := manifests.Process(text, variables)
			if err != nil {
				t.Fatal(err)
			}
			dryRun(t, objects)
		})
	}
	t.Run("config/samples", func(t *testing.T) {
		objects, err := manifests.Render(repo.Path("config", "samples"), nil)
		if err != nil {
			t.Fatal(err)
		}
		dryRun(t, objects)
	})
}

// variables are what a user must set for the templates.
var variables = manifests.Variables{
	"NAMESPACE": "tenant-a", "CLUSTER_NAME": "blue",
	"CLUSTER_APIENDPOINT_HOST": "192.0.2.10", "KUBERNETES_VERSION": "v1.36.1",
	"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
	"IMAGE_URL": "http://images.example.com/node.qcow2", "IMAGE_CHECKSUM": "http://images.example.com/node.qcow2.sha256",
	"IPPOOL_START": "192.0.2.20", "IPPOOL_END": "192.0.2.40", "IPPOOL_GATEWAY": "192.0.2.1", "DNS_SERVER": "192.0.2.53",
}

func dryRun(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	seen := 0
	for _, object := range objects {
		if unserved[object.GroupVersionKind().Group] {
			continue
		}
		seen++
		// clusterctl and kubectl fill in the namespace in the same way.
		namespaced, err := server.Client.IsObjectNamespaced(object)
		if err != nil {
			t.Fatal(err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(variables["NAMESPACE"])
		}
		if err := apply(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	if seen == 0 {
		t.Error("there is nothing to check")
	}
}
