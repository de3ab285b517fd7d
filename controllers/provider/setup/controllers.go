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
	"fmt"
	"net/http"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/consistent"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/queue"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/watch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/data"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/hostclaims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/machine"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/machinetemplate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remediation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup/kubeconfigreader"
)

// reporter is the name under which events are emitted.
const reporter = "capm3"

// shared is what several controllers use.
type shared struct {
	mgr     ctrl.Manager
	client  client.Client // reads its own writes
	options Options
	claims  hostclaims.Clients
	local   *watch.Kinds
	remote  *remote.Registry
	secrets *secretwatch.Watch
	nodes   nodes.Nodes
	clock   clock.PassiveClock
}

// addControllers adds all controllers, with what they share.
func addControllers(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	s, err := newShared(ctx, mgr, o)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		kind    string
		workers int
		add     func(context.Context, *shared, controller.Options) error
	}{
		{"Metal3Cluster", o.Concurrency.Cluster, addCluster},
		{"Metal3Machine", o.Concurrency.Machine, addMachine},
		{"Metal3MachineTemplate", o.Concurrency.MachineTemplate, addMachineTemplate},
		{"Metal3DataTemplate", o.Concurrency.DataTemplate, addDataTemplate},
		{"Metal3Data", o.Concurrency.Data, addData},
		{"Metal3Remediation", o.Concurrency.Remediation, addRemediation},
	} {
		options := controller.Options{MaxConcurrentReconciles: c.workers, RateLimiter: queue.Limiter()}
		options.NewQueue = queue.New(c.workers, nil)
		if err := c.add(ctx, s, options); err != nil {
			return fmt.Errorf("set up the controller of %s: %w", c.kind, err)
		}
	}
	return nil
}

// addIndexes adds the field indexes of all controllers.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, add := range []func(context.Context, client.FieldIndexer) error{
		watch.IndexByCluster(&clusterv1.Machine{}, &infrav1.Metal3Machine{}, &infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{}),
		machine.SetupIndexes,
		machinetemplate.SetupIndexes,
		datatemplate.SetupIndexes,
		data.SetupIndexes,
		remediation.SetupIndexes,
	} {
		if err := add(ctx, indexer); err != nil {
			return err
		}
	}
	return nil
}

func newShared(ctx context.Context, mgr ctrl.Manager, o Options) (*shared, error) {
	secrets, err := secretwatch.NewForConfig(mgr.GetConfig(), machine.ExportLabels()...)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(secrets); err != nil {
		return nil, fmt.Errorf("add the watch on secrets: %w", err)
	}
	limiter, err := transport.NewReadLimiter(o.ReadRate<<20, clock.RealClock{}, mgr.GetLogger(), metrics.Registry)
	if err != nil {
		return nil, err
	}
	workload, err := newNodes(ctx, mgr, o, limiter)
	if err != nil {
		return nil, err
	}
	registry, err := newRemote(ctx, mgr, o, secrets, limiter)
	if err != nil {
		return nil, err
	}
	// a cluster whose machines all have an identityRef needs neither kind
	local := watch.NewKinds(mgr, hostclaims.SetupIndexes, &bmov1alpha1.HostClaim{}, &bmov1alpha1.HardwareData{})
	writer, err := consistent.New(mgr.GetClient(),
		&infrav1.Metal3Cluster{}, &infrav1.Metal3Machine{}, &infrav1.Metal3MachineTemplate{}, &infrav1.Metal3Remediation{},
		&infrav1.Metal3DataTemplate{}, &infrav1.Metal3DataClaim{}, &infrav1.Metal3Data{},
		&bmov1alpha1.HostClaim{}, &ipamv1alpha1.IPClaim{}, &capipamv1.IPAddressClaim{})
	if err != nil {
		return nil, fmt.Errorf("client that reads its own writes: %w", err)
	}
	return &shared{
		mgr:     mgr,
		client:  writer,
		options: o,
		claims:  hostclaims.Clients{Client: writer, Live: mgr.GetAPIReader(), Local: local, Remote: registry},
		local:   local,
		remote:  registry,
		secrets: secrets,
		nodes:   workload,
		clock:   clock.RealClock{},
	}, nil
}

// newNodes makes the connections to workload clusters.
func newNodes(ctx context.Context, mgr ctrl.Manager, o Options, limiter *transport.ReadLimiter) (nodes.Nodes, error) {
	denied, err := newDenied(ctx, "workload-denied-addresses", o.WorkloadDenied, mgr.GetAPIReader(), mgr.GetCache())
	if err != nil {
		return nodes.Nodes{}, err
	}
	kubeconfigs, err := kubeconfigreader.New(kubeconfigreader.Options{
		Secrets: mgr.GetAPIReader(), UserAgent: userAgent,
		Denied: denied, Proxy: http.ProxyFromEnvironment,
		ReadLimiter: limiter, MaxConnections: o.WorkloadConnections,
	})
	if err != nil {
		return nodes.Nodes{}, err
	}
	if err := onClusterGone(ctx, mgr.GetCache(), kubeconfigs.Forget); err != nil {
		return nodes.Nodes{}, err
	}
	workers := o.Concurrency.ClusterCache
	connections, err := clustercache.SetupWithManager(ctx, quietManager{mgr}, clusterCacheOptions(o, kubeconfigs), controller.Options{
		MaxConcurrentReconciles: workers,
		// Clusters that answer slowly share the workers with those that do not.
		NewQueue: queue.New(workers, nil),
	})
	if err != nil {
		return nodes.Nodes{}, fmt.Errorf("set up connections to workload clusters: %w", err)
	}
	if err := mgr.Add(closing(connections)); err != nil {
		return nodes.Nodes{}, fmt.Errorf("add the end of connections to workload clusters: %w", err)
	}
	return nodes.Nodes{Cache: connections, Refusals: kubeconfigs}, nil
}

