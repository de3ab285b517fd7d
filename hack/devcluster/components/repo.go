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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// rootModule is the module whose folder is the repository.
const rootModule = "github.com/metal3-io/cluster-api-provider-metal3"

// Repo is a checkout of this repository.
type Repo struct {
	// Root is its absolute path.
	Root string
	// Prebuilt is a folder with an etcd and a kube-apiserver to use instead of
	// built ones, as KUBEBUILDER_ASSETS names it; empty for none.
	Prebuilt string
}

// FindRepo looks for the repository at dir and above it.
func FindRepo(dir string) (Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Repo{}, err
	}
	for current := dir; ; current = filepath.Dir(current) {
		text, err := os.ReadFile(filepath.Join(current, "go.mod"))
		if err == nil && modfile.ModulePath(text) == rootModule {
			return Repo{Root: current, Prebuilt: os.Getenv("KUBEBUILDER_ASSETS")}, nil
		}
		if current == filepath.Dir(current) {
			return Repo{}, fmt.Errorf("%s is not inside a checkout of %s", dir, rootModule)
		}
	}
}

// Path joins a path of the repository to its root.
func (r Repo) Path(parts ...string) string {
	return filepath.Join(append([]string{r.Root}, parts...)...)
}

// Version returns the version that the wrapper module of c requires; for our
// own programs "dev".
func (r Repo) Version(c Component) (string, error) {
	if c.Own() {
		return "dev", nil
	}
	name := r.Path(c.Folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return "", err
	}
	for _, require := range file.Require {
		if require.Mod.Path == c.Module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", name, c.Module)
}

// Binary returns where the program of c is, or will be after a build.
func (r Repo) Binary(c Component) (string, error) {
	if c.Own() {
		return r.Path("bin", c.Name), nil
	}
	if r.Prebuilt != "" && (c.Name == Etcd || c.Name == APIServer) {
		return filepath.Join(r.Prebuilt, c.Name), nil
	}
	version, err := r.Version(c)
	return r.Path("bin", "components", c.Name+"-"+version, c.Name), err
}

// Source returns the folder of the source of c: the module cache's for those of
// others, downloaded if need be.
func (r Repo) Source(ctx context.Context, c Component) (string, error) {
	if c.Own() {
		return r.Root, nil
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", c.Module)
	cmd.Dir = r.Path(c.Folder)
	text, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(text, &module); jsonErr != nil {
		return "", fmt.Errorf("locate the source of %s: %w", c.Name, errors.Join(err, jsonErr))
	}
	if module.Error != "" {
		return "", fmt.Errorf("locate the source of %s: %s", c.Name, module.Error)
	}
	return module.Dir, err
}
