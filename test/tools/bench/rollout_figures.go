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
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
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
func (b *rolloutBench) report(context.Context) error {
	b.headlines()
	for _, p := range b.phases {
		b.addPhase(p)
	}
	for _, m := range b.managers {
		if err := b.addMemory(m.Manager, "memory of "+m.name); err != nil {
			return err
		}
	}
	return nil
}

func (b *rolloutBench) named(name string) phase {
	i := slices.IndexFunc(b.phases, func(p phase) bool { return p.name == name })
	return b.phases[i]
}

func (b *rolloutBench) headlines() {
	f, create, remove := b.figures, b.named("create"), b.named("delete")
	requests := b.ofManagers(create.requests)
	f.Add("requests per machine until it runs, all managers audited", per(requests, create.each), "", targetRequests)
	machine := requests.Writes().Where(func(r Request) bool { return r.Resource == "metal3machines" })
	f.Add("writes of Metal3Machine and its status per machine", per(machine, create.each), "", targetWrites)
	f.Add("requests per machine to delete, all managers audited", per(b.ofManagers(remove.requests), remove.each), "", targetDeletion)
	written := b.lives.Between(bound, provisioned, create.machines)
	f.Add("host bound until its image is written, median", Quantile(written, 0.5).Seconds(), "s", targetImage)
	f.Add("host bound until its image is written, max", Quantile(written, 1).Seconds(), "s")
	var running []float64
	if b.workers == rolloutPlans["full"].workers {
		running = []float64{targetRunning}
	}
	f.Add(fmt.Sprintf("%d machines run", b.machines()), create.took.Seconds(), "s", running...)
}

func (b *rolloutBench) addPhase(p phase) {
	f := b.figures
	f.Add(p.name, p.took.Seconds(), "s")
	unit := "per machine"
	if p.each == 1 {
		unit = ""
	}
	others := p.requests
	for i, m := range b.managers {
		counts := p.requests.Of(m.user)
		others = others.Where(func(r Request) bool { return r.User != m.user })
		f.Add("  requests of "+m.name, per(counts, p.each), unit)
		f.Add("    reads", per(counts.Reads(), p.each), unit)
		f.Add("    writes", per(counts.Writes(), p.each), unit)
		f.Add("    conflicts", per(counts.Conflicts(), p.each), unit)
		f.Add("    passes", p.work[i].PassesOf()/float64(p.each), unit)
		f.AddPasses(p.work[i], p.each, unit)
		f.Add("    processor time", float64(p.work[i].CPU.Milliseconds())/float64(p.each), "ms")
		requests := counts.Each(p.each)
		for _, request := range slices.Sorted(maps.Keys(requests)) {
			f.Add("    "+request, requests[request], unit)
		}
	}
	for _, agent := range agents(others) {
		counts := others.Where(func(r Request) bool { return r.Agent == agent })
		f.Add("  requests of "+agent, per(counts, p.each), unit)
	}
	b.addStations(p)
	if p.name == "hosts come one by one" {
		f.AddTimes("  host available until it is taken, machines waiting", b.lives.Between(available, taken, b.lateHosts()), time.Second)
	}
}

// addStations notes how long the machines of a phase took from station to station.
func (b *rolloutBench) addStations(p phase) {
	if len(p.machines) == 0 {
		return
	}
	b.figures.AddTimes("  created until Node", b.lives.Between(created, node, p.machines), time.Second)
	spans := b.lives.spans(p.machines)
	for _, station := range stations()[1:] {
		if took := spans[station]; len(took) > 0 {
			b.figures.AddTimes("    "+string(station), took, time.Second)
		}
	}
}

// lateHosts are those that came one by one.
func (b *rolloutBench) lateHosts() (hosts []types.NamespacedName) {
	for number := b.hosts + 1; number <= b.pool.Servers; number++ {
		hosts = append(hosts, types.NamespacedName{Namespace: rolloutNamespace, Name: fmt.Sprintf("server-%d", number)})
	}
	return hosts
}

