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

package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/cluster"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/process"
)

// Options are what to bring up and where.
type Options struct {
	Repo components.Repo
	// Dir is the state folder; DefaultDir of the repository if empty.
	Dir string
	// Managers run beside the control plane, see package manager.
	Managers []manager.Manager
	// Built is true if the programs were already built for another dev cluster.
	Built bool
	Out   *console.Printer
	// Audit has the API server log requests, see cluster.AuditLog.
	Audit bool
}

// Stack is a running dev cluster.
type Stack struct {
	*cluster.Cluster

	Repo    components.Repo
	Running map[string]*manager.Running
}

// DefaultDir is the state folder where no other is named.
func DefaultDir(repo components.Repo) string {
	return repo.Path(".devcluster")
}

// Flag is what a command on a dev cluster needs on its command line to find the state folder.
func Flag(repo components.Repo, dir string) string {
	if dir == DefaultDir(repo) {
		return ""
	}
	return " --dir " + console.Word(dir)
}

// StopCommand ends the dev cluster in that state folder.
func StopCommand(repo components.Repo, dir string) string {
	if flag := Flag(repo, dir); flag != "" {
		return "go -C hack/devcluster run . down" + flag
	}
	return "make dev-down"
}

// Up builds, cleans and starts. On error everything that it started is ended.
func Up(ctx context.Context, o Options) (*Stack, error) {
	if err := o.prepare(ctx); err != nil {
		return nil, err
	}
	return start(ctx, o)
}

// prepare settles the state folder, builds what is missing and ends what an
// earlier dev cluster left.
func (o *Options) prepare(ctx context.Context) error {
	if o.Dir == "" {
		o.Dir = DefaultDir(o.Repo)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	o.Dir = dir
	if !o.Built {
		if err := o.Repo.Build(ctx, o.Out, append(cluster.Components(), manager.Components(o.Managers)...)...); err != nil {
			return err
		}
	}
	return Down(o.Dir, o.Out)
}

// start starts a prepared dev cluster.
func start(ctx context.Context, o Options) (*Stack, error) {
	group, err := process.NewGroup(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := up(ctx, o, group)
	if err != nil {
		return nil, errors.Join(err, group.Stop())
	}
	return s, nil
}

// Runs reports whether a process of a dev cluster runs in the state folder dir, or in that of the
// cluster with the hosts that belongs to it.
func Runs(dir string) (bool, error) {
	for _, dir := range []string{dir, HostsDir(dir)} {
		records, err := process.Recorded(dir)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(records, process.Record.Alive) {
			return true, nil
		}
	}
	return false, nil
}

// Down ends the dev cluster whose state folder is dir, if one runs there, and the
// one with the hosts that belongs to it.
func Down(dir string, out *console.Printer) error {
	for _, dir := range []string{dir, HostsDir(dir)} {
		ended, err := process.End(dir)
		if err != nil {
			return fmt.Errorf("end the dev cluster in %s: %w", dir, err)
		}
		if ended > 0 {
			out.Line("ended %d processes of the dev cluster in %s", ended, dir)
		}
	}
	return nil
}

func up(ctx context.Context, o Options, group *process.Group) (*Stack, error) {
	c, err := cluster.Start(ctx, cluster.Options{Dir: o.Dir, Repo: o.Repo, Group: group, Out: o.Out, Audit: o.Audit})
	if err != nil {
		return nil, err
	}
	running, err := manager.Start(ctx, manager.Options{Cluster: c, Repo: o.Repo, Out: o.Out}, o.Managers)
	if err != nil {
		return nil, err
	}
	return &Stack{Cluster: c, Repo: o.Repo, Running: running}, nil
}
