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
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Assets collects etcd, kube-apiserver and, where it was built, kubectl in one
// folder, as links, because envtest looks for them in the single folder that
// KUBEBUILDER_ASSETS names. It returns that folder.
func (r Repo) Assets() (string, error) {
	if r.Prebuilt != "" {
		return r.Prebuilt, nil
	}
	wanted, err := Lookup(Etcd, APIServer, Kubectl)
	if err != nil {
		return "", err
	}
	version, err := r.Version(wanted[1])
	if err != nil {
		return "", err
	}
	dir := r.Path("bin", "components", "envtest-"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, c := range wanted {
		binary, err := r.Binary(c)
		if err != nil {
			return "", err
		}
		if err := link(binary, filepath.Join(dir, c.Name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// link makes name a relative link to target unless target is missing. The link
// is made aside and renamed: several test packages may do this at once.
func link(target, name string) error {
	if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	relative, err := filepath.Rel(filepath.Dir(name), target)
	if err != nil {
		return err
	}
	if now, err := os.Readlink(name); err == nil && now == relative {
		return nil
	}
	aside, err := os.MkdirTemp(filepath.Dir(name), ".link")
	if err != nil {
		return err
	}
	fresh := filepath.Join(aside, filepath.Base(name))
	err = os.Symlink(relative, fresh)
	if err == nil {
		err = os.Rename(fresh, name)
	}
	return errors.Join(err, os.RemoveAll(aside))
}
