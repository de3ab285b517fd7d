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

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watchFor is after which time the API server ends a watch.
const watchFor = 5 * time.Minute

// Departures calls left whenever a Pod leaves the Node or a volume is detached from it, and
// once when it has begun to look. It ends with ctx, or when the API server ends a watch. It has
// watches of its own, since a cache would hold all Pods of the cluster for the few of one Node.
func (n Nodes) Departures(ctx context.Context, cluster client.ObjectKey, node string, left func()) error {
	pods, volumes, err := n.watchDepartures(ctx, cluster, node)
	if err != nil {
		return fmt.Errorf("watch what leaves Node %s of Cluster %s: %w", node, cluster, sanitize(err))
	}
	defer pods.Stop()
	defer volumes.Stop()
	left()
	for {
		var e watch.Event
		var open bool
		select {
		case <-ctx.Done():
			return nil
		case e, open = <-pods.ResultChan():
		case e, open = <-volumes.ResultChan():
		}
		if !open || e.Type == watch.Error {
			return nil
		}
		if departs(e, node) {
			left()
		}
	}
}

// watchDepartures begins to watch the Pods of the Node and all VolumeAttachments, which cannot
// be selected by their Node.
func (n Nodes) watchDepartures(ctx context.Context, cluster client.ObjectKey, node string) (pods, volumes watch.Interface, err error) {
	shared, err := n.Cache.GetRESTConfig(ctx, cluster)
	if err != nil {
		return nil, nil, connectionError(err)
	}
	config := rest.CopyConfig(shared)
	config.Timeout = 0 // it would end the watches
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	options := metav1.ListOptions{TimeoutSeconds: ptr.To(int64(watchFor.Seconds()))}
	volumes, err = api.StorageV1().VolumeAttachments().Watch(ctx, options)
	switch {
	case apierrors.IsNotFound(err):
		volumes = watch.NewProxyWatcher(make(chan watch.Event)) // a cluster without storage
	case err != nil:
		return nil, nil, err
	}
	options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
	pods, err = api.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, options)
	if err != nil {
		volumes.Stop()
		return nil, nil, err
	}
	return pods, volumes, nil
}

// departs says that something may have left the Node. What a watch begins with is there still.
func departs(e watch.Event, node string) bool {
	if e.Type == watch.Added {
		return false
	}
	attachment, ok := e.Object.(*storagev1.VolumeAttachment)
	return !ok || attachment.Spec.NodeName == node
}
