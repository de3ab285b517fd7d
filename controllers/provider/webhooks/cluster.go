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
	"iter"
	"maps"
	"reflect"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// defaultPort is the port of an endpoint that gives only a host.
const defaultPort = 6443

// Cluster defaults Metal3Clusters.
type Cluster struct{}

// Default completes an endpoint that has a host only, and sets explicitly that no cloud
// provider is expected where the field is left out.
func (Cluster) Default(_ context.Context, cluster *infrav1.Metal3Cluster) error {
	if e := &cluster.Spec.ControlPlaneEndpoint; e.Host != "" && e.Port == 0 {
		e.Port = defaultPort
	}
	if cluster.Spec.CloudProviderEnabled == nil {
		cluster.Spec.CloudProviderEnabled = ptr.To(false)
	}
	return nil
}

// clusterValidator refuses a list of label prefixes that would not be heeded, and another endpoint
// than the one that is set. It warns of an endpoint that another cluster of the namespace has: the
// machines of one of them would look for the other cluster.
func clusterValidator(reader client.Reader) validator[*infrav1.Metal3Cluster] {
	return validator[*infrav1.Metal3Cluster]{
		empty: &infrav1.Metal3Cluster{},
		problems: func(c change[*infrav1.Metal3Cluster]) field.ErrorList {
			return append(endpointProblems(c.before, c.after),
				prefixProblems(c.before.Annotations, c.after.Annotations, field.NewPath("metadata", "annotations"))...)
		},
		warnings: func(ctx context.Context, c change[*infrav1.Metal3Cluster]) []string {
			if e := c.after.Spec.ControlPlaneEndpoint; !e.IsValid() || e == c.before.Spec.ControlPlaneEndpoint {
				return nil
			}
			return taken(ctx, reader, c.after)
		},
	}
}

// clusterTemplateValidator refuses templates whose clusters would be refused.
func clusterTemplateValidator() validator[*infrav1.Metal3ClusterTemplate] {
	return validator[*infrav1.Metal3ClusterTemplate]{
		empty: &infrav1.Metal3ClusterTemplate{},
		problems: func(c change[*infrav1.Metal3ClusterTemplate]) field.ErrorList {
			before, after, path := c.before.Spec.Template.ObjectMeta, c.after.Spec.Template.ObjectMeta, field.NewPath("spec", "template", "metadata")
			return append(metadataProblems(before, after, path), prefixProblems(before.Annotations, after.Annotations, path.Child("annotations"))...)
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

// taken warns if another cluster of the namespace has the endpoint. It holds nothing up: when the
// others cannot be read, there is no warning.
func taken(ctx context.Context, reader client.Reader, cluster *infrav1.Metal3Cluster) []string {
	var all infrav1.Metal3ClusterList
	if err := reader.List(ctx, &all, client.InNamespace(cluster.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot compare the endpoint with those of other Metal3Clusters")
		return nil
	}
	e := cluster.Spec.ControlPlaneEndpoint
	for _, other := range all.Items {
		if other.Name != cluster.Name && other.Spec.ControlPlaneEndpoint == e {
			return []string{fmt.Sprintf("spec.controlPlaneEndpoint: Metal3Cluster %s has %s port %d as well: give each cluster one of its own",
				other.Name, e.Host, e.Port)}
		}
	}
	return nil
}

// prefixProblems finds what is wrong with the prefixes of labels among annotations.
func prefixProblems(before, after map[string]string, path *field.Path) field.ErrorList {
	const key = infrav1.LabelSyncPrefixesAnnotation
	if before[key] == after[key] {
		return nil
	}
	if _, err := nodes.LabelPrefixes(after[key]); err != nil {
		return field.ErrorList{field.Invalid(path.Key(key), after[key], err.Error())}
	}
	return nil
}

// metadataProblems finds labels and annotations that no object can have. The messages are those
// of Kubernetes. Entries are checked one by one, in the order of their keys, since there may be
// more of them than an answer can hold.
func metadataProblems(before, after clusterv1.ObjectMeta, path *field.Path) field.ErrorList {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	if apivalidation.ValidateAnnotationsSize(after.Annotations) != nil {
		return field.ErrorList{field.TooLong(path.Child("annotations"), "", apivalidation.TotalAnnotationSizeLimitB)}
	}
	return text.Problems(
		faults(after.Labels, func(key, value string) field.ErrorList {
			one := clusterv1.ObjectMeta{Labels: map[string]string{key: value}}
			return one.Validate(path)
		}),
		faults(after.Annotations, func(key, _ string) field.ErrorList {
			one := clusterv1.ObjectMeta{Annotations: map[string]string{key: ""}}
			return one.Validate(path)
		}))
}

// faults lists what is wrong with the entries of a map.
func faults(entries map[string]string, check func(key, value string) field.ErrorList) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			for _, fault := range check(key, entries[key]) {
				if !yield(fault) {
					return
				}
			}
		}
	}
}
