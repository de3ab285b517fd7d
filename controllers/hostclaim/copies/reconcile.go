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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
)

// Reconciler deletes copies whose claim does not exist any more. The release of a
// host has deleted what was there; this is for a manager that stalled before it
// created a copy, and went on when the host had been released.
type Reconciler struct {
	// Client reads claims from the cache, and deletes.
	Client client.Client
	// Live reads from the API server: what the cache does not show, and Secrets.
	Live client.Reader
	// Secrets sees the copies next to hosts.
	Secrets SecretWatch
}

// SecretWatch is the part of secretwatch.Watch that the reconciler uses.
type SecretWatch interface {
	Ensure(namespace string)
	Where(name string) []string
}

// Reconcile deletes a Secret that has the name of a copy if its claim does not exist.
// The cache decides that a copy is needed, since a later event reads the copy again;
// only the API server decides that the claim does not exist.
//
// Tenants write Secrets too, so each check that costs a request comes after those that
// cost none: copies are next to hosts only, and name the namespace of their claim. A
// deletion that is refused is not tried again, since the right will not come back by it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
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
	uid := types.UID(secret.Labels[infrav1.SecretClaimUIDLabel])
	if !isCopy(secret) || binding.CopiedFrom(&secret) == "" || binding.CopyName(uid, binding.SecretKind(secret.Labels[infrav1.SecretKindLabel])) != req.Name {
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

// hasHosts reports whether the cache shows a host in a namespace. The API server deletes the
// copies of a host that is gone, since the host owns them.
func (r *Reconciler) hasHosts(ctx context.Context, namespace string) (bool, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, hosts, client.InNamespace(namespace), client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("look for hosts beside a copy: %w", err)
	}
	return len(hosts.Items) > 0, nil
}

// needed reports whether the claim of a copy exists, or a host names it: the release of that
// host deletes the copies.
func (r *Reconciler) needed(ctx context.Context, secret metav1.Object, uid types.UID) (bool, error) {
	for _, known := range []struct {
		list  client.ObjectList
		field string
	}{
		{&bmov1alpha1.HostClaimList{}, ClaimsByUID},
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
	return slices.ContainsFunc(claims.Items, func(claim bmov1alpha1.HostClaim) bool { return claim.UID == uid }), nil
}
