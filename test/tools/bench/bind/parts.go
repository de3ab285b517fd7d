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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/bind/room"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/report"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// oneByOne binds claims one after the other in a pool of that size, and then lets
// some find nothing. It returns the median time of a bind.
func (b *bench) oneByOne(ctx context.Context, size int) (float64, error) {
	if err := b.grow(ctx, size); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	before, err := b.site.Requests(ctx)
	if err != nil {
		return 0, err
	}
	cpu, err := b.manager.CPU()
	if err != nil {
		return 0, err
	}
	binds, err := b.sequence(ctx, fmt.Sprintf("one-%d", size), b.sequential, room.Bound, nil)
	if err != nil {
		return 0, err
	}
	b.bound += b.sequential
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return 0, err
	}
	_, each, err := b.site.RequestsSince(ctx, before, b.sequential)
	if err != nil {
		return 0, err
	}
	busy, err := b.manager.CPU()
	if err != nil {
		return 0, err
	}
	median := seconds(report.Quantile(binds, 0.5))
	b.Figures.Add(fmt.Sprintf("one bind, %d hosts, median", size), 1000*median, "ms")
	b.Figures.Add(fmt.Sprintf("one bind, %d hosts, p99", size), 1000*seconds(report.Quantile(binds, 0.99)), "ms")
	b.Figures.Add(fmt.Sprintf("one bind, %d hosts, processor time of the manager", size), 1000*seconds(busy-cpu)/float64(b.sequential), "ms")
	b.Figures.Add(fmt.Sprintf("one bind, %d hosts, requests", size), each, "")
	return median, b.inVain(ctx, size)
}

// inVain lets claims come, one after the other, that no host answers. The processor
// time is that of all passes over such a claim, its deletion included.
func (b *bench) inVain(ctx context.Context, size int) error {
	before, err := b.manager.CPU()
	if err != nil {
		return err
	}
	told, err := b.sequence(ctx, fmt.Sprintf("none-%d", size), b.explained, room.Explained, map[string]string{"rack": "nowhere"})
	if err != nil {
		return err
	}
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	after, err := b.manager.CPU()
	name := fmt.Sprintf("one claim told why it has no host, %d hosts", size)
	b.Figures.Add(name+", median", 1000*seconds(report.Quantile(told, 0.5)), "ms")
	b.Figures.Add(name+", processor time of the manager", 1000*seconds(after-before)/float64(b.explained), "ms")
	return err
}

// sequence makes claims, each when the one before has got its mark, and returns how
// long each took. Claims that got nothing are deleted.
func (b *bench) sequence(ctx context.Context, prefix string, count int, mark site.Mark, labels map[string]string) ([]time.Duration, error) {
	var took []time.Duration
	for n := range count {
		claim := room.NewClaim(prefix, n, labels)
		begun := time.Now()
		if err := b.site.Create(ctx, claim); err != nil {
			return nil, err
		}
		at, err := b.site.Claims.Await(ctx, mark, client.ObjectKeyFromObject(claim))
		if err != nil {
			return nil, err
		}
		took = append(took, at.Sub(begun))
		if mark == room.Explained {
			if err := b.site.Delete(ctx, claim); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

// crowd lets many claims come at once.
func (b *bench) crowd(ctx context.Context) error {
	if err := b.grow(ctx, b.crowdHosts+b.bound); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	before, err := b.site.Requests(ctx)
	if err != nil {
		return err
	}
	claims, begun, err := b.site.AddClaims(ctx, "crowd", b.crowdClaims, nil)
	if err != nil {
		return err
	}
	last, err := b.site.Claims.Await(ctx, room.Bound, claims...)
	if err != nil {
		return err
	}
	b.bound += b.crowdClaims
	b.Figures.Expect(fmt.Sprintf("%d claims on %d hosts, until all are bound", b.crowdClaims, b.crowdHosts), seconds(last.Sub(begun)), "s", 60)
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	each, sum, err := b.site.RequestsSince(ctx, before, b.crowdClaims)
	program.AddRequests(b.Figures, "requests for each of them", each, sum)
	return err
}

// idleness watches the manager while nothing happens.
func (b *bench) idleness(ctx context.Context) error {
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	return b.WatchIdle(ctx, b.manager, b.idle, fmt.Sprintf("%d bound claims", b.bound))
}

// memory looks at the manager as it is, and at one that has just started.
func (b *bench) memory(ctx context.Context) error {
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	all := b.hosts + 2*b.late
	name := fmt.Sprintf("memory of the manager, %d hosts, %d bound", all, b.bound)
	now, peak, err := b.manager.Memory()
	if err != nil {
		return err
	}
	b.Figures.Expect(name, now, "MiB", 250)
	b.Figures.Add("  at most until then", peak, "MiB")
	if err := b.manager.Stop(); err != nil {
		return err
	}
	if err := b.startManager(ctx); err != nil {
		return err
	}
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return err
	}
	now, peak, err = b.manager.Memory()
	b.Figures.Expect("  after a restart", now, "MiB", 250)
	b.Figures.Add("  at most during the restart", peak, "MiB")
	return err
}

func seconds(d time.Duration) float64 { return d.Seconds() }
