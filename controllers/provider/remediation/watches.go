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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/index"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
)

// byMachine is the index on Metal3Remediations by the UID of the Machine that owns them.
const byMachine = "hostclaim.ownerMachine"

// SetupIndexes adds the field indexes that the watches need.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: &infrav1.Metal3Remediation{}, Name: byMachine, Values: watch.Index(ownerUID)},
		watch.Field{Object: &clusterv1.Machine{}, Name: index.MachineNodeNameField, Values: index.MachineByNodeName})
}

func ownerUID(r *infrav1.Metal3Remediation) []string {
	ref, _ := ownerOf(r)
	return []string{string(ref.UID)}
}

// SetupWithManager starts the controller with everything that can wake it:
//
//	Metal3Remediation             the next one of its Machine, when one goes or gets another owner
//	Machine                       by owner
//	Metal3Machine                 by its Machine
//	HostClaim                     by its consumer, once the kind exists: the power of the server
//	claim in another cluster, connection to it   by the Metal3Machine that uses it
//	Node                          by the Machine that it is the Node of, when it comes, goes or is named
//	connection to a workload cluster, Cluster    all of the namespace, when it comes or goes, is paused or unpaused
//	lookAgain                     while Pods and volumes leave the Node
//	the deadline of the reboot
//
// Of the remediations of one Machine only those are woken that act or are on their way out.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&infrav1.Metal3Remediation{}).
		Watches(&infrav1.Metal3Remediation{}, handler.EnqueueRequestsFromMapFunc(r.ownedToRemediations), builder.WithPredicates(leaves())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.machineToRemediations)).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(r.ownedToRemediations)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToRemediations),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), ctrl.LoggerFrom(ctx)))).
		WatchesRawSource(r.Remote.Source(claims.MachineKind, r.userToRemediations)).
		WatchesRawSource(r.Nodes.Connections(controllerName, r.clusterToRemediations)).
		WithOptions(options).
		Build(queue.Spaced(r, r.Clock))
	if err != nil {
		return err
	}
	r.controller = c
	return r.Local.Watch(ctx, c, source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HostClaim{},
		handler.EnqueueRequestsFromMapFunc(hostclaims.ToConsumer(r.Client, r.userToRemediations))))
}

// leaves lets pass that a remediation goes, gets another owner, or cannot have its turn any more.
func leaves() predicate.Predicate {
	changes := watch.Whenever(func(older, newer *infrav1.Metal3Remediation) bool {
		before, had := ownerOf(older)
		after, has := ownerOf(newer)
		return had != has || before.UID != after.UID || mayAct(older) != mayAct(newer)
	})
	changes.CreateFunc = func(event.CreateEvent) bool { return false }
	return changes
}

// acting are the remediations of a Machine that can have something to do: the oldest one, and
// those that have begun or are on their way out. Mappers cannot fail; an error is logged, and the
// next event makes up for it.
func (r *Reconciler) acting(ctx context.Context, namespace string, machine metav1.OwnerReference) []reconcile.Request {
	all, err := ofMachine(ctx, r.Client, namespace, machine)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "An event is lost")
	}
	var woken []reconcile.Request
	for i := range all {
		if i == 0 || begun(&all[i]) || all[i].DeletionTimestamp != nil {
			woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all[i])})
		}
	}
	return woken
}

func (r *Reconciler) machineToRemediations(ctx context.Context, machine client.Object) []reconcile.Request {
	return r.acting(ctx, machine.GetNamespace(), metav1.OwnerReference{Name: machine.GetName(), UID: machine.GetUID()})
}

// ownedToRemediations goes by the Machine that owns an object.
func (r *Reconciler) ownedToRemediations(ctx context.Context, o client.Object) []reconcile.Request {
	ref, found := ownerOf(o)
	if !found {
		return nil
	}
	return r.acting(ctx, o.GetNamespace(), ref)
}

// userToRemediations maps a Metal3Machine whose claim has changed, in this cluster or in another one.
func (r *Reconciler) userToRemediations(ctx context.Context, key types.NamespacedName) []reconcile.Request {
	machine := &infrav1.Metal3Machine{}
	if err := r.Client.Get(ctx, key, machine); err != nil {
		return nil // its own event follows, or it is gone
	}
	return r.ownedToRemediations(ctx, machine)
}

// clusterToRemediations wakes all of the namespace: there is one for each unhealthy machine.
func (r *Reconciler) clusterToRemediations(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.RequestsFor(ctx, r.Client, &infrav1.Metal3RemediationList{}, client.InNamespace(o.GetNamespace()))
}

// nodeToRemediations goes by the Machines that had the Node, since one of that name may follow.
func (r *Reconciler) nodeToRemediations(ctx context.Context, cluster client.ObjectKey, node *corev1.Node) []reconcile.Request {
	return watch.RequestsFrom(ctx, r.Client, &clusterv1.MachineList{}, func(machine *clusterv1.Machine) []reconcile.Request {
		if machine.Spec.ClusterName != cluster.Name {
			return nil
		}
		return r.machineToRemediations(ctx, machine)
	}, client.InNamespace(cluster.Namespace), client.MatchingFields{index.MachineNodeNameField: node.Name})
}