// newRemote makes the connections to the clusters that hold hosts of identityRefs.
func newRemote(ctx context.Context, mgr ctrl.Manager, o Options, secrets *secretwatch.Watch, limiter *transport.ReadLimiter) (*remote.Registry, error) {
	denied, err := newDenied(ctx, "identity-denied-addresses", o.IdentityDenied, mgr.GetAPIReader(), mgr.GetCache())
	if err != nil {
		return nil, err
	}
	registry, err := remote.New(remote.Options{
		Live:        mgr.GetAPIReader(),
		Secrets:     secrets,
		Metrics:     metrics.Registry,
		UserAgent:   userAgent,
		Denied:      denied,
		ReadLimiter: limiter,

		MaxConnections:   o.IdentityConnections,
		ConnectionMemory: o.IdentityConnectionMemory << 20,
		Memory:           o.IdentityMemory << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("set up connections to other clusters: %w", err)
	}
	if err := mgr.Add(registry); err != nil {
		return nil, fmt.Errorf("add the connections to other clusters: %w", err)
	}
	return registry, nil
}

// closing ends the connections to workload clusters with the manager, instead of
// leaving their watches to the end of the process.
func closing(connections clustercache.ClusterCache) manager.RunnableFunc {
	return func(ctx context.Context) error {
		<-ctx.Done()
		if c, ok := connections.(interface{ Shutdown() }); ok {
			c.Shutdown()
		}
		return nil
	}
}

func addCluster(ctx context.Context, s *shared, options controller.Options) error {
	return (&cluster.Reconciler{
		Client:      s.client,
		Recorder:    s.mgr.GetEventRecorder(reporter),
		Remote:      s.remote,
		Clock:       s.clock,
		WatchFilter: s.options.WatchFilter,
	}).SetupWithManager(ctx, s.mgr, options)
}

func addMachine(ctx context.Context, s *shared, options controller.Options) error {
	measurements := machine.NewMetrics(metrics.Registry)
	if err := onClusterGone(ctx, s.mgr.GetCache(), measurements.Forget); err != nil {
		return err
	}
	// A pass that would wait for its connection does not begin.
	options.NewQueue = queue.New(options.MaxConcurrentReconciles, func(r ctrl.Request) string {
		return s.remote.ConnectionOf(remote.User{Kind: claims.MachineKind, NamespacedName: r.NamespacedName})
	})
	return (&machine.Reconciler{
		Client:      s.client,
		Live:        s.mgr.GetAPIReader(),
		HostClaims:  s.claims,
		Nodes:       s.nodes,
		Secrets:     s.secrets,
		Recorder:    s.mgr.GetEventRecorder(reporter),
		Metrics:     measurements,
		Clock:       s.clock,
		KeepFor:     s.options.NodeReuseTimeout,
		WatchFilter: s.options.WatchFilter,

		UpdatesInPlace: s.options.RuntimeExtensionPort != 0,
	}).SetupWithManager(ctx, s.mgr, s.local, options)
}

// onClusterGone calls a function for each Cluster that is deleted.
func onClusterGone(ctx context.Context, from cache.Cache, forget func(namespace, name string)) error {
	clusters, err := from.GetInformer(ctx, &clusterv1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Clusters: %w", err)
	}
	_, err = clusters.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if cluster, err := toolscache.DeletionHandlingObjectToName(object); err == nil {
			forget(cluster.Namespace, cluster.Name)
		}
	}})
	return err
}

func addMachineTemplate(ctx context.Context, s *shared, options controller.Options) error {
	return (&machinetemplate.Reconciler{
		Client:      s.client,
		Hosts:       s.claims,
		Remote:      s.remote,
		Recorder:    s.mgr.GetEventRecorder(reporter),
		WatchFilter: s.options.WatchFilter,
	}).SetupWithManager(ctx, s.mgr, s.local, options)
}

func addRemediation(ctx context.Context, s *shared, options controller.Options) error {
	return (&remediation.Reconciler{
		Client:      s.client,
		Live:        s.mgr.GetAPIReader(),
		Claims:      s.claims,
		Local:       s.local,
		Remote:      s.remote,
		Nodes:       nodes.Nodes{Cache: s.nodes.Cache, Refusals: s.nodes.Refusals, Watcher: "remediation-nodes"},
		Recorder:    s.mgr.GetEventRecorder(reporter),
		Metrics:     remediation.NewMetrics(metrics.Registry),
		Clock:       s.clock,
		WatchFilter: s.options.WatchFilter,
	}).SetupWithManager(ctx, s.mgr, options)
}

func addDataTemplate(ctx context.Context, s *shared, options controller.Options) error {
	return (&datatemplate.Reconciler{
		Client:      s.client,
		Live:        s.mgr.GetAPIReader(),
		Clock:       s.clock,
		AtOnce:      options.MaxConcurrentReconciles,
		WatchFilter: s.options.WatchFilter,
	}).SetupWithManager(ctx, s.mgr, options)
}

func addData(ctx context.Context, s *shared, options controller.Options) error {
	return newData(s, data.NewMetrics(metrics.Registry)).SetupWithManager(ctx, s.mgr, s.local, s.remote, options)
}

func newData(s *shared, measurements *data.Metrics) *data.Reconciler {
	return &data.Reconciler{
		Client:           s.client,
		Live:             s.mgr.GetAPIReader(),
		Hosts:            s.claims,
		Secrets:          s.secrets,
		Recorder:         s.mgr.GetEventRecorder(reporter),
		Metrics:          measurements,
		Clock:            s.clock,
		WatchFilter:      s.options.WatchFilter,
		ClaimsByHostName: s.options.ClaimsByHostName,
	}
}
