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

package components

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
)

// parallel is how many wrapper modules are built at a time. The compiler uses
// every core by itself; more would only cost memory.
const parallel = 2

// Clients builds kubectl with our plugin and clusterctl, of the versions that fit, and returns the folders that
// they lie in, as PATH has them.
func (r Repo) Clients(ctx context.Context, out *console.Printer) (string, error) {
	names := []string{Kubectl, Clusterctl, Plugin}
	if err := r.Build(ctx, out, names...); err != nil {
		return "", err
	}
	found, err := Lookup(names...)
	if err != nil {
		return "", err
	}
	var folders []string
	for _, program := range found {
		binary, err := r.Binary(program)
		if err != nil {
			return "", err
		}
		folders = append(folders, filepath.Dir(binary))
	}
	return strings.Join(folders, ":"), nil
}

// Build makes sure that the named programs are there. Programs of one module
// are built one after the other, since they share most of their packages.
func (r Repo) Build(ctx context.Context, out *console.Printer, names ...string) error {
	wanted, err := Lookup(names...)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("building needs the Go toolchain: %w", err)
	}
	folders := map[string][]Component{}
	var order []string
	for _, c := range wanted {
		if folders[c.Folder] == nil {
			order = append(order, c.Folder)
		}
		folders[c.Folder] = append(folders[c.Folder], c)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, folder := range order {
		group.Go(func() error {
			for _, c := range folders[folder] {
				if err := r.buildOne(ctx, out, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// buildOne builds into a file beside the target and renames it, so that an
// interrupted build leaves nothing that looks finished.
func (r Repo) buildOne(ctx context.Context, out *console.Printer, c Component) error {
	target, err := r.Binary(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(target); err == nil && !c.Own() {
		return nil
	}
	version, err := r.Version(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	task := out.Task(fmt.Sprintf("build %s %s", c.Name, version))
	err = r.compile(ctx, c, version, target)
	task.Done(err)
	return err
}

func (r Repo) compile(ctx context.Context, c Component, version, target string) error {
	unfinished := fmt.Sprintf("%s.%d", target, os.Getpid())
	// After the rename there is nothing left to remove.
	defer func() { _ = os.Remove(unfinished) }()
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath",
		"-ldflags", c.linkerFlags(version), "-o", unfinished, c.Package)
	cmd.Dir = r.Path(c.Folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", c.Name, cmd.Dir, err, output)
	}
	return os.Rename(unfinished, target)
}
