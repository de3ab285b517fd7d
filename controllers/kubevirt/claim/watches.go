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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/utils/clock"
	virtv1 "kubevirt.io/api/core/v1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/kubevirt/virtualmachine"
)

const (
	claimsByUID     = "claim.uid"     // claims by their UID
	claimsBySecret  = "claim.secret"  // claims by namespace/name of the Secrets that they name
	claimsOfClasses = "claim.ofClass" // claims with a class by their namespace
)

// AddIndexes declares the field indexes of claims. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	claim := &bmov1alpha1.HostClaim{}
	return watch.AddIndexes(ctx, indexer,
		watch.Field{Object: claim, Name: claimsByUID, Values: watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			return []string{string(c.UID)}
		})},
		watch.Field{Object: claim, Name: claimsBySecret, Values: watch.Index(func(c *bmov1alpha1.HostClaim) (names []string) {
			for _, reference := range references(c) {
				if reference != nil && hostclass.Name(c) != "" {
					names = append(names, c.Namespace+"/"+reference.Name)
				}
			}
			return names
		})},
		watch.Field{Object: claim, Name: claimsOfClasses, Values: watch.Index(func(c *bmov1alpha1.HostClaim) []string {
			if hostclass.Name(c) == "" {
				return nil
			}
			return []string{c.Namespace}
		})})
}

// SetupWithManager registers the watches that wake claims. There is no other way to be woken: nothing is polled.
//
//	what changes                      which claims
//	the claim, status included        itself
//	a VirtualMachine, a DataVolume,
//	a HardwareData                    the one whose UID it carries
//	a HostClaimClass                  those that name it
//	the labels of a Namespace         those in it
//	a Secret                          those that name it
//	rights on Secrets of a namespace  those in it
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, secrets *secretwatch.Watch) error {
	made := handler.EnqueueRequestsFromMapFunc(r.madeToClaims)
	return ctrl.NewControllerManagedBy(mgr).Named("hostclaim").For(&bmov1alpha1.HostClaim{}).WithOptions(options).
		Watches(&virtv1.VirtualMachine{}, made).Watches(&cdiv1.DataVolume{}, made).Watches(&bmov1alpha1.HardwareData{}, made).
		Watches(&hostclaimv1.HostClaimClass{}, handler.EnqueueRequestsFromMapFunc(r.classToClaims)).
		Watches(watch.Namespace(), handler.EnqueueRequestsFromMapFunc(r.namespaceToClaims), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(secrets.Source(r.secretToClaims)).
		Complete(queue.Spaced(r, clock.RealClock{}))
}

// madeToClaims wakes the claim that an object was made for.
func (r *Reconciler) madeToClaims(ctx context.Context, o client.Object) []ctrl.Request {
	return r.claims(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{claimsByUID: o.GetLabels()[virtualmachine.ClaimLabel]})
}

func (r *Reconciler) classToClaims(ctx context.Context, class client.Object) []ctrl.Request {
	return r.claims(ctx, client.MatchingLabels{infrav1.ClassLabel: class.GetName()})
}

func (r *Reconciler) namespaceToClaims(ctx context.Context, namespace client.Object) []ctrl.Request {
	return r.claims(ctx, client.MatchingFields{claimsOfClasses: namespace.GetName()})
}

// secretToClaims wakes the claims that name a Secret; with an empty name, those that may have waited for rights.
func (r *Reconciler) secretToClaims(ctx context.Context, namespace, name string) []ctrl.Request {
	if name == "" {
		return r.claims(ctx, client.MatchingFields{claimsOfClasses: namespace})
	}
	return r.claims(ctx, client.MatchingFields{claimsBySecret: namespace + "/" + name})
}

func (r *Reconciler) claims(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return watch.RequestsFor(ctx, r.Client, &bmov1alpha1.HostClaimList{}, options...)
}
