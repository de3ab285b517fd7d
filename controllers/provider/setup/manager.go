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

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/inplace"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/webhooks"
)

// leaderElectionID is the name of the lease.
const leaderElectionID = "controller-leader-election-capm3"

// Run checks the options and the cluster, and runs the manager until ctx ends.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to work in: give --kubeconfig, set KUBECONFIG, or run in a Pod: %w", err)
	}
	manager.BoundGarbage()
	if err := manager.BoundRequestMetrics(restConfig); err != nil {
		return fmt.Errorf("read the address of the API server: %w", err)
	}
	mgr, err := NewManager(ctx, restConfig, o)
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Starting provider manager", "version", Version())
	return mgr.Start(ctx)
}

// NewManager returns a manager with everything set up, ready to start.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options) (ctrl.Manager, error) {
	restConfig = o.RESTConfig(restConfig, userAgent)
	restConfig.WarningHandler = apiwarnings.DefaultHandler(ctrl.LoggerFrom(ctx).WithName("API server warning"))
	if err := manager.RequireCRDs(restConfig, neededCRDs()...); err != nil {
		return nil, err
	}
	if err := manager.CountRights(ctx, restConfig, metrics.Registry, "capm3_rights_in_all_namespaces", tenantRights()...); err != nil {
		return nil, err
	}
	managerOptions, err := managerOptions(o)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(restConfig, managerOptions)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return nil, err
	}
	if err := addExtension(mgr, o); err != nil {
		return nil, err
	}
	return mgr, o.AddServers(mgr, webhooks.SetupWithManager)
}

// addExtension serves the hooks for updates in place where there is a port for them, by the
// leader and by all others.
func addExtension(mgr ctrl.Manager, o Options) error {
	if o.RuntimeExtensionPort == 0 {
		return nil
	}
	tlsOptions, _, err := flags.GetManagerOptions(o.Serving)
	if err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	server, err := inplace.NewServer(&inplace.Extension{Client: mgr.GetClient(), Live: mgr.GetAPIReader()},
		inplace.Serving{Port: o.RuntimeExtensionPort, CertDir: o.WebhookCertDir, TLS: tlsOptions})
	if err != nil {
		return err
	}
	return mgr.Add(server)
}

func managerOptions(o Options) (ctrl.Options, error) {
	options, err := o.ManagerOptions(leaderElectionID)
	if err != nil {
		return ctrl.Options{}, err
	}
	if options.Scheme, err = NewScheme(); err != nil {
		return ctrl.Options{}, fmt.Errorf("make the scheme: %w", err)
	}
	options.Cache, options.Client = CacheOptions(o), ClientOptions()
	return options, nil
}
