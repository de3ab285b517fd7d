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
	"slices"
	"time"

	"github.com/metal3-io/cluster-api-provider-metal3/test/neighbours/hostile"
)

// slow has an API server that takes almost as long as a request may, for more machines
// than the provider manager works on at a time.
func (b *bench) slow(ctx context.Context, tenant string) (func(), error) {
	var contexts []string
	for n := range b.contexts {
		contexts = append(contexts, fmt.Sprintf("hosts-%d", n))
	}
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{Delay: 4900 * time.Millisecond}, "hosts", contexts...)
	for _, name := range contexts {
		_, made := b.RemoteMachines(ctx, tenant, "hosts", name, b.remote)
		err = errors.Join(err, made)
	}
	return server.Close, errors.Join(err, until(ctx, func() bool { return server.Held() > 0 }))
}

// flooding has an API server whose watches add claims without end.
func (b *bench) flooding(ctx context.Context, tenant string) (func(), error) {
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{Flood: 1000}, "hosts", "hosts")
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", b.remote)
	return server.Close, errors.Join(err, made, until(ctx, func() bool { return server.Added() > 1000 }))
}

// streaming has workload clusters and a cluster with hosts that send valid events without end.
func (b *bench) streaming(ctx context.Context, tenant string) (func(), error) {
	endless := hostile.Behavior{Stream: true}
	servers, err := b.WorkloadClusters(ctx, tenant, endless, b.streams)
	hosts, other := b.HostileServer(ctx, tenant, endless, "hosts", "hosts")
	servers = append(servers, hosts)
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", b.remote)
	leave := func() {
		for _, server := range servers {
			server.Close()
		}
	}
	if err := errors.Join(err, other, made); err != nil {
		return leave, err
	}
	return leave, until(ctx, func() bool {
		slowed, err := b.Provider.Slowed(ctx)
		return err == nil && slices.Contains(slowed, tenant)
	})
}

// hoarding has claims that no host suits.
func (b *bench) hoarding(ctx context.Context, tenant string) (func(), error) {
	return func() {}, b.WaitingClaims(ctx, tenant, b.claims)
}

// lying has an API server that refuses each write as a conflict, and Secrets that look
// like copies of the hostclaim manager's.
func (b *bench) lying(ctx context.Context, tenant string) (func(), error) {
	server, err := b.HostileServer(ctx, tenant, hostile.Behavior{}, "hosts", "hosts")
	_, made := b.RemoteMachines(ctx, tenant, "hosts", "hosts", 10*b.remote)
	return server.Close, errors.Join(err, made, b.LikeCopies(ctx, tenant, b.secrets),
		until(ctx, func() bool { return server.Requests() > int64(b.remote) }))
}

// until waits until a count that nothing announces has come so far.
func until(ctx context.Context, reached func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