// agents are the programs that have sent requests.
func agents(counts Counts) []string {
	found := map[string]bool{}
	for request := range counts {
		found[request.Agent] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func per(counts Counts, each int) float64 {
	return float64(counts.Sum()) / float64(each)
}

// stations are those of a machine in the order in which it passes them. A provider
// without claims has fewer.
func stations() []site.Mark {
	return []site.Mark{created, bootstrap, claimed, bound, facts, rendered, image, provisioned, node}
}

// lives notes when each machine and each host was first seen at each station. Machines
// go by the name of their infrastructure machine.
type lives struct {
	*site.Timeline

	mu sync.Mutex
	// owners are the machines of the claims.
	owners map[types.NamespacedName]types.NamespacedName
}

func newLives() *lives {
	return &lives{Timeline: site.NewTimeline(), owners: map[types.NamespacedName]types.NamespacedName{}}
}

// see notes the stations that an object shows.
func (l *lives) see(object any, now time.Time) {
	switch o := object.(type) {
	case *clusterv1.Machine:
		l.seeMachine(o, now)
	case *bmov1alpha1.HostClaim:
		l.seeClaim(o, now)
	case *bmov1alpha1.BareMetalHost:
		l.seeHost(o, now)
	case *infrav1.Metal3Data:
		if o.Spec.Claim != nil && ptr.Deref(o.Status.Ready, false) {
			// The claim on data has the name of the machine that made it.
			l.Note(rendered, types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}, now)
		}
	}
}

func infrastructure(m *clusterv1.Machine) types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}
}

func (l *lives) seeMachine(m *clusterv1.Machine, now time.Time) {
	name := infrastructure(m)
	l.Note(created, name, now)
	if m.Spec.Bootstrap.DataSecretName != nil {
		l.Note(bootstrap, name, now)
	}
	if m.Status.NodeRef.Name != "" {
		l.Note(node, name, now)
	}
}

func (l *lives) seeClaim(claim *bmov1alpha1.HostClaim, now time.Time) {
	consumer := claim.Spec.ConsumerRef
	if consumer == nil {
		return
	}
	machine := types.NamespacedName{Namespace: claim.Namespace, Name: consumer.Name}
	l.mu.Lock()
	l.owners[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = machine
	l.mu.Unlock()
	l.Note(claimed, machine, now)
	if claim.Status.HardwareData != nil {
		l.Note(facts, machine, now)
	}
}

func (l *lives) seeHost(host *bmov1alpha1.BareMetalHost, now time.Time) {
	name := types.NamespacedName{Namespace: host.Namespace, Name: host.Name}
	if host.Spec.ConsumerRef == nil {
		if host.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			l.Note(available, name, now)
		}
		return
	}
	l.Note(taken, name, now)
	machine := l.machine(host.Spec.ConsumerRef)
	l.Note(bound, machine, now)
	if host.Spec.Image == nil {
		return
	}
	l.Note(image, machine, now)
	if host.Status.Provisioning.State == bmov1alpha1.StateProvisioned {
		l.Note(provisioned, machine, now)
	}
}

// machine is the one that a host is for: its claim's or, without claims, its consumer
// itself. A claim that was not seen yet has the name of its machine.
func (l *lives) machine(consumer *corev1.ObjectReference) types.NamespacedName {
	name := types.NamespacedName{Namespace: consumer.Namespace, Name: consumer.Name}
	l.mu.Lock()
	defer l.mu.Unlock()
	if machine, found := l.owners[name]; found && consumer.Kind == "HostClaim" {
		return machine
	}
	return name
}

// spans are the times from each station to the next one that a machine has passed.
func (l *lives) spans(machines []types.NamespacedName) map[site.Mark][]time.Duration {
	spans := map[site.Mark][]time.Duration{}
	for _, machine := range machines {
		last := l.At(created, machine)
		for _, station := range stations()[1:] {
			if at := l.At(station, machine); !at.IsZero() {
				spans[station] = append(spans[station], max(0, at.Sub(last)))
				last = at
			}
		}
	}
	return spans
}
