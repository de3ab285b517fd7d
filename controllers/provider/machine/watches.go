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

package machine

import (
	"context"
	"maps"
	"reflect"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
)

// controllerName names the controller in logs, metrics and events.
const controllerName = "metal3machine"

const (
	// SecretIndex is the name of the field index on Metal3Machines by the names of
	// the secrets that they name, and, where copies are kept next to a claim in another
	// cluster, all that the server gets.
	SecretIndex = "hostclaim.secret"
	// BootstrapIndex is the name of the field index on Machines by the name of
	// their bootstrap secret.
	BootstrapIndex = "spec.bootstrap.dataSecretName"
)

// SetupIndexes adds the field indexes that the watches of this package need,
// besides those of hostclaims and by Cluster.
func SetupIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: &infrav1.Metal3Machine{}, Name: SecretIndex, Values: watch.Index(secretsOf)},
		watch.Field{Object: &clusterv1.Machine{}, Name: BootstrapIndex, Values: watch.Index(bootstrapSecretOf)})
}

func secretsOf(machine *infrav1.Metal3Machine) []string {
	refs := []*corev1.SecretReference{machine.Spec.MetaData, machine.Spec.NetworkData}
	if machine.Annotations[infrav1.EffectiveIdentityAnnotation] != "" {
		refs = append(refs, machine.Status.UserData, machine.Status.MetaData, machine.Status.NetworkData)
	}
	names := []string{machine.Annotations[infrav1.PullSecretAnnotation]}
	for _, ref := range refs {
		names = append(names, firstName(ref, ""))
	}
	return names
}

func bootstrapSecretOf(machine *clusterv1.Machine) []string {
	return []string{ptr.Deref(machine.Spec.Bootstrap.DataSecretName, "")}
}

// SetupWithManager starts the controller with everything that can wake it:
//
//	HostClaim, HardwareData   by consumerRef, or by the name that is in the way, once these kinds exist
//	CRDs of these kinds   machines that wait for them
//	connection to the cluster of an identityRef   by user; and HostClaim, HardwareData, copied Secret of that cluster   by origin
//	Metal3DataClaim   by owner, or by the name that is in the way
//	Metal3Data   by owner
//	Machine   by reference, when what its Metal3Machine reads changes
//	Cluster, Metal3Cluster   by reference and by label, when what the machines read changes
//	reserved HostClaim, Metal3Machine that leaves, MachineDeployment, Metal3MachineTemplate   machines without a claim
//	Secret   by the name that Machine or Metal3Machine give, that is made from theirs, or that was copied
//	Node, connection of the workload cluster   by provider ID, host UID or label
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, kinds *watch.Kinds, options controller.Options) error {
	machineToInfra := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind(claims.MachineKind))
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &infrav1.Metal3Machine{})
	generations := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&infrav1.Metal3Machine{}).
		WatchesRawSource(watch.CRDs(mgr.GetCache(), r.waitingForKinds, "hostclaims.metal3.io", "hardwaredata.metal3.io")).
		Watches(&infrav1.Metal3DataClaim{}, ofOwner).
		Watches(&infrav1.Metal3DataClaim{}, &handler.EnqueueRequestForObject{}).
		Watches(&infrav1.Metal3Data{}, ofOwner).
		Watches(&infrav1.Metal3Machine{}, handler.EnqueueRequestsFromMapFunc(r.memberToMachines), builder.WithPredicates(whenLeaving())).
		Watches(&infrav1.Metal3MachineTemplate{}, handler.EnqueueRequestsFromMapFunc(r.templateToMachines), generations).
		Watches(&clusterv1.MachineDeployment{}, handler.EnqueueRequestsFromMapFunc(r.memberToMachines), generations).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(machineToInfra),
			builder.WithPredicates(watch.Whenever(differentMachine))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToMachines),
			builder.WithPredicates(watch.Whenever(differentCluster))).
		Watches(&infrav1.Metal3Cluster{}, handler.EnqueueRequestsFromMapFunc(r.infraToMachines),
			builder.WithPredicates(watch.Whenever(differentApartFromStatus[*infrav1.Metal3Cluster]))).
		WatchesRawSource(r.Secrets.Source(r.secretToMachines)).
		WatchesRawSource(r.HostClaims.Remote.Source(claims.MachineKind, self)).
		WatchesRawSource(r.Nodes.Connections(controllerName, r.clusterToMachines)).
		WithOptions(options).
		Build(queue.Spaced(r, r.Clock))
	if err != nil {
		return err
	}
	r.controller = c
	ofClaim := handler.EnqueueRequestsFromMapFunc(r.claimToMachines)
	return kinds.Watch(ctx, c,
		source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HostClaim{}, ofClaim),
		source.Kind[client.Object](mgr.GetCache(), &bmov1alpha1.HardwareData{}, ofClaim))
}

