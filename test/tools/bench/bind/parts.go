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
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// oneByOne binds claims one after the other in a pool of that size, in turn with claims
// in a small pool beside it, and then lets some find nothing.
func (b *bench) oneByOne(ctx context.Context, size int) error {
	if err := b.grow(ctx, size); err != nil {
		return err
	}
	err := b.Beside(func(run *program.Run) error {
		return started(ctx, run, func(ctx context.Context, small *bench) error {
			if err := small.grow(ctx, b.beside); err != nil {
				return err
			}
			return b.compared(ctx, small, size)
		})
	})
	if err != nil {
		return err
	}
	return b.inVain(ctx, size)
}

// compared binds a claim here and one in a small pool, and so on. The first ones are not
// counted: the small pool's API server and manager have just started.
func (b *bench) compared(ctx context.Context, small *bench, size int) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	if _, err := b.inTurn(ctx, small, fmt.Sprintf("first-%d", size), b.explained); err != nil {
		return err
	}
	var took [2][]time.Duration
	cost, err := b.Cost(ctx, b.Site, b.sequential, func(ctx context.Context) (err error) {
		took, err = b.inTurn(ctx, small, fmt.Sprintf("one-%d", size), b.sequential)
		return err
	}, b.manager, small.manager)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one bind, %d hosts", size)
	median := b.Figures.AddTimes(name, took[0], time.Millisecond)
	b.addCPU(name+", processor time of the manager", cost.Work[0], b.sequential)
	b.Figures.Add(name+", requests", cost.Sum, "")
	name = fmt.Sprintf("  in turn with one among %d hosts", b.beside)
	base := b.Figures.AddTimes(name, took[1], time.Millisecond)
	b.addCPU(name+", processor time of the manager", cost.Work[1], b.sequential)
	b.Figures.Add(fmt.Sprintf("  cost among %d compared with %d hosts", size, b.beside), median/base, "times", 1.2)
	return nil
}

// inTurn binds so many claims in this pool and as many in another one, each when the one
// before is bound, and returns how long each took, here and there.
func (b *bench) inTurn(ctx context.Context, other *bench, prefix string, count int) (all [2][]time.Duration, err error) {
	for n := range count {
		for i, at := range []*bench{b, other} {
			took, err := at.one(ctx, newClaim(prefix, n, nil), bound)
			if err != nil {
				return all, err
			}
			at.bound++
			all[i] = append(all[i], took)
		}
	}
	return all, nil
}

// one makes a claim and returns how long it took until it got its mark.
func (b *bench) one(ctx context.Context, claim *bmov1alpha1.HostClaim, mark site.Mark) (time.Duration, error) {
	begun := time.Now()
	if err := b.Create(ctx, claim); err != nil {
		return 0, err
	}
	at, err := b.claimed.Await(ctx, mark, client.ObjectKeyFromObject(claim))
	return at.Sub(begun), err
}

func (b *bench) addCPU(name string, work site.Work, number int) {
	b.Figures.Add(name, 1000*work.CPU.Seconds()/float64(number), "ms")
}

// inVain lets claims come, one after the other, that no host answers. The processor
// time is that of all passes over such a claim, its deletion included.
func (b *bench) inVain(ctx context.Context, size int) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	var all []time.Duration
	cost, err := b.Cost(ctx, b.Site, b.explained, func(ctx context.Context) error {
		for n := range b.explained {
			claim := newClaim(fmt.Sprintf("none-%d", size), n, map[string]string{"rack": "nowhere"})
			took, err := b.one(ctx, claim, explained)
			if err == nil {
				err = b.Delete(ctx, claim)
			}
			if err != nil {
				return err
			}
			all = append(all, took)
		}
		return nil
	}, b.manager)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("one claim told why it has no host, %d hosts", size)
	b.Figures.AddTimes(name, all, time.Millisecond)
	b.addCPU(name+", processor time of the manager", cost.Work[0], b.explained)
	return nil
}

