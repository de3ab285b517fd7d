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

package claim

import (
	"context"
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// The field indexes of hosts and claims, besides those of package orphan.
const (
	// ClaimsByUID finds the claim with a UID.
	ClaimsByUID = "claim.uid"
	// ClaimsBySecret finds claims by the secrets that concern them: those that they name, as
	// namespace/name, and their copies by name.
	ClaimsBySecret = "claim.secret"

	hostsByConsumer       = "host.consumer"       // hosts by the claim that they name, see binding.ClaimKey
	hostsByMovedClaim     = "host.movedClaim"     // hosts that may have been moved with a claim, by namespace and name of that
	claimsByHostNamespace = "claim.hostNamespace" // claims by the namespace of their host
	claimsByTakeOver      = "claim.takeOver"      // claims by the host that they are to take over
	claimsByFacts         = "claim.facts"         // claims by the name under which the facts of their host are published
)

// AddIndexes declares them. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	host, claim := &bmov1alpha1.BareMetalHost{}, &bmov1alpha1.HostClaim{}
	return errors.Join(
		indexer.IndexField(ctx, host, hostsByConsumer, watch.Index(func(h *bmov1alpha1.BareMetalHost) []string {
			return []string{binding.ConsumerKey(h)}
		})),
		indexer.IndexField(ctx, host, hostsByMovedClaim, watch.Index(func(h *bmov1alpha1.BareMetalHost) []string {
			return []string{binding.MovedKey(h)}
		})),
		indexer.IndexField(ctx, claim, claimsByHostNamespace, watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			if c.Status.BareMetalHost == nil {
				return nil
			}
			return []string{c.Status.BareMetalHost.Namespace}
		})),
		indexer.IndexField(ctx, claim, claimsByTakeOver, watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			return []string{c.Annotations[infrav1.TakeOverAnnotation]}
		})),
		indexer.IndexField(ctx, claim, claimsByFacts, watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			return []string{binding.HardwareDataName(c.Name)}
		})),
		indexer.IndexField(ctx, claim, ClaimsByUID, watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			return []string{string(c.UID)}
		})),
		indexer.IndexField(ctx, claim, ClaimsBySecret, watch.Index(secretsOf)),
	)
}

func secretsOf(claim *bmov1alpha1.HostClaim) []string {
	out := binding.CopyNames(claim.UID)
	for _, kind := range binding.SecretKinds {
		if name := binding.SecretName(claim, kind); name != "" {
			out = append(out, claim.Namespace+"/"+name)
		}
	}
	return out
}

// SetupWithManager registers the watches that wake claims. There is no other
// way to be woken but the end of a reservation: nothing is polled.
//
//	what changes                       which claims
//	the claim, status included         itself
//	a host                             the claim that it names, or named, or that is to take it over
//	a host becomes free                the first waiting claim that it suits, then
//	                                   the next, see package pool
//	a HostDeployPolicy                 those that wait, those of which a pass is under
//	                                   way, and those with a host in its namespace
//	a HostClaimClass                   those that name it
//	the labels of a Namespace, or its
//	annotation hosts-may-move          its claims
//	the label of a CRD for clusterctl  those that are paused
//	a Secret                           those that name it, or whose copy it is
//	rights on Secrets of a namespace   its claims, and those with a host there
//	a HardwareData, ours or not         the claim whose facts have its name
//	a host goes                        besides, the claim whose facts have its name
//
// Secrets, the HardwareData that we did not make, and CustomResourceDefinitions are not
// in the cache of the manager; the caller brings sources for them, with SecretToClaims,
// FactsToClaims and KindToClaims.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, more ...source.Source) error {
	build := ctrl.NewControllerManagedBy(mgr).Named("hostclaim").For(&bmov1alpha1.HostClaim{}).WithOptions(options)
	return watch.Complete(build, r.Watches(), append([]source.Source{r.Pool.Source()}, more...), r.Pool.Around(queue.Spaced(r, r.Clock)))
}

// Watch is a row of a table of watches, by a name that the model test can use.
type Watch = watch.Row

// Watches is the table of SetupWithManager but for how a claim wakes itself. Tests
// deliver the events of these watches themselves.
func (r *Reconciler) Watches() []watch.Row {
	return []watch.Row{
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: r.hostHandler()},
		{Object: &bmov1alpha1.HostDeployPolicy{}, Handler: handler.EnqueueRequestsFromMapFunc(r.policyToClaims)},
		{Object: &hostclaimv1.HostClaimClass{}, Handler: handler.EnqueueRequestsFromMapFunc(r.classToClaims)},
		{
			Object:     watch.Namespace(),
			Handler:    handler.EnqueueRequestsFromMapFunc(r.namespaceToClaims),
			Predicates: []predicate.Predicate{predicate.Or(predicate.LabelChangedPredicate{}, mayMoveChanged())},
		},
		{Object: &bmov1alpha1.HardwareData{}, Handler: handler.EnqueueRequestsFromMapFunc(r.FactsToClaims)},
	}
}

