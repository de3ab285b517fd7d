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
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/report"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// What a crowd asks.
const (
	templateForEachPool = false
	templateForAll      = true
)

// crowd lets all machines of a new namespace ask for their data at once.
func (b *bench) crowd(ctx context.Context, shared bool) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	tn := &tenant{Site: b.site, plan: b.plan, shared: shared, namespace: "bench-many-templates"}
	name := fmt.Sprintf("%d Metal3Data from %d templates and %d pools", b.machines(), b.pools, b.pools)
	if shared {
		tn.namespace = "bench-one-template"
		name = fmt.Sprintf("%d Metal3Data from one template and %d pools", b.machines(), b.pools)
	}
	program.Say("making %d machines", b.machines())
	first, err := tn.furnish(ctx, b.Server)
	if err != nil {
		return err
	}
	if _, err := b.claims.Await(ctx, ready, first); err != nil {
		return err
	}
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	before, err := b.count(ctx)
	if err != nil {
		return err
	}
	program.Say("asking for the data of all of them")
	lives, err := b.ask(ctx, tn)
	if err != nil {
		return err
	}
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	after, err := b.count(ctx)
	if err != nil {
		return err
	}
	b.addTimes(name, lives)
	return b.addCost(ctx, before, after)
}

// ask makes the claims as fast as the API server takes them, and returns what became
// of each when all are ready.
func (b *bench) ask(ctx context.Context, tn *tenant) ([]life, error) {
	keys := make([]types.NamespacedName, len(tn.machines))
	err := site.InParallel(ctx, 0, len(keys), func(ctx context.Context, n int) error {
		claim := tn.claim(n)
		keys[n] = client.ObjectKeyFromObject(claim)
		b.claims.Note(requested, keys[n], time.Now())
		return b.site.Create(ctx, claim)
	})
	if err != nil {
		return nil, err
	}
	if _, err := b.claims.Await(ctx, ready, keys...); err != nil {
		return nil, err
	}
	lives := make([]life, len(keys))
	for n, key := range keys {
		lives[n] = b.life(key)
	}
	return lives, nil
}

// addTimes notes how long it took and where the time went.
func (b *bench) addTimes(name string, lives []life) {
	begun, ended := lives[0].requested, lives[0].ready
	for _, l := range lives {
		if l.requested.Before(begun) {
			begun = l.requested
		}
		if l.ready.After(ended) {
			ended = l.ready
		}
	}
	b.Figures.Expect(name+", until all are ready", ended.Sub(begun).Seconds(), "s", 90)
	for _, part := range []struct {
		name string
		from func(life) time.Duration
	}{
		{"Metal3DataClaim until its Metal3Data", func(l life) time.Duration { return l.made.Sub(l.requested) }},
		{"Metal3Data until its claim on a pool", func(l life) time.Duration { return l.asked.Sub(l.made) }},
		{"ip-address-manager: claim on a pool until its address", func(l life) time.Duration { return l.answered.Sub(l.asked) }},
		{"address until the Metal3Data is ready", func(l life) time.Duration { return l.ready.Sub(l.answered) }},
	} {
		took := each(lives, part.from)
		b.Figures.Add("  "+part.name+", median", report.Quantile(took, 0.5).Seconds(), "s")
		b.Figures.Add("  "+part.name+", p99", report.Quantile(took, 0.99).Seconds(), "s")
	}
	b.Figures.Add("  ip-address-manager: first claim on a pool until last address", span(lives).Seconds(), "s")
	b.Figures.Add("  ip-address-manager: all that is left waits for it", allWait(lives).Seconds(), "s")
}

// counts are counters at one time.
type counts struct {
	requests map[string]float64
	// sent and cpu are of the manager, poolsCPU is of ip-address-manager.
	sent          float64
	cpu, poolsCPU time.Duration
	// data and templates are passes of controllers.
	data, templates float64
}

func (b *bench) count(ctx context.Context) (counts, error) {
	var c counts
	var errs [6]error
	c.requests, errs[0] = b.site.Requests(ctx)
	c.sent, errs[1] = b.manager.Sent(ctx)
	c.data, errs[2] = b.manager.ReconcilesOf(ctx, "metal3data")
	c.templates, errs[3] = b.manager.ReconcilesOf(ctx, "metal3datatemplate")
	c.cpu, errs[4] = b.manager.CPU()
	c.poolsCPU, errs[5] = b.ipam.CPU()
	return c, errors.Join(errs[:]...)
}

// addCost notes what was done for the crowd. The API server does not say who has
// asked it; sent is what the manager counts itself.
func (b *bench) addCost(ctx context.Context, before, after counts) error {
	number := float64(b.machines())
	requests, _, err := b.site.RequestsSince(ctx, before.requests, b.machines())
	provider, pools, lists := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for name, made := range requests {
		switch {
		case strings.HasPrefix(name, "LIST "):
			lists[name] = made * number
		case ofPools[strings.TrimSuffix(name, " (409)")]:
			pools[name] = made
		default:
			provider[name] = made
		}
	}
	b.Figures.Expect("  lists", sum(lists), "", 0)
	for name, made := range lists {
		b.Figures.Add("    "+name, made, "")
	}
	program.AddRequests(b.Figures, "requests of the manager for each of them", provider, (after.sent-before.sent)/number)
	program.AddRequests(b.Figures, "requests of ip-address-manager for each of them", pools, sum(pools))
	b.Figures.Add("  passes of metal3data for each of them", (after.data-before.data)/number, "")
	b.Figures.Add("  passes of metal3datatemplate", after.templates-before.templates, "")
	b.Figures.Add("  processor time of the manager for each of them", 1000*(after.cpu-before.cpu).Seconds()/number, "ms")
	b.Figures.Add("  processor time of ip-address-manager for each of them", 1000*(after.poolsCPU-before.poolsCPU).Seconds()/number, "ms")
	return err
}

// ofPools are the requests that only ip-address-manager makes while addresses are
// given.
var ofPools = map[string]bool{
	"POST ipaddresses": true, "PUT ipaddresses": true, "PATCH ipaddresses": true,
	"PUT ipclaims": true, "PATCH ipclaims": true, "PATCH ipclaims/status": true, "PUT ipclaims/status": true,
	"PUT ippools": true, "PATCH ippools": true, "PATCH ippools/status": true, "PUT ippools/status": true,
}

func sum(of map[string]float64) (all float64) {
	for _, some := range of {
		all += some
	}
	return all
}
