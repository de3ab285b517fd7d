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
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/preflight"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/webhooks"
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
	mgr, err := NewManager(ctx, restConfig, o)
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Starting provider manager", "version", Version())
	return mgr.Start(ctx)
}

// NewManager returns a manager with everything set up, ready to start.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options) (ctrl.Manager, error) {
	restConfig = rest.CopyConfig(restConfig)
	restConfig.QPS, restConfig.Burst, restConfig.UserAgent = o.API.QPS, o.API.Burst, userAgent
	restConfig.WarningHandler = apiwarnings.DefaultHandler(ctrl.LoggerFrom(ctx).WithName("API server warning"))
	tlsOptions, metrics, err := flags.GetManagerOptions(o.Serving)
	if err != nil {
		return nil, fmt.Errorf("TLS and diagnostics: %w", err)
	}
	if err := preflight.Await(ctx, restConfig, neededKinds()...); err != nil {
		return nil, err
	}
	managerOptions, err := managerOptions(o, tlsOptions, *metrics)
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
	return mgr, addServers(mgr, o)
}

func managerOptions(o Options, tlsOptions []func(*tls.Config), metrics metricsserver.Options) (ctrl.Options, error) {
	scheme, err := NewScheme()
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("make the scheme: %w", err)
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		Cache:                         CacheOptions(o),
		Client:                        ClientOptions(),
		Controller:                    config.Controller{CacheSyncTimeout: 5 * time.Minute},
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElection.Enabled,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaderElection.LeaseDuration,
		RenewDeadline:                 &o.LeaderElection.RenewDeadline,
		RetryPeriod:                   &o.LeaderElection.RetryPeriod,
	}
	if o.WebhookPort != 0 {
		options.WebhookServer = webhook.NewServer(webhook.Options{
			Port: o.WebhookPort, CertDir: o.WebhookCertDir, TLSOpts: tlsOptions,
		})
	}
	return options, nil
}

// addServers adds webhooks and probes. A manager is ready when its webhooks
// answer, leader or not.
func addServers(mgr ctrl.Manager, o Options) error {
	check := healthz.Ping
	if o.WebhookPort != 0 {
		if err := webhooks.SetupWithManager(mgr); err != nil {
			return err
		}
		check = mgr.GetWebhookServer().StartedChecker()
	}
	return errors.Join(mgr.AddHealthzCheck("healthz", healthz.Ping), mgr.AddReadyzCheck("readyz", check))
}
