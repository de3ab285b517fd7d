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

package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// MapFunc turns a Node of a cluster into the requests of a controller.
type MapFunc func(ctx context.Context, cluster client.ObjectKey, node *corev1.Node) []reconcile.Request

// Watch wakes a controller for changes of the Nodes of a cluster that matter to
// machines. It may be called in every reconcile, and does nothing while the
// watch is there or the cluster cannot be reached; the caller is woken by
// ClusterCache when that changes.
func (n Nodes) Watch(
	ctx context.Context, cluster client.ObjectKey, controller clustercache.SourceWatcher[ctrl.Request], mapNode MapFunc,
) error {
	err := n.Cache.Watch(ctx, cluster, clustercache.NewWatcher(clustercache.WatcherOptions{
		Name:    cmp.Or(n.Watcher, "machine-nodes"),
		Watcher: controller,
		Kind:    &corev1.Node{},
		EventHandler: handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			node, ok := o.(*corev1.Node)
			if !ok {
				return nil
			}
			return mapNode(ctx, cluster, node)
		}),
		Predicates: []predicate.TypedPredicate[client.Object]{watch.Whenever(describedAnew)},
	}))
	if err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected) {
		return fmt.Errorf("watch Nodes of Cluster %s: %w", cluster, err)
	}
	return nil
}

// describedAnew reports whether anything has changed by which a Node belongs to a machine or lacks labels; a
// heartbeat is nothing.
func describedAnew(before, after *corev1.Node) bool {
	return before.Spec.ProviderID != after.Spec.ProviderID || !maps.Equal(before.Labels, after.Labels)
}

// maxText is how many bytes are kept of each text of a Node: more than a name, a label or a
// provider ID of ours can have. The API server of a workload cluster may answer anything.
const maxText = 1 << 10

// maxLabels is how many bytes the labels of a Node may have, all together.
const maxLabels = 16 << 10

// StripNode is a cache transform that keeps of a Node what this package reads.
func StripNode(o any) (any, error) {
	node, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	stripped := &corev1.Node{}
	stripped.Kind, stripped.APIVersion = short(node.Kind), short(node.APIVersion)
	stripped.Name, stripped.UID, stripped.ResourceVersion = short(node.Name), types.UID(short(string(node.UID))), short(node.ResourceVersion)
	stripped.Labels = fewLabels(node.Labels)
	stripped.Spec.ProviderID = short(node.Spec.ProviderID)
	return stripped, nil
}

// fewLabels returns the labels of a Node, or of too many those that identify its server.
func fewLabels(labels map[string]string) map[string]string {
	size := 0
	for key, value := range labels {
		size += len(key) + len(value)
	}
	if size <= maxLabels {
		return labels
	}
	few := map[string]string{}
	for _, key := range []string{infrav1.NodeUUIDLabel, corev1.LabelHostname} {
		if value, found := labels[key]; found {
			few[key] = short(value)
		}
	}
	return few
}

// short is a copy, so that what is cut off is not kept in memory.
func short(text string) string { return strings.Clone(text[:min(len(text), maxText)]) }

// Connections wakes a controller when the connection to a workload cluster comes or goes, or
// does not come since no more is read of the cluster.
func (n Nodes) Connections(controllerName string, mapCluster handler.MapFunc) source.Source {
	connections := n.Cache.GetClusterSource(controllerName, mapCluster)
	return source.Func(func(ctx context.Context, queue requestQueue) error {
		if n.Refusals != nil {
			n.Refusals.OnRefused(func(cluster client.ObjectKey) {
				named := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name}}
				for _, woken := range mapCluster(ctx, named) {
					queue.Add(woken)
				}
			})
		}
		return connections.Start(ctx, queue)
	})
}

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
