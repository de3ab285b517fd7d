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

package copies

import (
	"context"
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// The field indexes that find the claim and the host of a copy.
const (
	// ClaimsByUID finds the claim with a UID.
	ClaimsByUID = "claim.uid"
	// ClaimsBySecret finds claims by the secrets that concern them: those that they name, as
	// namespace/name, and their copies by name.
	ClaimsBySecret = "claim.secret"

	hostsByConsumerUID = "host.consumerUID"
)

// AddIndexes declares these. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, ClaimsByUID, watch.Index(uid[*bmov1alpha1.HostClaim])),
		indexer.IndexField(ctx, &bmov1alpha1.HostClaim{}, ClaimsBySecret, watch.Index(secrets)),
		indexer.IndexField(ctx, &bmov1alpha1.BareMetalHost{}, hostsByConsumerUID, watch.Index(uid[*bmov1alpha1.BareMetalHost])),
	)
}

func uid[T client.Object](object T) []string { return []string{string(claimOf(object))} }

func secrets(claim *bmov1alpha1.HostClaim) []string {
	out := binding.CopyNames(claim.UID)
	for _, kind := range binding.SecretKinds {
		if name := binding.SecretName(claim, kind); name != "" {
			out = append(out, claim.Namespace+"/"+name)
		}
	}
	return out
}

// claimOf is the UID of a claim, or of the one that a host names; empty for none.
func claimOf(object client.Object) types.UID {
	host, ok := object.(*bmov1alpha1.BareMetalHost)
	switch {
	case !ok:
		return object.GetUID()
	case binding.ConsumerKey(host) == "":
		return ""
	default:
		return host.Spec.ConsumerRef.UID
	}
}

// SetupWithManager registers the watches that look at copies. The caller brings a
// source for Secrets with SecretToCopies.
//
//	a Secret with the name of a copy   itself, unless the cache shows its claim
//	a claim goes                       its copies that the watch has seen
//	a host names its claim no more     the same
//	a policy                           none: Secrets of its namespace are watched from
//	                                   then on, as copies can be there
//
// A copy and the end of its claim are both seen, in one order or the other, and the later of
// the two events finds that the copy has no claim.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, more ...source.Source) error {
	build := ctrl.NewControllerManagedBy(mgr).Named("copiedsecret").WithOptions(options)
	return watch.Complete(build, r.Watches(), more, queue.Conflicts(r))
}

// Watches is the table of SetupWithManager; the model test delivers its events itself.
func (r *Reconciler) Watches() []watch.Row {
	return []watch.Row{
		{Object: &bmov1alpha1.HostClaim{}, Handler: handler.EnqueueRequestsFromMapFunc(r.toCopies), Predicates: []predicate.Predicate{ends()}},
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: handler.EnqueueRequestsFromMapFunc(r.toCopies), Predicates: []predicate.Predicate{ends()}},
		{Object: &bmov1alpha1.HostDeployPolicy{}, Handler: handler.EnqueueRequestsFromMapFunc(r.watchNamespace)},
	}
}

// ends lets claims through that are deleted, or replaced while the watch was
// broken, and hosts that cease to name their claim.
func ends() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before := claimOf(e.ObjectOld)
			return before != "" && before != claimOf(e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// toCopies returns the copies of a claim that the watch has seen.
func (r *Reconciler) toCopies(_ context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range binding.CopyNames(claimOf(object)) {
		for _, namespace := range r.Secrets.Where(name) {
			out = append(out, request(namespace, name))
		}
	}
	return out
}

// watchNamespace watches the Secrets of a namespace whose hosts claims of others
// may have.
func (r *Reconciler) watchNamespace(_ context.Context, object client.Object) []reconcile.Request {
	r.Secrets.Ensure(object.GetNamespace())
	return nil
}

// SecretToCopies returns a Secret that has the name of a copy and whose claim the
// cache does not show.
func (r *Reconciler) SecretToCopies(ctx context.Context, namespace, name string) []reconcile.Request {
	if !binding.IsCopyName(name) {
		return nil
	}
	claims := &bmov1alpha1.HostClaimList{}
	err := r.Client.List(ctx, claims, client.MatchingFields{ClaimsBySecret: name}, client.UnsafeDisableDeepCopy)
	if err == nil && len(claims.Items) > 0 {
		return nil
	}
	return []reconcile.Request{request(namespace, name)}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}
