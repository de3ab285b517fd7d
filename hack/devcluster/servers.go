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
	"strconv"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/story"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// pool is the namespace with the servers, as in the demo.
const pool = "infra"

func serversCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "servers number",
		Short: "Register that many servers more in namespace " + pool,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			more, err := strconv.Atoi(args[0])
			if err != nil || more < 1 {
				return fmt.Errorf("%q is no number of servers: use 1 or more", args[0])
			}
			if _, err := s.repo(); err != nil {
				return err
			}
			config, err := cluster.Open(s.dir)
			if err != nil {
				return err
			}
			scheme, err := world.Scheme()
			if err != nil {
				return err
			}
			c, err := client.New(config, client.Options{Scheme: scheme})
			if err != nil {
				return err
			}
			grown, err := story.GrowPool(cmd.Context(), c, pool, more)
			if err != nil {
				return err
			}
			fmt.Printf("Registered %d servers, up to server-%d: they are available in a few seconds\n", more, grown.Servers)
			return nil
		},
	}
}

// populate registers servers and a tenant who may have them.
func populate(ctx context.Context, up *stack.Stack, servers int) (*story.Tenant, error) {
	w, err := world.Open(ctx, up.Admin)
	if err != nil {
		return nil, err
	}
	p := story.Pool{Namespace: pool, Servers: servers, Tenants: []string{"tenant-a"}}
	if err := p.Register(ctx, w.Hosts); err != nil {
		return nil, err
	}
	tenant, err := story.AddTenant(ctx, w.Client, up.Cluster, "tenant-a")
	if err != nil {
		return nil, err
	}
	return tenant, p.WaitAvailable(ctx, w, func(string) {})
}
