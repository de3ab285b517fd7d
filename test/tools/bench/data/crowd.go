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
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

var perRendering = regexp.MustCompile(`(?m)^BenchmarkRender\S*\s+\d+\s+([0-9.]+) ns/op`)

// rendering measures how long both documents of one machine take: BenchmarkRender,
// on templates that use everything there is. It is asked several times and the
// fastest answer counts: whatever else the machine does can only make it slower.
func (b *bench) rendering(ctx context.Context) error {
	repo, err := components.FindRepo(".")
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "test", "-C", repo.Path("baremetal", "provider", "networkdata"),
		"-run=^$", "-bench=^BenchmarkRender$", "-count=5", "-benchtime="+b.renderings, ".")
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("BenchmarkRender: %w\n%s", err, out)
	}
	fastest := math.Inf(1)
	for _, found := range perRendering.FindAllSubmatch(out, -1) {
		nanoseconds, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return fmt.Errorf("BenchmarkRender: %w", err)
		}
		fastest = min(fastest, nanoseconds/1e6)
	}
	if math.IsInf(fastest, 1) {
		return fmt.Errorf("BenchmarkRender gave no figure:\n%s", out)
	}
	b.Figures.Add("rendering the data of one machine", fastest, "ms", 1)
	return nil
}

func (b *bench) templateForEachPool(ctx context.Context) error {
	name := fmt.Sprintf("%d Metal3Data from %d templates and %d pools", b.machines(), b.pools, b.pools)
	return b.crowd(ctx, name, &tenant{Site: b.site, plan: b.plan, namespace: "bench-many-templates"})
}

func (b *bench) templateForAll(ctx context.Context) error {
	name := fmt.Sprintf("%d Metal3Data from one template and %d pools", b.machines(), b.pools)
	return b.crowd(ctx, name, &tenant{Site: b.site, plan: b.plan, namespace: "bench-one-template", shared: true})
}

// crowd lets all machines of a new namespace ask for their data at once.
func (b *bench) crowd(ctx context.Context, name string, tn *tenant) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	program.Say("making %d machines", b.machines())
	first, err := tn.furnish(ctx, b.Server)
	if err != nil {
		return err
	}
	if _, err := b.claims.Await(ctx, ready, first); err != nil {
		return err
	}
	if err := b.site.Quiet(ctx, b.Quiet); err != nil {
		return err
	}
	program.Say("asking for the data of all of them")
	var lives []life
	cost, err := b.Cost(ctx, b.site, b.machines(), func(ctx context.Context) (err error) {
		lives, err = b.ask(ctx, tn)
		return err
	}, b.manager, b.ipam)
	if err != nil {
		return err
	}
	b.addTimes(name, lives)
	b.addCost(cost)
	return nil
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
	took := span(lives, func(l life) time.Time { return l.requested }, func(l life) time.Time { return l.ready })
	b.Figures.Add(name+", until all are ready", took.Seconds(), "s", 90)
	for _, part := range []struct {
		name string
		from func(life) time.Duration
	}{
		{"Metal3DataClaim until its Metal3Data", func(l life) time.Duration { return l.made.Sub(l.requested) }},
		{"Metal3Data until its claim on a pool", func(l life) time.Duration { return l.asked.Sub(l.made) }},
		{"ip-address-manager: claim on a pool until its address", func(l life) time.Duration { return l.answered.Sub(l.asked) }},
		{"address until the Metal3Data is ready", func(l life) time.Duration { return l.ready.Sub(l.answered) }},
	} {
		b.Figures.AddTimes("  "+part.name, each(lives, part.from), time.Second)
	}
	b.Figures.Add("  ip-address-manager: first claim on a pool until last address", poolSpan(lives).Seconds(), "s")
	b.Figures.Add("  ip-address-manager: all that is left waits for it", allWait(lives).Seconds(), "s")
}

// addCost notes what was done for the crowd. The API server does not say who has
// asked it; what the manager sent is what the manager counts itself.
func (b *bench) addCost(cost program.Cost) {
	number := float64(b.machines())
	provider, pools, lists := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for name, made := range cost.Requests {
		switch {
		case strings.HasPrefix(name, "LIST "):
			lists[name] = made * number
		case ofPools[strings.TrimSuffix(name, " (409)")]:
			pools[name] = made
		default:
			provider[name] = made
		}
	}
	b.Figures.Add("  lists", sum(lists), "", 0)
	for name, made := range lists {
		b.Figures.Add("    "+name, made, "")
	}
	manager, ipam := cost.Work[0], cost.Work[1]
	b.Figures.AddRequests("requests of the manager for each of them", provider, manager.Sent/number)
	b.Figures.AddRequests("requests of ip-address-manager for each of them", pools, sum(pools))
	b.Figures.Add("  passes of metal3data for each of them", manager.PassesOf("metal3data")/number, "")
	b.Figures.Add("  passes of metal3datatemplate", manager.PassesOf("metal3datatemplate"), "")
	b.Figures.Add("  processor time of the manager for each of them", 1000*manager.CPU.Seconds()/number, "ms")
	b.Figures.Add("  processor time of ip-address-manager for each of them", 1000*ipam.CPU.Seconds()/number, "ms")
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
