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
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations;metal3remediationtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3remediations/status;metal3remediationtemplates/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Object is a Metal3Remediation or a Metal3RemediationTemplate.
type Object interface {
	client.Object
	conditions.Setter
}

// Strip drops what the controllers do not read of an object. Only other things may be
// written than what is dropped.
func Strip(object Object) {
	annotations := object.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return key != clusterv1.PausedAnnotation })
	object.SetAnnotations(annotations)
	object.SetOwnerReferences(nil)
	switch o := object.(type) {
	case *infrav1.Metal3Remediation:
		o.Spec, o.Status = infrav1.Metal3RemediationSpec{}, infrav1.Metal3RemediationStatus{Conditions: o.Status.Conditions}
	case *infrav1.Metal3RemediationTemplate:
		o.Spec = infrav1.Metal3RemediationTemplateSpec{}
		o.Status.Status = infrav1.Metal3RemediationStatus{Conditions: o.Status.Status.Conditions}
	}
}

// Kind is one of the two kinds, as a controller needs to know it.
type Kind struct {
	// Name of the controller, in logs and metrics.
	Name string
	// Message is what the condition Ready of each object says.
	Message string
	// Object is empty.
	Object Object
	// List is empty.
	List client.ObjectList
}

// Kinds returns the kinds that wait for their implementation.
func Kinds() []Kind {
	const remedy = "remove spec.remediation.templateRef from the MachineHealthCheck, so that Cluster API replaces unhealthy Machines"
	return []Kind{
		{
			Name: "metal3remediation", Object: &infrav1.Metal3Remediation{}, List: &infrav1.Metal3RemediationList{},
			Message: "Remediation is not implemented yet: the machine is left as it is. Delete the Machine to have it replaced now, and " + remedy,
		},
		{
			Name: "metal3remediationtemplate", Object: &infrav1.Metal3RemediationTemplate{}, List: &infrav1.Metal3RemediationTemplateList{},
			Message: "Remediation is not implemented yet: a Metal3Remediation of this template leaves the machine as it is. Instead, " + remedy,
		},
	}
}

// Reconciler reconciles the objects of one kind. All fields but WatchFilter are needed.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Kind is the kind of the objects.
	Kind Kind
	// Clock tells the time.
	Clock clock.PassiveClock
	// WatchFilter restricts the controller to objects with this value of the label
	// cluster.x-k8s.io/watch-filter; empty means all.
	WatchFilter string
}

// SetupWithManager starts the controller. A Cluster wakes it for its objects when the
// Cluster is paused or unpaused.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	log := ctrl.LoggerFrom(ctx)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(r.Kind.Name).
		For(r.Kind.Object, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToObjects),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		WithOptions(options).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", r.Kind.Name, err)
	}
	return nil
}

// Reconcile brings the conditions of one object in line with what is done for it. An
// object that is being deleted stays as it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object, ok := r.Kind.Object.DeepCopyObject().(Object)
	if !ok {
		return ctrl.Result{}, fmt.Errorf("%T has no conditions", r.Kind.Object)
	}
	err := r.Client.Get(ctx, req.NamespacedName, object)
	if err != nil || !object.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	cluster, err := r.cluster(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := object.DeepCopyObject().(Object) //nolint:errcheck // a copy has the type of its original
	report(object, cluster, r.Kind.Message)
	return progress.Failed(client.IgnoreNotFound(apply.Changes(ctx, r.Client, before, object))).Result(r.Clock.Now())
}

// cluster reads the Cluster that the object is labeled with. It is empty if there is
// none.
func (r *Reconciler) cluster(ctx context.Context, object Object) (*clusterv1.Cluster, error) {
	cluster := &clusterv1.Cluster{}
	name := object.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return cluster, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", name, err)
	}
	return cluster, nil
}

// report sets the conditions of an object. A paused object keeps what Ready said.
func report(object Object, cluster *clusterv1.Cluster, message string) {
	conditions.Set(object, pausing.Condition(object, cluster))
	if pausing.Paused(object, cluster) {
		return
	}
	conditions.Set(object, metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: infrav1.NotImplementedReason, Message: message,
	})
}

// clusterToObjects maps a Cluster to the objects that carry its name.
func (r *Reconciler) clusterToObjects(ctx context.Context, cluster client.Object) []ctrl.Request {
	list, ok := r.Kind.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil
	}
	err := r.Client.List(ctx, list, client.InNamespace(cluster.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.GetName()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Remediations keep their condition Paused until they are woken")
		return nil
	}
	var requests []ctrl.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if object, ok := o.(client.Object); ok {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return requests
}