// crowd lets many claims come at once.
func (b *bench) crowd(ctx context.Context) error {
	if err := b.grow(ctx, b.crowdHosts+b.bound); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	var took time.Duration
	cost, err := b.Cost(ctx, b.Site, b.crowdClaims, func(ctx context.Context) error {
		claims, begun, err := b.addClaims(ctx, "crowd", b.crowdClaims, nil)
		if err != nil {
			return err
		}
		last, err := b.claimed.Await(ctx, bound, claims...)
		took = last.Sub(begun)
		return err
	}, b.manager)
	if err != nil {
		return err
	}
	b.bound += b.crowdClaims
	b.Figures.Add(fmt.Sprintf("%d claims on %d hosts, until all are bound", b.crowdClaims, b.crowdHosts), took.Seconds(), "s", 40)
	b.addCPU("  processor time of the manager for each of them", cost.Work[0], b.crowdClaims)
	b.Figures.AddRequests("requests for each of them", cost.Requests, cost.Sum)
	return nil
}

// idleness watches the manager while nothing happens.
func (b *bench) idleness(ctx context.Context) error {
	if err := b.Site.Quiet(ctx, b.Pace.Quiet); err != nil {
		return err
	}
	return b.WatchIdle(ctx, b.manager, fmt.Sprintf("reconciles in %s with %d bound claims", b.Idle, b.bound))
}

// memory looks at the manager as it is, and at one that has just started.
func (b *bench) memory(ctx context.Context) error {
	if err := b.Site.Quiet(ctx, b.Pace.Quiet); err != nil {
		return err
	}
	name := fmt.Sprintf("memory of the manager, %d hosts, %d bound", b.hosts+2*b.late, b.bound)
	if err := b.AddMemory(b.manager, name, "  at most until then", 250); err != nil {
		return err
	}
	if err := b.manager.Stop(); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	if err := b.Site.Quiet(ctx, b.Pace.Quiet); err != nil {
		return err
	}
	return b.AddMemory(b.manager, "  after a restart", "  at most during the restart", 250)
}

// lateOneByOne lets hosts become free under waiting claims at a steady pace. Of the
// requests only the live lists are noted: hostsim makes most of the others.
func (b *bench) lateOneByOne(ctx context.Context) error {
	var took []time.Duration
	cost, err := b.Cost(ctx, b.Site, b.late, func(ctx context.Context) (err error) {
		took, err = b.lateHosts(ctx, "steady", b.lateEvery)
		return err
	})
	b.Figures.AddTimes(fmt.Sprintf("host becomes available among %d until it is claimed", b.hosts), took, time.Millisecond, 1000)
	b.Figures.Add("    LIST baremetalhosts", cost.Requests["LIST baremetalhosts"], "")
	return err
}

// lateTogether lets as many hosts become free as fast as hostsim can.
func (b *bench) lateTogether(ctx context.Context) error {
	took, err := b.lateHosts(ctx, "together", 0)
	b.Figures.AddTimes(fmt.Sprintf("  the same with %d at once", b.late), took, time.Millisecond)
	return err
}

// lateHosts makes claims that wait for hosts of their own kind, then registers the
// hosts, and returns for each how long it was available before it was claimed.
func (b *bench) lateHosts(ctx context.Context, name string, every time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	labels := map[string]string{lateLabel: name}
	claims, _, err := b.addClaims(ctx, name, b.late, labels)
	if err != nil {
		return nil, err
	}
	if _, err := b.claimed.Await(ctx, explained, claims...); err != nil {
		return nil, err
	}
	if err := b.Site.Quiet(ctx, b.Pace.Quiet); err != nil {
		return nil, err
	}
	hosts := make([]types.NamespacedName, b.late)
	for n := range b.late {
		host := newHost(fmt.Sprintf("late-%s-%05d", name, n), labels)
		hosts[n] = client.ObjectKeyFromObject(host)
		if err := b.Create(ctx, host); err != nil {
			return nil, err
		}
		if every > 0 {
			<-time.After(every)
		}
	}
	if _, err := b.freed.Await(ctx, taken, hosts...); err != nil {
		return nil, err
	}
	b.bound += b.late
	took := make([]time.Duration, b.late)
	for n, host := range hosts {
		took[n] = b.freed.At(taken, host).Sub(b.freed.At(available, host))
	}
	return took, nil
}
