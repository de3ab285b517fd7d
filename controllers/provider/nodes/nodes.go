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

// Package nodes finds and marks the Nodes of machines in workload clusters, and watches them.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/index"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// hostUIDField is the name of the index on Nodes by the label that names their host.
const hostUIDField = "metadata.labels." + infrav1.NodeUUIDLabel

// ErrNotConnected is the error of a workload cluster without a connection. Connections wakes
// the controller when there is one.
var ErrNotConnected = errors.New("no connection to the workload cluster")

// Indexes are the indexes on Nodes that Nodes needs in the caches of workload
// clusters.
func Indexes() []clustercache.CacheOptionsIndex {
	return []clustercache.CacheOptionsIndex{
		clustercache.NodeProviderIDIndex,
		{Object: &corev1.Node{}, Field: hostUIDField, ExtractValue: watch.Index(hostUIDs)},
	}
}

func hostUIDs(node *corev1.Node) []string { return []string{node.Labels[infrav1.NodeUUIDLabel]} }

// Refusals are the workload clusters of which no more is read.
type Refusals interface {
	// Refused returns why no more is read of a cluster, in words of ours; nil if it may be read.
	Refused(cluster client.ObjectKey) error
	// OnRefused has a function called when that changes from nil.
	OnRefused(listener func(cluster client.ObjectKey))
}

// Nodes reads and patches the Nodes of workload clusters.
type Nodes struct {
	// Cache holds the connections, made with Indexes.
	Cache clustercache.ClusterCache
	// Refusals are optional.
	Refusals Refusals
	// Watcher names the watch of a controller among those on one cluster; empty stands for
	// that of the machine controller.
	Watcher string
}

// Candidates returns the Nodes of the cluster that fit the query in one way or another;
// baremetal/nodes decides which of them is the one. It returns ErrNotConnected while the
// cluster cannot be reached, or why no more is read of it.
func (n Nodes) Candidates(ctx context.Context, cluster client.ObjectKey, q nodes.Query) ([]nodes.Node, error) {
	reader, err := n.Cache.GetReader(ctx, cluster)
	if err != nil {
		err = connectionError(err)
		if n.Refusals != nil && errors.Is(err, ErrNotConnected) {
			err = cmp.Or(n.Refusals.Refused(cluster), err)
		}
		return nil, err
	}
	var found []nodes.Node
	for _, option := range options(q) {
		var nodes corev1.NodeList
		if err := reader.List(ctx, &nodes, option...); err != nil {
			return nil, fmt.Errorf("list Nodes of Cluster %s: %w", cluster, remote.Sanitize(err))
		}
		for i := range nodes.Items {
			found = append(found, describe(&nodes.Items[i]))
		}
	}
	return found, nil
}

// options are the lists that together hold all candidates.
func options(q nodes.Query) [][]client.ListOption {
	var lists [][]client.ListOption
	if q.ProviderID != "" {
		lists = append(lists, []client.ListOption{client.MatchingFields{index.NodeProviderIDField: q.ProviderID}})
	}
	if q.HostUID != "" {
		lists = append(lists, []client.ListOption{client.MatchingFields{hostUIDField: q.HostUID}})
	}
	if len(q.Hostnames) > 0 {
		// Only machines without a bootstrap provider come here.
		lists = append(lists, nil)
	}
	return lists
}

func describe(node *corev1.Node) nodes.Node {
	return nodes.Node{
		Name:       node.Name,
		ProviderID: node.Spec.ProviderID,
		HostUID:    node.Labels[infrav1.NodeUUIDLabel],
		Hostname:   node.Labels[corev1.LabelHostname],
		Labels:     node.Labels,
	}
}

// Patch writes what the Node lacks, by a live merge patch. The provider ID of a
// Node cannot be changed once it is set; the API server sees to that.
func (n Nodes) Patch(ctx context.Context, cluster client.ObjectKey, patch nodes.Patch) error {
	before, after := change(patch)
	return n.write(ctx, cluster, after, client.MergeFrom(before))
}

func (n Nodes) write(ctx context.Context, cluster client.ObjectKey, node *corev1.Node, patch client.Patch) error {
	writer, err := n.Cache.GetUncachedClient(ctx, cluster)
	if err != nil {
		return connectionError(err)
	}
	name := node.Name // before the answer changes it
	if err := writer.Patch(ctx, node, patch); err != nil {
		return fmt.Errorf("patch Node %s of Cluster %s: %w", name, cluster, remote.Sanitize(err))
	}
	return nil
}

// change is a Node of which nothing but its name is known, before and after the
// patch: what has not been asked for is not in the difference.
func change(patch nodes.Patch) (before, after *corev1.Node) {
	before = &corev1.Node{}
	before.Name = patch.Node
	after = before.DeepCopy()
	after.Spec.ProviderID = patch.ProviderID
	before.Labels, after.Labels = map[string]string{}, map[string]string{}
	if patch.HostUID != "" {
		after.Labels[infrav1.NodeUUIDLabel] = patch.HostUID
	}
	for key, value := range patch.Labels {
		if value == nil {
			before.Labels[key] = ""
		} else {
			after.Labels[key] = *value
		}
	}
	return before, after
}

func connectionError(err error) error {
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		return ErrNotConnected
	}
	return fmt.Errorf("connect to the workload cluster: %w", err)
}
