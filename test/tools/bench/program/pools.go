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

package program

import (
	"context"
	"fmt"
	"os"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// StartPools runs ip-address-manager with these flags, and the rights and the webhooks that its
// manifests give it, built if it was not yet.
func (r *Run) StartPools(ctx context.Context, s *site.Site, args ...string) (*site.Manager, error) {
	repo, err := components.FindRepo(".")
	if err != nil {
		return nil, err
	}
	if err := repo.Build(ctx, console.New(os.Stderr), components.IPAddressManager); err != nil {
		return nil, err
	}
	found, err := components.Lookup(components.IPAddressManager)
	if err != nil {
		return nil, err
	}
	p := site.Program{Name: components.IPAddressManager}
	if p.Path, err = repo.Binary(found[0]); err != nil {
		return nil, err
	}
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		return nil, err
	}
	if p.User, err = r.Server.InstallManager(ctx, components.IPAddressManager, webhooks); err != nil {
		return nil, err
	}
	p.Args = append([]string{fmt.Sprintf("--webhook-port=%d", webhooks.Port), "--webhook-cert-dir=" + webhooks.CertDir}, args...)
	return r.Start(ctx, s, p)
}
