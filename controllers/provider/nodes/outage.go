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
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

const (
	// pageSize is how many Pods of a Node, or VolumeAttachments of a cluster, are read at a time.
	pageSize = 500
	// maxPages bounds a list that is read page by page: a hundred thousand VolumeAttachments.
	maxPages = 200
	// maxListing is how long such a list may take, however slowly its pages come.
	maxListing = 30 * time.Second
)

// Read returns the Node of that name as it is now, and whether it exists.
func (n Nodes) Read(ctx context.Context, cluster client.ObjectKey, name string) (*corev1.Node, bool, error) {
	reader, err := n.Cache.GetUncachedClient(ctx, cluster)
	if err != nil {
		return nil, false, connectionError(err)
	}
	node := &corev1.Node{}
	err = reader.Get(ctx, client.ObjectKey{Name: name}, node)
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("read Node %s of Cluster %s: %w", name, cluster, remote.Sanitize(err))
	}
	return node, err == nil, nil
}

// Write writes what differs between two versions of a Node, unless the Node has changed since
// it was read: taints are a list, which a merge patch replaces as a whole.
func (n Nodes) Write(ctx context.Context, cluster client.ObjectKey, before, after *corev1.Node) error {
	return n.write(ctx, cluster, after, patch.Locked(before))
}

// Pods counts the Pods of a Node that the condition holds for. Of a Node with more Pods than
// any can have, only the first page is looked at.
func (n Nodes) Pods(ctx context.Context, cluster client.ObjectKey, node string, holds func(*corev1.Pod) bool) (int, error) {
	reader, err := n.Cache.GetUncachedClient(ctx, cluster)
	if err != nil {
		return 0, connectionError(err)
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}, client.Limit(pageSize)); err != nil {
		return 0, fmt.Errorf("list Pods of Node %s of Cluster %s: %w", node, cluster, remote.Sanitize(err))
	}
	count := 0
	for i := range pods.Items {
		if holds(&pods.Items[i]) {
			count++
		}
	}
	return count, nil
}

// errEndlessList is the error of an API server that always announces another page.
var errEndlessList = fmt.Errorf("the list does not end after %d pages", maxPages)

// Volumes counts the volumes that are attached to a Node.
func (n Nodes) Volumes(ctx context.Context, cluster client.ObjectKey, node string) (int, error) {
	reader, err := n.Cache.GetUncachedClient(ctx, cluster)
	if err != nil {
		return 0, connectionError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxListing)
	defer cancel()
	count, next := 0, ""
	for range maxPages {
		var attachments storagev1.VolumeAttachmentList
		err := reader.List(ctx, &attachments, client.Limit(pageSize), client.Continue(next))
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			return 0, nil // a cluster without storage
		case err != nil:
			return 0, fmt.Errorf("list VolumeAttachments of Cluster %s: %w", cluster, remote.Sanitize(err))
		}
		for i := range attachments.Items {
			if attachments.Items[i].Spec.NodeName == node {
				count++
			}
		}
		if next = attachments.Continue; next == "" {
			return count, nil
		}
	}
	return 0, fmt.Errorf("list VolumeAttachments of Cluster %s: %w", cluster, errEndlessList)
}

// Denied reports whether the kubeconfig of the Cluster does not give the rights for a request.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}
