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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/bind/room"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/report"
)

// lateOneByOne lets hosts become free under waiting claims at a steady pace. Of the
// requests only the live lists are told: hostsim makes most of the others.
func (b *bench) lateOneByOne(ctx context.Context) error {
	before, err := b.site.Requests(ctx)
	if err != nil {
		return err
	}
	took, err := b.lateHosts(ctx, "steady", b.lateEvery)
	if err != nil {
		return err
	}
	each, _, err := b.site.RequestsSince(ctx, before, b.late)
	name := fmt.Sprintf("host becomes available among %d until it is claimed", b.hosts)
	b.Figures.Add(name+", median", 1000*seconds(report.Quantile(took, 0.5)), "ms")
	b.Figures.Expect(name+", p99", 1000*seconds(report.Quantile(took, 0.99)), "ms", 1000)
	b.Figures.Add("    LIST baremetalhosts", each["LIST baremetalhosts"], "")
	return err
}

// lateTogether lets as many hosts become free as fast as hostsim can.
func (b *bench) lateTogether(ctx context.Context) error {
	took, err := b.lateHosts(ctx, "together", 0)
	b.Figures.Add(fmt.Sprintf("  the same with %d at once, median", b.late), 1000*seconds(report.Quantile(took, 0.5)), "ms")
	b.Figures.Add(fmt.Sprintf("  the same with %d at once, p99", b.late), 1000*seconds(report.Quantile(took, 0.99)), "ms")
	return err
}

// lateHosts makes claims that wait for hosts of their own kind, then registers the
// hosts, and returns for each how long it was available before it was claimed.
func (b *bench) lateHosts(ctx context.Context, name string, every time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	labels := map[string]string{room.LateLabel: name}
	claims, _, err := b.site.AddClaims(ctx, name, b.late, labels)
	if err != nil {
		return nil, err
	}
	if _, err := b.site.Claims.Await(ctx, room.Explained, claims...); err != nil {
		return nil, err
	}
	if err := b.site.Quiet(ctx, b.quiet); err != nil {
		return nil, err
	}
	hosts := make([]types.NamespacedName, b.late)
	for n := range b.late {
		host := room.NewHost(fmt.Sprintf("late-%s-%05d", name, n), labels)
		hosts[n] = client.ObjectKeyFromObject(host)
		if err := b.site.Create(ctx, host); err != nil {
			return nil, err
		}
		if every > 0 {
			<-time.After(every)
		}
	}
	if _, err := b.site.Hosts.Await(ctx, room.Claimed, hosts...); err != nil {
		return nil, err
	}
	b.bound += b.late
	took := make([]time.Duration, b.late)
	for n, host := range hosts {
		took[n] = b.site.Hosts.At(room.Claimed, host).Sub(b.site.Hosts.At(room.Available, host))
	}
	return took, nil
}
