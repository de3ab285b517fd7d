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

package cluster

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// SetupWithManager starts the controller. Its Cluster wakes it, for the owner
// reference, the pause and the endpoint, and so do machines that go away and the
// connection to the cluster that holds the hosts.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	cached := mgr.GetClient() // r.Client may wait for writes of one tenant, and the events are those of all
	toInfra := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind(kind), cached, &infrav1.Metal3Cluster{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("metal3cluster").
		For(&infrav1.Metal3Cluster{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toInfra)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(machineToInfra(cached)), builder.WithPredicates(watch.Gone())).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(machineToInfra(cached)), builder.WithPredicates(watch.Gone())).
		WatchesRawSource(r.Remote.Source(kind, self)).
		WithOptions(options).
		Complete(queue.Conflicts(r))
}

// self is a Metal3Cluster as a user of connections.
func self(_ context.Context, infra types.NamespacedName) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: infra}}
}

// machineToInfra maps a machine to the Metal3Cluster of its Cluster, which that owns or, once it is gone, which has its
// label.
func machineToInfra(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []ctrl.Request {
		name := o.GetLabels()[clusterv1.ClusterNameLabel]
		if machine, ok := o.(*clusterv1.Machine); ok {
			name = machine.Spec.ClusterName
		}
		return watch.RequestsFrom(ctx, reader, &infrav1.Metal3ClusterList{}, func(infra *infrav1.Metal3Cluster) []ctrl.Request {
			owns := func(owner metav1.OwnerReference) bool { return owner.Kind == "Cluster" && owner.Name == name }
			if name == "" || infra.Labels[clusterv1.ClusterNameLabel] != name && !slices.ContainsFunc(infra.OwnerReferences, owns) {
				return nil
			}
			return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(infra)}}
		}, client.InNamespace(o.GetNamespace()))
	}
}
