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

package orphans

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/index"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/watching"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
)

// SetupWithManager registers the watches that wake hosts; see the package for what
// they are.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, more ...source.Source) error {
	watches := r.Watches()
	own, others := watches[0], watches[1:]
	build := ctrl.NewControllerManagedBy(mgr).
		Named("orphanedhost").
		For(own.Object, builder.WithPredicates(own.Predicates...)).
		WithOptions(options)
	return watching.Complete(build, others, more, queue.Conflicts(r))
}

// Watches is the table of SetupWithManager, the hosts themselves first. Tests
// deliver the events of these watches themselves.
func (r *Reconciler) Watches() []watching.Watch {
	return []watching.Watch{
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: &handler.EnqueueRequestForObject{}, Predicates: []predicate.Predicate{ours()}},
		{Object: &bmov1alpha1.HostClaim{}, Handler: handler.EnqueueRequestsFromMapFunc(r.claimToHosts), Predicates: []predicate.Predicate{comesOrGoes()}},
	}
}

// ours lets hosts through that name a claim or carry traces of one, or did.
func ours() predicate.Predicate {
	concerns := func(object client.Object) bool {
		host, ok := object.(*bmov1alpha1.BareMetalHost)
		return ok && (binding.ConsumerKey(host) != "" || orphan.Stray(host))
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return concerns(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return concerns(e.ObjectOld) || concerns(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return concerns(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// comesOrGoes lets claims through that are created, deleted, or replaced while the
// watch was broken, and such whose status or record ceases to name a host.
func comesOrGoes() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, wasClaim := e.ObjectOld.(*bmov1alpha1.HostClaim)
			after, isClaim := e.ObjectNew.(*bmov1alpha1.HostClaim)
			if !wasClaim || !isClaim {
				return false
			}
			was, is := before.Status.BareMetalHost, after.Status.BareMetalHost
			intended, _ := binding.LastIntent(before)
			intends, _ := binding.LastIntent(after)
			return before.UID != after.UID || (was != nil && !equality.Semantic.DeepEqual(was, is)) ||
				(intended.UID != "" && intended.Host != intends.Host)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// claimToHosts wakes the hosts that name a claim, or carry its traces.
func (r *Reconciler) claimToHosts(ctx context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, value := range []string{object.GetNamespace() + "/" + object.GetName(), string(object.GetUID())} {
		hosts := &bmov1alpha1.BareMetalHostList{}
		if err := r.Client.List(ctx, hosts, client.MatchingFields{index.HostsByTrace: value}, client.UnsafeDisableDeepCopy); err != nil {
			// The cache does not hold the namespace; then no host is to be woken.
			ctrl.LoggerFrom(ctx).V(4).Info("No hosts to wake", "because", err.Error())
		}
		for i := range hosts.Items {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&hosts.Items[i])})
		}
	}
	return out
}

// SecretToHosts wakes the orphans of a namespace that may have waited for rights
// on its Secrets; a change of one Secret concerns none.
func (r *Reconciler) SecretToHosts(_ context.Context, namespace, name string) []reconcile.Request {
	if name != "" {
		return nil
	}
	var out []reconcile.Request
	for _, key := range r.told.in(namespace) {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	return out
}
