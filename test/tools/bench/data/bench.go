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

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// bench is one run.
type bench struct {
	plan
	*program.Run

	site *site.Site
	// manager is the provider manager, ipam the ip-address-manager.
	manager, ipam *site.Manager
	*watcher
}

// counting leaves out the requests by which claims on templates are made.
func counting() site.Counting {
	return site.Counting{
		Resources: []string{
			"metal3datas", "metal3dataclaims", "metal3datatemplates", "metal3machines", "clusters", "machines",
			"hostclaims", "hardwaredata", "ippools", "ipclaims", "ipaddressclaims", "ipaddresses",
			"secrets", "namespaces", "events", "customresourcedefinitions",
		},
		Ours: []string{"POST metal3dataclaims"},
	}
}

func measure(ctx context.Context, run *program.Run) (err error) {
	b := &bench{plan: plans[run.Size], Run: run, watcher: newWatcher()}
	b.idle = cmp.Or(run.Idle, b.idle)
	if b.site, err = site.Open(run.Server, counting()); err != nil {
		return err
	}
	if err := run.Server.InstallRoles(ctx, harness.ProviderAccount()); err != nil {
		return err
	}
	if err := errors.Join(b.startProvider(ctx), b.startPools(ctx), b.watch(ctx, b.site)); err != nil {
		return errors.Join(err, b.stop())
	}
	err = program.InTurn(ctx, b.rendering,
		func(ctx context.Context) error { return b.crowd(ctx, templateForEachPool) },
		func(ctx context.Context) error { return b.crowd(ctx, templateForAll) },
		b.idleness, b.memory)
	return errors.Join(err, b.stop())
}

// startProvider runs the provider manager, with its default flags and the rights of
// its account.
func (b *bench) startProvider(ctx context.Context) (err error) {
	p := site.Program{
		Name: "provider", Path: b.Manager, User: harness.ProviderAccount().User(),
		Args: append([]string{"--webhook-port=0"}, b.ManagerArgs...),
	}
	if p.Path == "" {
		if p.Path, err = site.Build(ctx, b.Folder, p.Name, "."); err != nil {
			return err
		}
	}
	b.manager, err = b.start(ctx, p)
	return err
}

// startPools runs ip-address-manager with the rights and the webhooks that its
// manifests give it, built if it was not yet.
func (b *bench) startPools(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	if err := repo.Build(ctx, console.New(os.Stderr), components.IPAddressManager); err != nil {
		return err
	}
	found, err := components.Lookup(components.IPAddressManager)
	if err != nil {
		return err
	}
	p := site.Program{Name: components.IPAddressManager}
	if p.Path, err = repo.Binary(found[0]); err != nil {
		return err
	}
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		return err
	}
	if p.User, err = b.Server.InstallManager(ctx, components.IPAddressManager, webhooks); err != nil {
		return err
	}
	p.Args = []string{
		"--kube-api-qps=200", "--kube-api-burst=400",
		fmt.Sprintf("--webhook-port=%d", webhooks.Port), "--webhook-cert-dir=" + webhooks.CertDir,
	}
	b.ipam, err = b.start(ctx, p)
	return err
}

func (b *bench) start(ctx context.Context, p site.Program) (*site.Manager, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	return b.site.StartManager(ctx, p, b.Folder)
}

// stop ends what was started.
func (b *bench) stop() error {
	var problems error
	for _, m := range []*site.Manager{b.manager, b.ipam} {
		if m != nil {
			problems = errors.Join(problems, m.Stop())
		}
	}
	return problems
}

// idleness watches the manager while nothing happens.
func (b *bench) idleness(ctx context.Context) error {
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	return b.WatchIdle(ctx, b.manager, b.idle, fmt.Sprintf("%d Metal3Data", 2*b.machines()))
}

// memory looks at the manager as it is.
func (b *bench) memory(context.Context) error {
	now, peak, err := b.manager.Memory()
	b.Figures.Add(fmt.Sprintf("memory of the manager, %d Metal3Data", 2*b.machines()), now, "MiB")
	b.Figures.Add("  at most until then", peak, "MiB")
	return err
}
