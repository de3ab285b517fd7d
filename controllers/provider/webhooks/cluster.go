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

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
)

// defaultPort is the port of an endpoint that gives only a host.
const defaultPort = 6443

// clusterValidator refuses a list of label prefixes that would not be heeded, and another endpoint
// than the one that is set.
func clusterValidator() validator[*infrav1.Metal3Cluster] {
	return validator[*infrav1.Metal3Cluster]{
		kind: "Metal3Cluster",
		problems: func(c change[*infrav1.Metal3Cluster]) field.ErrorList {
			var problems field.ErrorList
			if !c.created {
				problems = endpointProblems(c.before, c.after)
			}
			prefixes := c.after.Annotations[infrav1.LabelSyncPrefixesAnnotation]
			if !c.created && c.before.Annotations[infrav1.LabelSyncPrefixesAnnotation] == prefixes {
				return problems
			}
			return append(problems, prefixProblems(prefixes, field.NewPath("metadata", "annotations"))...)
		},
	}
}

// endpointProblems keeps an endpoint that is set: Cluster API has taken it over once, into the Cluster, its
// kubeconfigs and its machines, and follows no change. An operator who knows those objects may correct it
// while the Metal3Cluster itself is paused.
func endpointProblems(before, after *infrav1.Metal3Cluster) field.ErrorList {
	was, is := before.Spec.ControlPlaneEndpoint, after.Spec.ControlPlaneEndpoint
	if was == is || was.Host == "" || was.Port == 0 || annotations.HasPaused(before) && annotations.HasPaused(after) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "controlPlaneEndpoint"), fmt.Sprintf("%s:%d", is.Host, is.Port), fmt.Sprintf(
		"cannot be changed from %s:%d, since the Cluster, its kubeconfigs and its machines have that one and would not follow: "+
			"to make a second cluster, give it another name; to put back the endpoint that the Cluster has, pause the Metal3Cluster "+
			"by the annotation cluster.x-k8s.io/paused meanwhile", was.Host, was.Port))}
}

func prefixProblems(prefixes string, path *field.Path) field.ErrorList {
	if _, err := nodes.LabelPrefixes(prefixes); err != nil {
		return field.ErrorList{field.Invalid(path.Key(infrav1.LabelSyncPrefixesAnnotation), prefixes, err.Error())}
	}
	return nil
}

// Cluster defaults Metal3Clusters.
type Cluster struct{}

// Default completes an endpoint that has a host only, and sets explicitly that no cloud
// provider is expected where the field is left out.
func (Cluster) Default(_ context.Context, cluster *infrav1.Metal3Cluster) error {
	defaultCluster(&cluster.Spec)
	return nil
}

func defaultCluster(spec *infrav1.Metal3ClusterSpec) {
	if e := &spec.ControlPlaneEndpoint; e.Host != "" && e.Port == 0 {
		e.Port = defaultPort
	}
	if spec.CloudProviderEnabled == nil {
		spec.CloudProviderEnabled = ptr.To(false)
	}
}
