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

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Definition is what one manager has besides the options that all have.
type Definition struct {
	// UserAgent names it in the audit logs of API servers, and Lease its leader.
	UserAgent, Lease string
	// CRDs are those that it cannot do without.
	CRDs []CRD
	// NewScheme returns the kinds that it reads or writes.
	NewScheme func() (*runtime.Scheme, error)
	// Cache is what it holds, and Client what it reads past that.
	Cache  cache.Options
	Client client.Options
}

// run runs a manager in the cluster of the kubeconfig until ctx ends.
func run(ctx context.Context, build Builder) error {
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster to work in: give --kubeconfig, set KUBECONFIG, or run in a Pod: %w", err)
	}
	if err := boundRequestMetrics(restConfig); err != nil {
		return fmt.Errorf("read the address of the API server: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Starting manager", "version", version.Get().GitVersion)
	mgr, err := build(ctx, restConfig)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// New returns a manager without controllers, if the API server serves what it needs.
func (o Options) New(ctx context.Context, restConfig *rest.Config, d Definition) (ctrl.Manager, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst, restConfig.UserAgent = o.API.QPS, o.API.Burst, d.UserAgent
	restConfig.WarningHandler = apiwarnings.DefaultHandler(ctrl.LoggerFrom(ctx).WithName("API server warning"))
	plain, err := client.New(restConfig, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server (is the kubeconfig right?): %w", err)
	}
	if err := requireCRDs(plain.RESTMapper(), d.CRDs); err != nil {
		return nil, err
	}
	options, err := o.managerOptions()
	if err != nil {
		return nil, err
	}
	if options.Scheme, err = d.NewScheme(); err != nil {
		return nil, fmt.Errorf("make the scheme: %w", err)
	}
	options.LeaderElectionID, options.Cache, options.Client = d.Lease, d.Cache, d.Client
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return mgr, nil
}

// managerOptions returns what the options mean for a manager.
func (o Options) managerOptions() (ctrl.Options, error) {
	tlsOptions, diagnostics, err := flags.GetManagerOptions(o.Serving)
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("TLS and diagnostics: %w", err)
	}
	options := ctrl.Options{
		Controller:                    controllers(),
		Metrics:                       *diagnostics,
		HealthProbeBindAddress:        o.HealthAddress,
		PprofBindAddress:              o.ProfilerAddress,
		LeaderElection:                o.LeaderElection.Enabled,
		LeaderElectionNamespace:       o.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaderElection.LeaseDuration,
		RenewDeadline:                 &o.LeaderElection.RenewDeadline,
		RetryPeriod:                   &o.LeaderElection.RetryPeriod,
	}
	if o.WebhookPort != 0 {
		options.WebhookServer = newBoundedServer(webhook.NewServer(webhook.Options{
			Port: o.WebhookPort, CertDir: o.WebhookCertDir, TLSOpts: tlsOptions,
		}))
	}
	return options, nil
}

// longestPass is how long a pass over an object may take. Requests end much sooner; this
// is for a pass that never comes to its end.
const longestPass = 2 * time.Minute

// controllers are the options of all controllers of a manager. The priority queue
// of this controller-runtime can block for good when it shuts down
// (kubernetes-sigs/controller-runtime#3538, mended in v0.25): the manager would
// then hold its lease until the grace period is over.
func controllers() config.Controller {
	return config.Controller{CacheSyncTimeout: 5 * time.Minute, ReconciliationTimeout: longestPass, UsePriorityQueue: ptr.To(false)}
}

// AddServers adds probes, and webhooks where there is a port for them. A manager
// is ready when its webhooks answer, leader or not.
func (o Options) AddServers(mgr ctrl.Manager, webhooks func(ctrl.Manager) error) error {
	ready := healthz.Ping
	if o.WebhookPort != 0 {
		if err := webhooks(mgr); err != nil {
			return err
		}
		ready = mgr.GetWebhookServer().StartedChecker()
	}
	return errors.Join(mgr.AddHealthzCheck("healthz", healthz.Ping), mgr.AddReadyzCheck("readyz", ready))
}
