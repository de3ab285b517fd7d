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

package webhooks

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// clusterAdmission is the validator of Metal3Clusters, and warns of an endpoint that another
// one of the namespace has: the machines of one of them would look for the other cluster.
type clusterAdmission struct {
	validator[*infrav1.Metal3Cluster]

	reader client.Reader
}

// ValidateCreate also warns of an endpoint that is taken.
func (a clusterAdmission) ValidateCreate(ctx context.Context, cluster *infrav1.Metal3Cluster) (admission.Warnings, error) {
	warnings, err := a.validator.ValidateCreate(ctx, cluster)
	return append(warnings, a.taken(ctx, cluster)...), err
}

// ValidateUpdate also warns when the new endpoint is taken.
func (a clusterAdmission) ValidateUpdate(ctx context.Context, before, after *infrav1.Metal3Cluster) (admission.Warnings, error) {
	warnings, err := a.validator.ValidateUpdate(ctx, before, after)
	if before.Spec.ControlPlaneEndpoint != after.Spec.ControlPlaneEndpoint {
		warnings = append(warnings, a.taken(ctx, after)...)
	}
	return warnings, err
}

// taken warns if another cluster of the namespace has the endpoint. It holds nothing up: when the
// others cannot be read, there is no warning.
func (a clusterAdmission) taken(ctx context.Context, cluster *infrav1.Metal3Cluster) admission.Warnings {
	e := cluster.Spec.ControlPlaneEndpoint
	if !e.IsValid() {
		return nil
	}
	var all infrav1.Metal3ClusterList
	if err := a.reader.List(ctx, &all, client.InNamespace(cluster.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot compare the endpoint with those of other Metal3Clusters")
		return nil
	}
	for _, other := range all.Items {
		if other.Name != cluster.Name && other.Spec.ControlPlaneEndpoint == e {
			return admission.Warnings{fmt.Sprintf("spec.controlPlaneEndpoint: Metal3Cluster %s has %s port %d as well: give each cluster one of its own",
				other.Name, e.Host, e.Port)}
		}
	}
	return nil
}