// differentCluster reports whether a Cluster has changed in what its machines read. Cluster API
// also counts Machines in its status, and so writes it with each of their steps.
func differentCluster(before, after *clusterv1.Cluster) bool {
	return before.Generation != after.Generation || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		infrastructureProvisioned(before) != infrastructureProvisioned(after) || !ptr.Equal(controlPlaneSize(before), controlPlaneSize(after))
}

// differentMachine reports whether a Machine has changed in what its Metal3Machine reads. Of the status,
// which Cluster API writes with each step, that is only whether the Machine is about to be replaced.
func differentMachine(before, after *clusterv1.Machine) bool {
	return differentApartFromStatus(before, after) || unhealthy(before) != unhealthy(after)
}

// differentApartFromStatus reports whether the spec or the metadata that is read have changed. A
// machine reads no more of a Metal3Cluster.
func differentApartFromStatus[T client.Object](before, after T) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) || !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}

// self is a machine as a user of connections.
func self(_ context.Context, machine types.NamespacedName) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: machine}}
}

// waitingForKinds are the machines whose cluster does not serve claims.
func (r *Reconciler) waitingForKinds(ctx context.Context) []ctrl.Request {
	return r.machinesWhere(ctx, func(m *infrav1.Metal3Machine) bool {
		return capiconditions.GetReason(m, infrav1.AssociateBareMetalHostCondition) == infrav1.HostClaimAPIMissingReason
	})
}

// claimToMachines maps a claim, or the published facts that one owns, to its consumer, and to the machine that
// waits for its name to become free. A reserved claim concerns the machine that left it, and those of its
// Cluster that have none.
func (r *Reconciler) claimToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	claim, found := hostclaims.ClaimOf(ctx, r.Client, o)
	if !found {
		return nil
	}
	names := []string{claim.Name}
	if ref := claim.Spec.ConsumerRef; ref != nil && ref.Kind == claims.MachineKind {
		names = append(names, ref.Name)
	}
	if former, _ := claims.ReservedBy(claim); former != "" {
		names = append(names, former)
	}
	woken := watch.Requests(claim.Namespace, names...)
	if reservation.Holds(claim) {
		woken = append(woken, r.unclaimed(ctx, claim.Namespace, claim.Labels)...)
	}
	return woken
}

// memberToMachines maps what is part of a control plane or MachineDeployment, or is one, to
// the machines of its Cluster that have no claim: they may wait for a reserved one.
func (r *Reconciler) memberToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	return r.unclaimed(ctx, o.GetNamespace(), o.GetLabels())
}

// templateToMachines maps a template to the machines made from it that have no claim, or that cannot
// ask for data because of the template.
func (r *Reconciler) templateToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	return r.machinesWhere(ctx, func(machine *infrav1.Metal3Machine) bool {
		name, found := claims.TemplateOf(machine.Annotations)
		return found && name == o.GetName() && (machine.Status.HostClaim == nil ||
			capiconditions.GetReason(machine, infrav1.AssociateMetal3MachineMetaDataCondition) == infrav1.InvalidConfigurationReason)
	}, client.InNamespace(o.GetNamespace()))
}

// unclaimed are the machines of a Cluster, named by a label, that have no claim.
func (r *Reconciler) unclaimed(ctx context.Context, namespace string, labels map[string]string) []ctrl.Request {
	cluster := labels[clusterv1.ClusterNameLabel]
	if cluster == "" {
		return nil
	}
	return r.machinesWhere(ctx, func(machine *infrav1.Metal3Machine) bool {
		return machine.Status.HostClaim == nil && machine.DeletionTimestamp.IsZero()
	}, client.InNamespace(namespace), client.MatchingFields{watch.ByCluster: cluster})
}

