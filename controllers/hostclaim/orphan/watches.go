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
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
)

const (
	// hostsByTrace finds hosts by namespace and name of the claim that they name, and strays by the UIDs
	// of the claims whose traces they carry.
	hostsByTrace = "host.trace"
	// hostsByConsumerUID finds the host that names the claim with a UID.
	hostsByConsumerUID = "host.consumerUID"
)

// AddIndexes declares the field indexes of both controllers. Call it before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, &bmov1alpha1.BareMetalHost{}, hostsByTrace, watch.Index(traces)),
		indexer.IndexField(ctx, &bmov1alpha1.BareMetalHost{}, hostsByConsumerUID, watch.Index(consumerUID)),
	)
}

func consumerUID(host *bmov1alpha1.BareMetalHost) []string { return []string{string(claimOf(host))} }

func traces(host *bmov1alpha1.BareMetalHost) []string {
	switch {
	case binding.ConsumerKey(host) != "":
		return []string{host.Spec.ConsumerRef.Namespace + "/" + host.Spec.ConsumerRef.Name}
	case Stray(host):
		return []string{string(StrayClaim(host)), string(Fencer(host))}
	default:
		return nil
	}
}

// SetupWithManager registers the watches of Watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, more ...source.Source) error {
	build := ctrl.NewControllerManagedBy(mgr).Named("orphanedhost").WithOptions(options)
	return watch.Complete(build, r.Watches(), more, queue.Conflicts(r))
}

// Watches is the table of SetupWithManager, the hosts themselves first. The model test delivers the
// events of these watches itself.
//
//	what changes                              which hosts
//	a host that names a claim or has traces   itself
//	a claim comes, goes or is replaced, or    those that name it, or have its traces
//	its status or record drops a host, or
//	its class is another one
//	a HostClaimClass                          those that name a claim of that class
//	rights on Secrets of a namespace          those that are being released there, see SecretToHosts
//
// The end of a grace wakes a host besides.
func (r *Reconciler) Watches() []watch.Row {
	return []watch.Row{
		{Object: &bmov1alpha1.BareMetalHost{}, Handler: &handler.EnqueueRequestForObject{}, Predicates: []predicate.Predicate{ours()}},
		{Object: &bmov1alpha1.HostClaim{}, Handler: handler.EnqueueRequestsFromMapFunc(r.claimToHosts), Predicates: []predicate.Predicate{comesOrGoes()}},
		{Object: &hostclaimv1.HostClaimClass{}, Handler: handler.EnqueueRequestsFromMapFunc(r.classToHosts)},
	}
}

// ours lets hosts through that name a claim or carry traces of one, or did.
func ours() predicate.Predicate {
	concerns := func(object client.Object) bool {
		host, ok := object.(*bmov1alpha1.BareMetalHost)
		return ok && (binding.ConsumerKey(host) != "" || Stray(host))
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerns(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return concerns(e.ObjectOld) || concerns(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return concerns(e.Object) },
	}
}

// comesOrGoes lets claims through that are created, deleted, or replaced while the watch was broken, and
// those whose status or record ceases to name or intend a host, or that name another class.
func comesOrGoes() predicate.Predicate {
	return watch.Whenever(func(before, after *bmov1alpha1.HostClaim) bool {
		was, is := before.Status.BareMetalHost, after.Status.BareMetalHost
		intended, _ := binding.LastIntent(before)
		intends, _ := binding.LastIntent(after)
		return hostclass.Name(before) != hostclass.Name(after) || (was != nil && !equality.Semantic.DeepEqual(was, is)) ||
			(binding.RecordOf(before) == binding.Intended && binding.RecordOf(after) != binding.Intended) ||
			(intended.UID != "" && intended.Host != intends.Host)
	})
}

// claimToHosts wakes the hosts that name a claim, or carry its traces.
func (r *Reconciler) claimToHosts(ctx context.Context, object client.Object) (out []reconcile.Request) {
	for _, value := range []string{object.GetNamespace() + "/" + object.GetName(), string(object.GetUID())} {
		out = append(out, watch.RequestsFor(ctx, r.Client, &bmov1alpha1.BareMetalHostList{}, client.MatchingFields{hostsByTrace: value})...)
	}
	return out
}

// classToHosts wakes the hosts that name a claim of a class: one that gets no server by it leaves them to their administrator.
func (r *Reconciler) classToHosts(ctx context.Context, class client.Object) []reconcile.Request {
	return watch.RequestsFrom(ctx, r.Client, &bmov1alpha1.HostClaimList{}, func(claim *bmov1alpha1.HostClaim) []reconcile.Request {
		return r.claimToHosts(ctx, claim)
	}, client.MatchingLabels{infrav1.ClassLabel: class.GetName()})
}

// SecretToHosts wakes the hosts of a namespace that are being released and may have waited for rights
// on its Secrets; a change of one Secret concerns none. Cleared takes the record of the bind off.
func (r *Reconciler) SecretToHosts(ctx context.Context, namespace, name string) []reconcile.Request {
	if name != "" {
		return nil
	}
	return watch.RequestsFrom(ctx, r.Client, &bmov1alpha1.BareMetalHostList{}, func(host *bmov1alpha1.BareMetalHost) []reconcile.Request {
		if !Suspect(host) || metav1.HasAnnotation(host.ObjectMeta, infrav1.BoundHostUIDAnnotation) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(host)}}
	}, client.InNamespace(namespace))
}

// orphans describes the metric of orphans.
func orphans() *prometheus.Desc {
	return prometheus.NewDesc("hostclaim_orphaned_hosts", "Hosts whose HostClaim does not exist any more.", []string{"namespace"}, nil)
}

// Describe names the metric of orphans.
func (r *Reconciler) Describe(out chan<- *prometheus.Desc) { out <- orphans() }

// Collect counts the orphans that the cache shows.
func (r *Reconciler) Collect(out chan<- prometheus.Metric) {
	hosts, claims := &bmov1alpha1.BareMetalHostList{}, &bmov1alpha1.HostClaimList{}
	ctx := context.Background()
	if errors.Join(r.Client.List(ctx, hosts, client.UnsafeDisableDeepCopy), r.Client.List(ctx, claims, client.UnsafeDisableDeepCopy)) != nil {
		return // before the cache is filled
	}
	byKey, counts := map[string]*bmov1alpha1.HostClaim{}, map[string]int{}
	for i := range claims.Items {
		byKey[claims.Items[i].Namespace+"/"+claims.Items[i].Name] = &claims.Items[i]
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		if !Suspect(host) {
			continue
		}
		claim := knowledge(host, byKey[host.Spec.ConsumerRef.Namespace+"/"+host.Spec.ConsumerRef.Name])
		if Next(Observed{Host: host, Claim: claim, Grace: r.Grace, Now: r.Clock.Now()}).Orphaned() {
			counts[host.Namespace]++
		}
	}
	for namespace, n := range counts {
		out <- prometheus.MustNewConstMetric(orphans(), prometheus.GaugeValue, float64(n), namespace)
	}
}
