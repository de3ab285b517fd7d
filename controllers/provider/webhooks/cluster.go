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

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/endpoint"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/nodelabels"
)

// clusterValidator refuses a list of label prefixes that would not be heeded.
func clusterValidator() validator[*infrav1.Metal3Cluster] {
	return validator[*infrav1.Metal3Cluster]{
		kind: "Metal3Cluster",
		problems: func(c change[*infrav1.Metal3Cluster]) field.ErrorList {
			prefixes := c.after.Annotations[infrav1.LabelSyncPrefixesAnnotation]
			if !c.created && c.before.Annotations[infrav1.LabelSyncPrefixesAnnotation] == prefixes {
				return nil
			}
			return prefixProblems(prefixes, field.NewPath("metadata", "annotations"))
		},
	}
}

func prefixProblems(prefixes string, annotations *field.Path) field.ErrorList {
	if _, err := nodelabels.Prefixes(prefixes); err != nil {
		return field.ErrorList{field.Invalid(annotations.Key(infrav1.LabelSyncPrefixesAnnotation), prefixes, err.Error())}
	}
	return nil
}

// Cluster defaults Metal3Clusters.
type Cluster struct{}

// Default completes an endpoint that has a host only, and says explicitly that
// no cloud provider is expected where nothing is said about it.
func (Cluster) Default(_ context.Context, cluster *infrav1.Metal3Cluster) error {
	defaultCluster(&cluster.Spec)
	return nil
}

func defaultCluster(spec *infrav1.Metal3ClusterSpec) {
	if e := &spec.ControlPlaneEndpoint; e.Host != "" && e.Port == 0 {
		e.Port = endpoint.DefaultPort
	}
	if spec.CloudProviderEnabled == nil {
		spec.CloudProviderEnabled = ptr.To(false)
	}
}
