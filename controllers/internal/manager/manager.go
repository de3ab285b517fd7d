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
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// RESTConfig returns a copy of config with the limits of the options and the
// name under which audit logs show the manager.
func (o Options) RESTConfig(config *rest.Config, userAgent string) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.UserAgent = o.API.QPS, o.API.Burst, userAgent
	return config
}

// ManagerOptions returns what the options mean for a manager whose lease has
// that name. Scheme, cache and client are left to the caller.
func (o Options) ManagerOptions(lease string) (ctrl.Options, error) {
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
		LeaderElectionID:              lease,
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

// garbagePercent is how much garbage there may be, in percent of what is in use. Most of a manager's
// memory are its caches, which stay, and collection is little of its processor time.
const garbagePercent = 80

// BoundGarbage has garbage collected earlier than Go does by itself, which is at 100 percent, unless
// the environment variable GOGC is set.
func BoundGarbage() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
}
