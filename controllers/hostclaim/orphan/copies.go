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

package orphan

import (
	"context"
	"fmt"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

// CopyReconciler deletes the copies of Secrets next to hosts whose claim does not exist any more. The
// release of a host has deleted what was there; this is for a manager that stalled before it
// created a copy, and went on when the host had been released, see docs/adr/0002.
type CopyReconciler struct {
	// Client reads claims from the cache, and deletes.
	Client client.Client
	// Live reads from the API server: what the cache does not show, and Secrets.
	Live client.Reader
	// Secrets sees the copies next to hosts.
	Secrets interface {
		Ensure(namespace string)
		Where(name string) []string
	}
}

// Reconcile deletes a Secret that has the name of a copy if its claim does not exist.
// The cache decides that a copy is needed, since a later event reads the copy again;
// only the API server decides that the claim does not exist.
//
// Tenants write Secrets too, so each check that costs a request comes after those that
// cost none: copies are next to hosts only, and name the namespace of their claim. A
// deletion that is refused is not tried again, since the right will not come back by it.
func (r *CopyReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if hosts, err := r.hasHosts(ctx, req.Namespace); err != nil || !hosts {
		return ctrl.Result{}, err
	}
	secret, err := secretcopy.Metadata(ctx, r.Live, req.NamespacedName)
	if apierrors.IsForbidden(err) {
		return ctrl.Result{}, nil // rights that come back show the Secret anew
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	uid, copied := copiedFor(&secret)
	if !copied {
		return ctrl.Result{}, nil
	}
	if needed, err := r.needed(ctx, &secret, uid); err != nil || needed {
		return ctrl.Result{}, err
	}
	if err := secretcopy.Delete(ctx, r.Client, secret); err != nil {
		err = fmt.Errorf("delete the copy of a claim that does not exist: %w", err)
		if apierrors.IsForbidden(err) {
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Deleted the copied Secret of a HostClaim that does not exist any more", "Secret", klog.KRef(req.Namespace, req.Name), "claimUID", uid)
	return ctrl.Result{}, nil
}

// copiedFor returns the UID of the claim that a Secret was copied for, and whether it has all marks of such a copy.
func copiedFor(secret metav1.Object) (types.UID, bool) {
	labels := secret.GetLabels()
	uid, kind := types.UID(labels[infrav1.SecretClaimUIDLabel]), binding.SecretKind(labels[infrav1.SecretKindLabel])
	return uid, uid != "" && kind != "" && binding.CopiedFrom(secret) != "" && binding.CopyName(uid, kind) == secret.GetName()
}

// hasHosts reports whether the cache shows a host in a namespace. The API server deletes the
// copies of a host that is gone, since the host owns them.
func (r *CopyReconciler) hasHosts(ctx context.Context, namespace string) (bool, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, hosts, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("look for hosts beside a copy: %w", err)
	}
	return len(hosts.Items) > 0, nil
}

// needed reports whether the claim of a copy exists, or a host names it: the release of that
// host deletes the copies.
func (r *CopyReconciler) needed(ctx context.Context, secret metav1.Object, uid types.UID) (bool, error) {
	for _, known := range []struct {
		list  client.ObjectList
		field string
	}{
		{&bmov1alpha1.HostClaimList{}, claim.ClaimsByUID},
		{&bmov1alpha1.BareMetalHostList{}, hostsByConsumerUID},
	} {
		err := r.Client.List(ctx, known.list, client.MatchingFields{known.field: string(uid)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return false, fmt.Errorf("look for the claim of a copy: %w", err)
		}
		if meta.LenList(known.list) > 0 {
			return true, nil
		}
	}
	claims := &bmov1alpha1.HostClaimList{}
	if err := r.Live.List(ctx, claims, client.InNamespace(binding.CopiedFrom(secret))); err != nil {
		return false, fmt.Errorf("look for the claim of a copy: %w", err)
	}
	return slices.ContainsFunc(claims.Items, func(c bmov1alpha1.HostClaim) bool { return c.UID == uid }), nil
}

// SetupWithManager registers the watches that look at copies. The caller brings a
// source for Secrets with SecretToCopies.
//
//	a Secret with the name of a copy   itself, unless the cache shows its claim
//	a claim goes                       its copies that the watch has seen
//	a host names its claim no more     the same
//	a host                             none: Secrets of its namespace are watched from
//	                                   then on, as copies can be there
//
// A copy and the end of its claim are both seen, in one order or the other, and the later of
// the two events finds that the copy has no claim.
func (r *CopyReconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, more ...source.Source) error {
	build := ctrl.NewControllerManagedBy(mgr).Named("copiedsecret").WithOptions(options)
	return watch.Complete(build, r.Watches(), more, queue.Conflicts(r))
}

// Watches is the table of SetupWithManager; the model test delivers its events itself.
func (r *CopyReconciler) Watches() []watch.Row {
	return []watch.Row{
		{Object: &bmov1alpha1.HostClaim{}, Handler: handler.EnqueueRequestsFromMapFunc(r.toCopies), Predicates: []predicate.Predicate{ends()}},
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: handler.EnqueueRequestsFromMapFunc(r.toCopies), Predicates: []predicate.Predicate{ends()}},
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: handler.EnqueueRequestsFromMapFunc(r.watchNamespace)},
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
	}
}

// claimOf returns the UID of a claim, or of the one that a host names; empty for none.
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

// toCopies returns the copies of a claim that the watch has seen.
func (r *CopyReconciler) toCopies(_ context.Context, object client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range binding.CopyNames(claimOf(object)) {
		for _, namespace := range r.Secrets.Where(name) {
			out = append(out, watch.Requests(namespace, name)...)
		}
	}
	return out
}

// watchNamespace watches the Secrets of a namespace with hosts: a copy may be left there, whether or not a
// policy lets claims of others have those hosts now.
func (r *CopyReconciler) watchNamespace(_ context.Context, object client.Object) []reconcile.Request {
	r.Secrets.Ensure(object.GetNamespace())
	return nil
}

// SecretToCopies returns a Secret that has the name of a copy and whose claim the
// cache does not show.
func (r *CopyReconciler) SecretToCopies(ctx context.Context, namespace, name string) []reconcile.Request {
	if !binding.IsCopyName(name) {
		return nil
	}
	claims := &bmov1alpha1.HostClaimList{}
	err := r.Client.List(ctx, claims, client.MatchingFields{claim.ClaimsBySecret: name}, client.UnsafeDisableDeepCopy)
	if err == nil && len(claims.Items) > 0 {
		return nil
	}
	return watch.Requests(namespace, name)
}
