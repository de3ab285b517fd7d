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
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/audit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
)

// Targets of a run in full size; requests have them in each size.
const (
	targetRequests = 45
	targetWrites   = 8
	targetDeletion = 25
	targetImage    = 3  // seconds
	targetRunning  = 58 // seconds, for 25 machines
)

// report fills in the figures, those with a target first.
func (b *bench) report(context.Context) error {
	b.headlines()
	for _, p := range b.phases {
		b.addPhase(p)
	}
	for _, m := range b.managers {
		if err := b.AddMemory(m.Manager, "memory of "+m.name, "  at most until then"); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) named(name string) phase {
	i := slices.IndexFunc(b.phases, func(p phase) bool { return p.name == name })
	return b.phases[i]
}

func (b *bench) headlines() {
	f, create, remove := b.Figures, b.named("create"), b.named("delete")
	requests := b.ofManagers(create.requests)
	f.Add("requests per machine until it runs, all managers measured", per(requests, create.each), "", targetRequests)
	machine := requests.Writes().Where(func(r audit.Request) bool { return r.Resource == "metal3machines" })
	f.Add("writes of Metal3Machine and its status per machine", per(machine, create.each), "", targetWrites)
	f.Add("requests per machine to delete, all managers measured", per(b.ofManagers(remove.requests), remove.each), "", targetDeletion)
	written := b.lives.between(bound, provisioned, create.machines)
	f.Add("host bound until its image is written, median", program.Quantile(written, 0.5).Seconds(), "s", targetImage)
	f.Add("host bound until its image is written, max", program.Quantile(written, 1).Seconds(), "s")
	var running []float64
	if b.workers == plans["full"].workers {
		running = []float64{targetRunning}
	}
	f.Add(fmt.Sprintf("%d machines run", b.machines()), create.took.Seconds(), "s", running...)
}

func (b *bench) addPhase(p phase) {
	f := b.Figures
	f.Add(p.name, p.took.Seconds(), "s")
	unit := "per machine"
	if p.each == 1 {
		unit = ""
	}
	others := p.requests
	for i, m := range b.managers {
		counts := p.requests.Of(m.user)
		others = others.Where(func(r audit.Request) bool { return r.User != m.user })
		f.Add("  requests of "+m.name, per(counts, p.each), unit)
		f.Add("    reads", per(counts.Reads(), p.each), unit)
		f.Add("    writes", per(counts.Writes(), p.each), unit)
		f.Add("    conflicts", per(counts.Conflicts(), p.each), unit)
		f.Add("    passes", p.work[i].PassesOf()/float64(p.each), unit)
		for _, controller := range slices.Sorted(maps.Keys(p.work[i].Passes)) {
			if passes := p.work[i].PassesOf(controller); passes > 0 {
				f.Add("      of "+controller, passes/float64(p.each), unit)
			}
		}
		f.Add("    processor time", float64(p.work[i].CPU.Milliseconds())/float64(p.each), "ms")
		requests := counts.Each(p.each)
		for _, request := range slices.Sorted(maps.Keys(requests)) {
			f.Add("    "+request, requests[request], unit)
		}
	}
	for _, agent := range agents(others) {
		counts := others.Where(func(r audit.Request) bool { return r.Agent == agent })
		f.Add("  requests of "+agent, per(counts, p.each), unit)
	}
	b.addStations(p)
	if p.name == "hosts come one by one" {
		f.AddTimes("  host available until it is taken, machines waiting", b.lives.between(available, taken, b.lateHosts()), time.Second)
	}
}

// addStations notes how long the machines of a phase took from station to station.
func (b *bench) addStations(p phase) {
	if len(p.machines) == 0 {
		return
	}
	b.Figures.AddTimes("  created until Node", b.lives.between(created, node, p.machines), time.Second)
	spans := b.lives.spans(p.machines)
	for _, station := range stations()[1:] {
		if took := spans[station]; len(took) > 0 {
			b.Figures.AddTimes("    "+string(station), took, time.Second)
		}
	}
}

// lateHosts are those that came one by one.
func (b *bench) lateHosts() (hosts []types.NamespacedName) {
	for number := b.hosts + 1; number <= b.pool.Servers; number++ {
		hosts = append(hosts, types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("server-%d", number)})
	}
	return hosts
}

// agents are the programs that have sent requests.
func agents(counts audit.Counts) []string {
	found := map[string]bool{}
	for request := range counts {
		found[request.Agent] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func per(counts audit.Counts, each int) float64 {
	return float64(counts.Sum()) / float64(each)
}
