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

// Command devcluster builds and runs a Cluster API management cluster of plain
// processes, and the demo on top of it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Libraries would write into the progress lines; errors come back as such.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := root().ExecuteContext(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", err)
		}
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// settings are the flags that every command shares.
type settings struct {
	dir string
	out *console.Printer
}

func root() *cobra.Command {
	s := &settings{out: console.New(os.Stderr)}
	cmd := &cobra.Command{
		Use:           "devcluster",
		Short:         "Run a management cluster of plain processes: everything real but the hardware",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.PersistentFlags().StringVar(&s.dir, "dir", "", "state folder (default <repository>/.devcluster)")
	cmd.AddCommand(buildCommand(s), upCommand(s), demoCommand(s), serversCommand(s), downCommand(s),
		stopCommand(s), startCommand(s), restartCommand(s))
	return cmd
}

// repo finds the repository and settles the state folder.
func (s *settings) repo() (components.Repo, error) {
	here, err := os.Getwd()
	if err != nil {
		return components.Repo{}, err
	}
	repo, err := components.FindRepo(here)
	if err != nil {
		return repo, err
	}
	if s.dir == "" {
		s.dir = stack.DefaultDir(repo)
	}
	s.dir, err = filepath.Abs(s.dir)
	return repo, err
}

// vacant does so for a command that starts a dev cluster, and refuses to end one that runs.
func (s *settings) vacant() (components.Repo, error) {
	repo, err := s.repo()
	if err != nil {
		return repo, err
	}
	runs, err := stack.Runs(s.dir)
	if err == nil && runs {
		err = fmt.Errorf("a dev cluster runs in %s, and all that is on it would be lost: end it with %q first", s.dir, stack.StopCommand(repo, s.dir))
	}
	return repo, err
}
