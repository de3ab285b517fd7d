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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// BringClass puts our ClusterClass and its templates into the tenant's namespace, with
// the tenant's rights. Each change is made to every object of it before.
func BringClass(
	ctx context.Context, repo components.Repo, tenant *Tenant, changes ...func(*unstructured.Unstructured),
) error {
	file, err := os.ReadFile(repo.Path("templates", "clusterclass-metal3.yaml"))
	if err != nil {
		return err
	}
	// What has no variables of clusterctl needs no values for them.
	objects, err := manifests.Process(file, nil)
	if err != nil {
		return fmt.Errorf("ClusterClass: %w", err)
	}
	for _, object := range objects {
		object.SetNamespace(tenant.Namespace)
		for _, change := range changes {
			change(object)
		}
	}
	if err := manifests.Apply(ctx, tenant.Client, objects); err != nil {
		return fmt.Errorf("create the ClusterClass as %s: %w", tenant.Namespace, err)
	}
	return nil
}

// CreateOfClass makes the cluster from our cluster template for the class, with the
// tenant's rights. Each change is made to every object of it before.
func (c Cluster) CreateOfClass(
	ctx context.Context, repo components.Repo, tenant *Tenant, changes ...func(*unstructured.Unstructured),
) error {
	if c.Identity != "" {
		changes = append(changes, c.identifies)
	}
	return c.create(ctx, repo, tenant, "cluster-template-topology.yaml", changes...)
}

// identifies has a cluster of the class find its servers by an identityRef.
func (c Cluster) identifies(object *unstructured.Unstructured) {
	if object.GetKind() != "Cluster" {
		return
	}
	path := []string{"spec", "topology", "variables"}
	variables, _, _ := unstructured.NestedSlice(object.Object, path...) // of our own template
	identity := map[string]any{"name": "identityRef", "value": map[string]any{"name": c.Identity}}
	_ = unstructured.SetNestedSlice(object.Object, append(variables, identity), path...)
}
