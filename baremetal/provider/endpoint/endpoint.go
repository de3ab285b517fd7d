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

package endpoint

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// DefaultPort is the port of an endpoint that gives only a host.
const DefaultPort = 6443

// Observed is where an endpoint may come from.
type Observed struct {
	// Infrastructure is spec.controlPlaneEndpoint of the Metal3Cluster.
	Infrastructure infrav1.APIEndpoint
	// Cluster is spec.controlPlaneEndpoint of the Cluster, which a control
	// plane provider may have set.
	Cluster clusterv1.APIEndpoint
}

// Plan is what is known about the endpoint.
type Plan struct {
	// Known says whether the endpoint is complete.
	Known bool
	// Message says where the endpoint comes from, or what is missing.
	Message string
}

// Next decides whether the endpoint is known.
func Next(o Observed) Plan {
	switch {
	case o.Infrastructure.IsValid():
		return Plan{Known: true, Message: "The control plane endpoint is given by the Metal3Cluster"}
	case o.Cluster.IsValid():
		return Plan{Known: true, Message: "The control plane endpoint is given by the Cluster"}
	case o.Infrastructure.Host != "":
		return Plan{Message: "spec.controlPlaneEndpoint.port is missing: set it"}
	case o.Infrastructure.Port != 0:
		return Plan{Message: fmt.Sprintf(
			"spec.controlPlaneEndpoint.host is missing, only port %d is given: set it, or let the control plane provider set the endpoint of the Cluster",
			o.Infrastructure.Port)}
	default:
		return Plan{Message: "No control plane endpoint yet: set spec.controlPlaneEndpoint, or let the control plane provider set the endpoint of the Cluster"}
	}
}
