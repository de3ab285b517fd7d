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

	"k8s.io/client-go/rest"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/inplace"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/webhooks"
)

// leaderElectionID is the name of the lease.
const leaderElectionID = "controller-leader-election-capm3"

// Main is the main function of the manager.
func Main() {
	o := NewOptions()
	manager.Main("manager", &o, func(ctx context.Context, restConfig *rest.Config) (ctrl.Manager, error) {
		return NewManager(ctx, restConfig, o)
	})
}

// NewManager returns a manager with everything set up, ready to start.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options) (ctrl.Manager, error) {
	mgr, err := o.New(ctx, restConfig, manager.Definition{
		UserAgent: userAgent, Lease: leaderElectionID, CRDs: neededCRDs(), NewScheme: NewScheme, Cache: CacheOptions(o), Client: ClientOptions(),
	})
	if err != nil {
		return nil, err
	}
	if err := manager.CountRights(ctx, mgr.GetClient(), metrics.Registry, "capm3_rights_in_all_namespaces", tenantRights()...); err != nil {
		return nil, err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return nil, err
	}
	if err := errors.Join(addMigrator(ctx, mgr, o), addExtension(mgr, o)); err != nil {
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
		runtimeserver.Options{Port: o.RuntimeExtensionPort, CertDir: o.WebhookCertDir, TLSOpts: tlsOptions})
	if err != nil {
		return err
	}
	return mgr.Add(server)
}
