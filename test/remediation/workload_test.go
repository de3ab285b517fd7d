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

package remediation

import (
	"context"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// workload is a connection to a workload cluster: this API server, without the seconds that
// Cluster API's own connection takes to notice that a cluster came or went.
type workload struct {
	clustercache.ClusterCache // nil: what is not written here is not used

	config *rest.Config
	client client.Client
	cache  cache.Cache
	away   *atomic.Bool
	watch  map[string]bool
}

func (w *workload) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	if w.away.Load() {
		return nil, clustercache.ErrClusterNotConnected
	}
	return w.client, nil
}

func (w *workload) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	if w.away.Load() {
		return nil, clustercache.ErrClusterNotConnected
	}
	return w.config, nil
}

func (w *workload) Watch(_ context.Context, _ client.ObjectKey, watcher clustercache.Watcher) error {
	if w.away.Load() || w.watch[watcher.Name()] {
		return nil
	}
	w.watch[watcher.Name()] = true
	return watcher.Watch(w.cache)
}

func (w *workload) GetClusterSource(
	string, func(context.Context, client.Object) []ctrl.Request, ...clustercache.GetClusterSourceOption,
) source.Source {
	return source.Func(func(context.Context, queue) error { return nil })
}