// requests is the work queue as handlers see it.
type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// hostHandler keeps the pool of free hosts and wakes the claim that a host names
// or has just ceased to name.
func (r *Reconciler) hostHandler() handler.EventHandler {
	seen := func(ctx context.Context, object client.Object, queue requests) {
		if host, ok := object.(*bmov1alpha1.BareMetalHost); ok {
			r.Pool.Observe(host)
			enqueueConsumer(host, queue)
			for _, claim := range r.hostToSuccessor(ctx, host) {
				queue.Add(claim)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue requests) { seen(ctx, e.Object, queue) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue requests) {
			if before, ok := e.ObjectOld.(*bmov1alpha1.BareMetalHost); ok {
				enqueueConsumer(before, queue)
			}
			seen(ctx, e.ObjectNew, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue requests) {
			r.Pool.Forget(client.ObjectKeyFromObject(e.Object))
			if host, ok := e.Object.(*bmov1alpha1.BareMetalHost); ok {
				enqueueConsumer(host, queue)
			}
			for _, claim := range r.FactsToClaims(ctx, e.Object) {
				queue.Add(claim)
			}
		},
	}
}

func enqueueConsumer(host *bmov1alpha1.BareMetalHost, queue requests) {
	if binding.ConsumerKey(host) != "" {
		ref := host.Spec.ConsumerRef
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}})
	}
}

// hostToSuccessor wakes the claim that is to take a host over from a machine of CAPM3.
func (r *Reconciler) hostToSuccessor(ctx context.Context, host *bmov1alpha1.BareMetalHost) []reconcile.Request {
	if !binding.OfMachine(host) {
		return nil
	}
	return r.claims(ctx, client.InNamespace(host.Namespace), client.MatchingFields{claimsByTakeOver: host.Name})
}

// policyToClaims wakes the claims that a policy may let in, and those that have a host under
// it. A pass that is under way may have read the policies before, so its claim counts as
// waiting.
func (r *Reconciler) policyToClaims(ctx context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, key := range r.Pool.Waiting() {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	return append(out, r.claims(ctx, client.MatchingFields{claimsByHostNamespace: object.GetNamespace()})...)
}

// namespaceToClaims wakes the claims of a namespace whose labels changed.
func (r *Reconciler) namespaceToClaims(ctx context.Context, object client.Object) []reconcile.Request {
	return r.claims(ctx, client.InNamespace(object.GetName()))
}

// mayMoveChanged lets a Namespace through whose hosts may move now, or may not any more.
func mayMoveChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		const key = infrav1.HostsMayMoveAnnotation
		return e.ObjectOld.GetAnnotations()[key] != e.ObjectNew.GetAnnotations()[key]
	}}
}

// KindToClaims wakes the claims that may wait for clusterctl's label on a
// CustomResourceDefinition.
func (r *Reconciler) KindToClaims(ctx context.Context, _ client.Object) []reconcile.Request {
	return watch.RequestsFrom(ctx, r.Client, &bmov1alpha1.HostClaimList{}, func(claim *bmov1alpha1.HostClaim) []reconcile.Request {
		if !binding.OnHold(claim) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: keyOf(claim)}}
	})
}

// FactsToClaims wakes the claim that publishes, or would like to publish, the
// facts of its host under the name of an object.
func (r *Reconciler) FactsToClaims(ctx context.Context, object client.Object) []reconcile.Request {
	return r.claims(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{claimsByFacts: object.GetName()})
}

// SecretToClaims wakes the claims that a Secret concerns; with an empty name,
// those that may have waited for rights in the namespace.
func (r *Reconciler) SecretToClaims(ctx context.Context, namespace, name string) []reconcile.Request {
	if name == "" {
		return append(r.claims(ctx, client.InNamespace(namespace)),
			r.claims(ctx, client.MatchingFields{claimsByHostNamespace: namespace})...)
	}
	return append(r.claims(ctx, client.MatchingFields{ClaimsBySecret: namespace + "/" + name}),
		r.claims(ctx, client.MatchingFields{ClaimsBySecret: name})...)
}

// claims lists claims from the cache.
func (r *Reconciler) claims(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return watch.RequestsFor(ctx, r.Client, &bmov1alpha1.HostClaimList{}, options...)
}
