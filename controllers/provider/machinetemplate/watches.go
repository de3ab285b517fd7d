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

package machinetemplate

import (
	"context"
	"reflect"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
)

const (
	// byTemplate is the field index on Metal3Machines by the name of the template that they were made from.
	byTemplate = "hostclaim.clonedFrom"
	// byCluster is the field index on Metal3MachineTemplates by the names of the Clusters that own them.
	byCluster = "hostclaim.owningCluster"
)

// SetupIndexes adds the field indexes that this controller reads by.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: &infrav1.Metal3Machine{}, Name: byTemplate, Values: templateOf},
		watch.Field{Object: &infrav1.Metal3MachineTemplate{}, Name: byCluster, Values: clustersOf})
}

func templateOf(machine client.Object) []string {
	if name, ok := claims.TemplateOf(machine.GetAnnotations()); ok {
		return []string{name}
	}
	return nil
}

// clustersOf names the Clusters whose control plane or workers are made from the
// template; Cluster API makes each of them an owner.
func clustersOf(template client.Object) []string {
	var names []string
	for _, owner := range template.GetOwnerReferences() {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		if kind == clusterv1.GroupVersion.WithKind("Cluster").GroupKind() {
			names = append(names, owner.Name)
		}
	}
	return names
}

// SetupWithManager starts the controller with everything that can wake it:
//
//	Metal3Machine   by the template that it was made from, when it comes or goes, is unpaused, or has another cleaning mode
//	HostClaim       by its consumer, when it points at other facts, once the kind exists
//	HardwareData    by the consumer of the claim that owns it, when the hardware differs, once the kind exists
//	another cluster by the machine whose host is there: its connection, its claim, their facts
//	Machine         by its Metal3Machine, when its Node is another kind of Node
//	Cluster         by the templates that it owns, when it is paused or unpaused
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, kinds *watch.Kinds, options controller.Options) error {
	mapped := handler.EnqueueRequestsFromMapFunc
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("metal3machinetemplate").
		For(&infrav1.Metal3MachineTemplate{}).
		Watches(&infrav1.Metal3Machine{}, mapped(toTemplate), builder.WithPredicates(watch.Whenever(differentMachine))).
		Watches(&clusterv1.Machine{}, mapped(r.machineToTemplate), builder.WithPredicates(watch.Whenever(differentNode))).
		Watches(&clusterv1.Cluster{}, mapped(r.clusterToTemplates),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), ctrl.LoggerFrom(ctx)))).
		WatchesRawSource(r.Remote.Source(claims.MachineKind, r.named)).
		WithOptions(options).
		Build(queue.Spaced(r, clock.RealClock{}))
	if err != nil {
		return err
	}
	toConsumer := mapped(hostclaims.ToConsumer(r.Client, r.named))
	return kinds.Watch(ctx, c,
		source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HostClaim{}, toConsumer, watch.Whenever(differentClaim)),
		source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HardwareData{}, toConsumer, watch.Whenever(differentHardware)))
}

// toTemplate maps a Metal3Machine to the template that it was made from.
func toTemplate(_ context.Context, machine client.Object) []ctrl.Request {
	return watch.Requests(machine.GetNamespace(), templateOf(machine)...)
}

// named maps a Metal3Machine that is known by name. One that does not exist has no
// template yet, and wakes it when it comes.
func (r *Reconciler) named(ctx context.Context, key types.NamespacedName) []ctrl.Request {
	var machine infrav1.Metal3Machine
	if err := r.Client.Get(ctx, key, &machine); err != nil {
		return nil
	}
	return toTemplate(ctx, &machine)
}

func (r *Reconciler) machineToTemplate(ctx context.Context, o client.Object) []ctrl.Request {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.InfrastructureRef.Kind != claims.MachineKind {
		return nil
	}
	return r.named(ctx, types.NamespacedName{Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name})
}

func (r *Reconciler) clusterToTemplates(ctx context.Context, cluster client.Object) []ctrl.Request {
	return watch.RequestsFor(ctx, r.Client, &infrav1.Metal3MachineTemplateList{},
		client.InNamespace(cluster.GetNamespace()), client.MatchingFields{byCluster: cluster.GetName()})
}

func differentMachine(before, after *infrav1.Metal3Machine) bool {
	return before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!reflect.DeepEqual(templateOf(before), templateOf(after)) ||
		!reflect.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		before.Spec.AutomatedCleaningMode != after.Spec.AutomatedCleaningMode ||
		annotations.HasPaused(before) != annotations.HasPaused(after)
}

func differentClaim(before, after *bmov1alpha1.HostClaim) bool {
	return !reflect.DeepEqual(before.Status.HardwareData, after.Status.HardwareData) ||
		claims.Read(before).HasHost() != claims.Read(after).HasHost() ||
		!reflect.DeepEqual(before.Spec.ConsumerRef, after.Spec.ConsumerRef)
}

func differentHardware(before, after *bmov1alpha1.HardwareData) bool {
	was, is := hardware.FromHardwareData(before), hardware.FromHardwareData(after)
	return !reflect.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		was.CPUs != is.CPUs || was.MemoryMebibytes != is.MemoryMebibytes || was.Architecture != is.Architecture
}

func differentNode(before, after *clusterv1.Machine) bool {
	was, is := ptr.Deref(before.Status.NodeInfo, corev1.NodeSystemInfo{}), ptr.Deref(after.Status.NodeInfo, corev1.NodeSystemInfo{})
	return was.Architecture != is.Architecture || was.OperatingSystem != is.OperatingSystem ||
		before.Spec.InfrastructureRef != after.Spec.InfrastructureRef
}
