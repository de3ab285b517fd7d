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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/demo"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
)

func buildCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "build [component...]",
		Short: "Build programs into bin/ and print the folder for KUBEBUILDER_ASSETS",
		Long: "Build programs into bin/, all of them if none is named, and print the folder for KUBEBUILDER_ASSETS\n(nothing else goes to the standard output).\n" +
			"Components: " + strings.Join(components.Names(), ", "),
		ValidArgs: components.Names(),
		RunE: func(cmd *cobra.Command, names []string) error {
			repo, err := s.repo()
			if err != nil {
				return err
			}
			if len(names) == 0 {
				names = components.Names()
			}
			if err := repo.Build(cmd.Context(), s.out, names...); err != nil {
				return err
			}
			if !slices.Contains(names, components.APIServer) {
				return nil
			}
			assets, err := repo.Assets()
			if err == nil {
				fmt.Println(assets)
			}
			return err
		},
	}
}

func upCommand(s *settings) *cobra.Command {
	var (
		which   string
		audit   bool
		servers int
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a dev cluster and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := s.vacant()
			if err != nil {
				return err
			}
			managers, err := manager.Parse(which)
			if err != nil {
				return fmt.Errorf("--managers: %w", err)
			}
			path, err := repo.Clients(cmd.Context(), s.out)
			if err != nil {
				return err
			}
			up, err := stack.Up(cmd.Context(), stack.Options{Repo: repo, Dir: s.dir, Managers: managers, Out: s.out, Audit: audit})
			if err != nil {
				return err
			}
			fmt.Printf("The dev cluster runs at %s\n  export PATH=%s:$PATH\n  export KUBECONFIG=%s\n",
				up.Server, console.Word(path), console.Word(cluster.AdminKubeconfig(up.Dir)))
			words := strings.Split(which, ",")
			if (slices.Contains(words, "all") || slices.Contains(words, "simulated")) && servers > 0 {
				tenant, err := populate(cmd.Context(), up, servers)
				if err != nil {
					return errors.Join(err, up.Group.Stop())
				}
				fmt.Printf("%d servers are in namespace %s, for tenant-a:\n  export KUBECONFIG=%s\n", servers, pool, console.Word(tenant.Kubeconfig))
				fmt.Printf("More servers: go -C hack/devcluster run . servers 2%s\n", stack.Flag(repo, s.dir))
			}
			fmt.Printf("Logs: %s\nStop: %s\n", filepath.Join(up.Dir, "logs", "*.log"), stack.StopCommand(repo, s.dir))
			return nil
		},
	}
	cmd.Flags().StringVar(&which, "managers", "all", "managers to run beside the control plane: none, third-party, all, simulated (all, and hostsim plays the hosts too, their power included), all-bmo-0.14 (all, with CRDs and webhooks of baremetal-operator 0.14), or a list with commas of these and of names")
	cmd.Flags().IntVar(&servers, "servers", 4, "how many servers to register in namespace "+pool+", with a policy for namespace tenant-a and a tenant there; only with all managers")
	cmd.Flags().BoolVar(&audit, "audit", false, "have the API server log the requests of service accounts to logs/audit.log in the state folder")
	return cmd
}

func demoCommand(s *settings) *cobra.Command {
	var remote, hybrid bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a dev cluster, tell the story of two tenants on it, and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			repo, err := s.vacant()
			if err != nil {
				return err
			}
			options := demo.Options{Repo: repo, Dir: s.dir, Out: console.New(os.Stdout)}
			switch {
			case remote:
				return demo.RunRemote(cmd.Context(), options)
			case hybrid:
				return demo.RunHybrid(cmd.Context(), options)
			default:
				return demo.Run(cmd.Context(), options)
			}
		},
	}
	cmd.Flags().BoolVar(&remote, "remote", false, "tell of a tenant whose servers are in another cluster, on two dev clusters")
	cmd.Flags().BoolVar(&hybrid, "hybrid", false, "tell of a cluster on virtual machines and servers")
	cmd.MarkFlagsMutuallyExclusive("remote", "hybrid")
	return cmd
}

func downCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the dev cluster",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := s.repo(); err != nil {
				return err
			}
			runs, err := stack.Runs(s.dir)
			if err != nil {
				return err
			}
			if !runs {
				s.out.Line("no dev cluster runs in %s", s.dir)
			}
			return stack.Down(s.dir, s.out)
		},
	}
}
