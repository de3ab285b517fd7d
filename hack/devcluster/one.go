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
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// readyAgain is how long a process may take to be ready after it was started again.
const readyAgain = 2 * time.Minute

func stopCommand(s *settings) *cobra.Command {
	return oneCommand(s, "stop", "End one process of the dev cluster, such as manager or hostclaim-manager", s.stopOne)
}

func startCommand(s *settings) *cobra.Command {
	return oneCommand(s, "start", "Start a process again that was stopped", s.startOne)
}

func restartCommand(s *settings) *cobra.Command {
	return oneCommand(s, "restart", "End one process of the dev cluster and start it again; a newly built program is used",
		func(ctx context.Context, name string) error {
			if err := s.stopOne(ctx, name); err != nil {
				return err
			}
			return s.startOne(ctx, name)
		})
}

// oneCommand is a command on one process, by its name.
func oneCommand(s *settings, verb, short string, run func(context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " process",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if _, err := s.repo(); err != nil {
				return err
			}
			return run(cmd.Context(), names[0])
		},
	}
}

func (s *settings) stopOne(_ context.Context, name string) error {
	task := s.out.Task("stop " + name)
	err := process.EndOne(s.dir, name)
	task.Done(err)
	return err
}

func (s *settings) startOne(ctx context.Context, name string) error {
	task := s.out.Task("start " + name)
	p, err := process.StartAgain(s.dir, name)
	if err == nil && p.Ready != "" {
		err = p.WaitReady(ctx, readyAgain, cluster.Healthy(http.DefaultClient, p.Ready))
	}
	task.Done(err)
	return err
}
