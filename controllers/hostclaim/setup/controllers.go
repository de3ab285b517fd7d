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

package setup

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/classes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/claim"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/orphan"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/policies"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/pool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/consistent"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretcopy"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
)

// AddControllers adds all controllers to a manager that was made with
// CacheOptions and ClientOptions. Their metrics go to the registry.
func AddControllers(ctx context.Context, mgr ctrl.Manager, o Options, registry prometheus.Registerer) error {
	indexer := mgr.GetFieldIndexer()
	if err := errors.Join(claim.AddIndexes(ctx, indexer), orphan.AddIndexes(ctx, indexer)); err != nil {
		return fmt.Errorf("declare the field indexes: %w", err)
	}
	recorder := mgr.GetEventRecorder(reporter)
	if err := policies.New(mgr.GetClient(), recorder, registry).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("controller of policies: %w", err)
	}
	if o.Namespace == "" { // one install in a cluster speaks for classes, which stand in no namespace
		of := &classes.Reconciler{Client: client.WithFieldOwner(mgr.GetClient(), infrav1.HostClaimManagerFieldOwner), Controller: hostclass.BareMetal()}
		if err := of.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("controller of classes: %w", err)
		}
	}
	secrets, err := secretwatch.NewForConfig(mgr.GetConfig(), binding.CopyKeys()...)
	if err != nil {
		return err
	}
	if err := mgr.Add(secrets); err != nil {
		return fmt.Errorf("add the watch on secrets: %w", err)
	}
	writer, err := consistent.New(client.WithFieldOwner(mgr.GetClient(), infrav1.HostClaimManagerFieldOwner),
		&bmov1alpha1.HostClaim{}, &bmov1alpha1.BareMetalHost{}, &bmov1alpha1.HardwareData{})
	if err != nil {
		return fmt.Errorf("client that reads its own writes: %w", err)
	}
	if err := addOrphans(mgr, writer, o, secrets, registry); err != nil {
		return fmt.Errorf("controller of orphaned hosts: %w", err)
	}
	if err := addCopies(mgr, writer, o, secrets); err != nil {
		return fmt.Errorf("controller of copied secrets: %w", err)
	}
	return addClaims(mgr, writer, o, secrets, registry)
}

// addCopies adds the controller of copies whose claim does not exist any more.
func addCopies(mgr ctrl.Manager, writer client.Client, o Options, secrets *secretwatch.Watch) error {
	reconciler := &orphan.CopyReconciler{
		Client:  writer,
		Live:    mgr.GetAPIReader(),
		Secrets: secrets,
	}
	return reconciler.SetupWithManager(mgr,
		controller.Options{MaxConcurrentReconciles: o.Concurrency, RateLimiter: queue.Limiter()},
		secrets.Source(reconciler.SecretToCopies))
}

// addOrphans adds the controller of hosts whose claim does not exist any more.
func addOrphans(mgr ctrl.Manager, writer client.Client, o Options, secrets *secretwatch.Watch, registry prometheus.Registerer) error {
	reconciler := &orphan.Reconciler{
		Releaser: claim.Releaser{Client: writer, Live: mgr.GetAPIReader(), Secrets: secrets, Clock: clock.RealClock{}},
		Recorder: mgr.GetEventRecorder(reporter),
		Grace:    o.OrphanGrace,
	}
	registry.MustRegister(reconciler)
	return reconciler.SetupWithManager(mgr,
		controller.Options{MaxConcurrentReconciles: o.Concurrency, RateLimiter: queue.Limiter()},
		secrets.Source(reconciler.SecretToHosts))
}

// addClaims adds the controller of claims with its pool.
func addClaims(mgr ctrl.Manager, writer client.Client, o Options, secrets *secretwatch.Watch, registry prometheus.Registerer) error {
	free := pool.New()
	registry.MustRegister(free)
	denied, err := o.deniedImages()
	if err != nil {
		return fmt.Errorf("read --image-denied-addresses: %w", err)
	}
	reconciler := &claim.Reconciler{
		Client:       writer,
		Live:         mgr.GetAPIReader(),
		Pool:         free,
		Policies:     &policies.Evaluator{Cached: writer, Live: mgr.GetAPIReader(), Own: policy.Own(o.RequirePolicyInOwnNamespace)},
		Budget:       &secretcopy.Budget{},
		Secrets:      secrets,
		Recorder:     mgr.GetEventRecorder(reporter),
		Metrics:      claim.NewMetrics(registry, mgr.GetClient()),
		Clock:        clock.RealClock{},
		DeniedImages: denied,
	}
	others, err := foreignFacts(mgr, o)
	if err != nil {
		return err
	}
	kinds, err := addKinds(mgr, o)
	if err != nil {
		return err
	}
	reconciler.Kinds = kinds
	options := controller.Options{
		MaxConcurrentReconciles: o.Concurrency, RateLimiter: queue.Limiter(),
		NewQueue: queue.New(o.Concurrency, nil), // a backlog of one tenant does not hold up the claims of another
	}
	more := append(kinds.sources(reconciler.KindToClaims), secrets.Source(reconciler.SecretToClaims),
		source.Kind[client.Object](others, factsMetadata(), handler.EnqueueRequestsFromMapFunc(reconciler.FactsToClaims)))
	return reconciler.SetupWithManager(mgr, options, more...)
}

// addKinds adds the caches of the definitions that claims depend on, and the controller that keeps them complete. One
// install in a cluster does that, or two releases would undo what the other does: the one that serves the webhooks.
func addKinds(mgr ctrl.Manager, o Options) (*moveKinds, error) {
	if o.Namespace != "" || o.WebhookPort == 0 {
		return newMoveKinds(mgr)
	}
	kinds, err := newMoveKinds(mgr, "hostdeploypolicies.metal3.io")
	if err != nil {
		return nil, err
	}
	return kinds, addDefinitions(mgr, kinds.caches)
}
