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

package guest

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

// NewScheme knows the kinds that a guest reads in the management cluster.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme))
}

// Setup adds a guest to a manager, with clusters of its own.
func Setup(mgr ctrl.Manager) error {
	// One pending wake-up stands for any number of them.
	wake := make(chan event.GenericEvent, 1)
	clusters, err := workload.New(mgr.GetLogger().WithName("workload"), func() {
		select {
		case wake <- event.GenericEvent{Object: &bmov1alpha1.BareMetalHost{}}:
		default:
		}
	})
	if err != nil {
		return err
	}
	if err := mgr.Add(clusters); err != nil {
		return err
	}
	r := &Reconciler{
		Hosts: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Clusters: clusters,
		Clock: clock.RealClock{}, Started: clock.RealClock{}.Now(),
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("guest").
		For(&bmov1alpha1.BareMetalHost{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.notePower))).
		WatchesRawSource(source.Channel(wake, handler.EnqueueRequestsFromMapFunc(r.waitingHosts))).
		WithLogConstructor(func(req *reconcile.Request) logr.Logger {
			logger := mgr.GetLogger().WithName("guest")
			if req == nil {
				return logger
			}
			return logger.WithValues("host", req.NamespacedName)
		}).
		Complete(r)
}

// notePower sees every version of a host, of which Reconcile may miss one that did not last. Each is
// of interest.
func (r *Reconciler) notePower(object client.Object) bool {
	host, ok := object.(*bmov1alpha1.BareMetalHost)
	switch {
	case !ok || unmanaged(host):
	case !host.Status.PoweredOn:
		r.book.powerLost(client.ObjectKeyFromObject(host))
	case observe(host).reboots:
		r.book.rebootAsked(client.ObjectKeyFromObject(host))
	}
	return true
}

// waitingHosts maps a wake-up to the hosts that it may help.
func (r *Reconciler) waitingHosts(context.Context, client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, host := range r.book.waiting() {
		requests = append(requests, reconcile.Request{NamespacedName: host})
	}
	return requests
}