// whenLeaving lets through that a leaving machine does not count any more for those that wait for
// a claim of their group: one event for each that leaves. A claim that is reserved wakes them
// itself.
func whenLeaving() predicate.Predicate {
	changes := watch.Whenever(func(before, after *infrav1.Metal3Machine) bool { return counts(before) && !counts(after) })
	changes.CreateFunc = func(event.CreateEvent) bool { return false }
	changes.DeleteFunc = func(e event.DeleteEvent) bool {
		machine, ok := e.Object.(*infrav1.Metal3Machine)
		return ok && mayReserve(machine) // without our finalizer, which says no more then
	}
	return changes
}

// clusterToMachines maps a Cluster to its machines.
func (r *Reconciler) clusterToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	return r.machines(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{watch.ByCluster: o.GetName()})
}

// infraToMachines maps a Metal3Cluster to the machines of the Cluster that owns it.
func (r *Reconciler) infraToMachines(ctx context.Context, o client.Object) []ctrl.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "Cluster" {
			name = owner.Name
		}
	}
	return r.machines(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{watch.ByCluster: name})
}

// secretToMachines maps a Secret to the machines that need what it holds, and to the one whose
// server it names. An empty name stands for all secrets of the namespace.
func (r *Reconciler) secretToMachines(ctx context.Context, namespace, name string) []ctrl.Request {
	if name == "" {
		return r.machines(ctx, client.InNamespace(namespace))
	}
	woken := r.machines(ctx, client.InNamespace(namespace), client.MatchingFields{SecretIndex: name})
	if machine, found := strings.CutSuffix(name, metadata.SecretName("")); found && machine != "" {
		woken = append(woken, watch.Requests(namespace, machine)...)
	}
	toMachine := util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind(claims.MachineKind))
	return append(woken, watch.RequestsFrom(ctx, r.Client, &clusterv1.MachineList{}, func(owner *clusterv1.Machine) []ctrl.Request {
		return toMachine(ctx, owner)
	}, client.InNamespace(namespace), client.MatchingFields{BootstrapIndex: name})...)
}

// nodeToMachines maps a Node to the machine that its provider ID names, else to
// those whose host it runs on, as far as the host is known in this cluster; else to
// the machines of the Cluster that it could be.
func (r *Reconciler) nodeToMachines(ctx context.Context, cluster client.ObjectKey, node *corev1.Node) []ctrl.Request {
	if id, ours := nodes.ParseProviderID(node.Spec.ProviderID); ours && id.Namespace == cluster.Namespace {
		return watch.Requests(id.Namespace, id.Machine)
	}
	uid := node.Labels[infrav1.NodeUUIDLabel]
	if uid == "" {
		return r.machines(ctx, client.InNamespace(cluster.Namespace), client.MatchingFields{watch.ByCluster: cluster.Name})
	}
	if !r.HostClaims.Local.Started() {
		return r.withRemoteHosts(ctx, cluster)
	}
	var facts bmov1alpha1.HardwareDataList
	err := r.Client.List(ctx, &facts, client.InNamespace(cluster.Namespace), client.MatchingFields{hostclaims.HostUIDIndex: uid})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Host of a Node not found", "node", node.Name)
		return nil
	}
	if len(facts.Items) == 0 {
		return r.withRemoteHosts(ctx, cluster)
	}
	var woken []ctrl.Request
	for i := range facts.Items {
		woken = append(woken, r.claimToMachines(ctx, &facts.Items[i])...)
	}
	return woken
}

// withRemoteHosts are the machines of a Cluster whose hosts are in other clusters, of
// which no index of this cluster knows.
func (r *Reconciler) withRemoteHosts(ctx context.Context, cluster client.ObjectKey) []ctrl.Request {
	return r.machinesWhere(ctx, func(m *infrav1.Metal3Machine) bool {
		return m.Annotations[infrav1.EffectiveIdentityAnnotation] != ""
	}, client.InNamespace(cluster.Namespace), client.MatchingFields{watch.ByCluster: cluster.Name})
}

// machines lists machines by the given options, as requests.
func (r *Reconciler) machines(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return watch.RequestsFor(ctx, r.Client, &infrav1.Metal3MachineList{}, options...)
}

// machinesWhere lists those of them that the condition holds for.
func (r *Reconciler) machinesWhere(
	ctx context.Context, holds func(*infrav1.Metal3Machine) bool, options ...client.ListOption,
) []ctrl.Request {
	return watch.RequestsFrom(ctx, r.Client, &infrav1.Metal3MachineList{}, func(machine *infrav1.Metal3Machine) []ctrl.Request {
		if !holds(machine) {
			return nil
		}
		return watch.Requests(machine.Namespace, machine.Name)
	}, options...)
}
