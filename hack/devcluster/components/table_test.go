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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func checkout(t *testing.T) Repo {
	t.Helper()
	t.Setenv("KUBEBUILDER_ASSETS", "")
	repo, err := FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestFindRepo(t *testing.T) {
	repo := checkout(t)
	if _, err := os.Stat(repo.Path("hack", "devcluster", "components", "repo.go")); err != nil {
		t.Errorf("FindRepo found %s, which is not this repository: %v", repo.Root, err)
	}
	if _, err := FindRepo(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not inside a checkout") {
		t.Errorf("FindRepo outside of a checkout: %v", err)
	}
}

func TestEveryComponentHasAVersionAndAPlace(t *testing.T) {
	repo := checkout(t)
	seen := map[string]string{}
	for _, c := range Table() {
		version, err := repo.Version(c)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		binary, err := repo.Binary(c)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if other := seen[binary]; other != "" {
			t.Errorf("%s and %s are both built as %s", c.Name, other, binary)
		}
		seen[binary] = c.Name
		want := repo.Path("bin", "components", c.Name+"-"+version, c.Name)
		if c.Own() {
			want = repo.Path("bin", c.Name)
		}
		if binary != want {
			t.Errorf("%s is built as %s, not as %s", c.Name, binary, want)
		}
	}
}

// A wrapper module builds only what its tool directives name; go.sum would lack
// the rest.
func TestWrapperModulesNameTheirProgramsAsTools(t *testing.T) {
	repo := checkout(t)
	for _, c := range Table() {
		if c.Own() {
			continue
		}
		text, err := os.ReadFile(repo.Path(c.Folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), c.Package+"\n") {
			t.Errorf("%s/go.mod has no tool directive for %s", c.Folder, c.Package)
		}
	}
}

func TestPrebuiltControlPlaneIsUsed(t *testing.T) {
	assets := t.TempDir()
	repo := checkout(t)
	repo.Prebuilt = assets
	found, err := Lookup(Etcd, APIServer, ControllerManager)
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, c := range found {
		binary, err := repo.Binary(c)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, filepath.Dir(binary))
	}
	if folders[0] != assets || folders[1] != assets || folders[2] == assets {
		t.Errorf("etcd, kube-apiserver and kube-controller-manager come from %v", folders)
	}
	if dir, err := repo.Assets(); err != nil || dir != assets {
		t.Errorf("Assets() = %s, %v", dir, err)
	}
}

func TestLookup(t *testing.T) {
	found, err := Lookup(HostSim, Etcd)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{Etcd, HostSim}, []string{found[0].Name, found[1].Name}); diff != "" {
		t.Errorf("not in the order of the table (-want +got):\n%s", diff)
	}
	if _, err := Lookup("etc"); err == nil || !strings.Contains(err.Error(), Etcd) {
		t.Errorf("the error for an unknown name must list the known ones: %v", err)
	}
}

func TestLinkerFlags(t *testing.T) {
	found, err := Lookup(APIServer, Etcd)
	if err != nil {
		t.Fatal(err)
	}
	if got := found[0].linkerFlags("v3.6.8"); got != "-s -w" {
		t.Errorf("etcd is linked with %q", got)
	}
	for _, want := range []string{"component-base/version.gitVersion=v1.36.1", "client-go/pkg/version.gitMajor=1 ", "gitMinor=36 "} {
		if got := found[1].linkerFlags("v1.36.1"); !strings.Contains(got, want) {
			t.Errorf("kube-apiserver is linked with %q, which lacks %q", got, want)
		}
	}
}

func TestLink(t *testing.T) {
	dir := t.TempDir()
	target, name := filepath.Join(dir, "target"), filepath.Join(dir, "name")
	if err := link(target, name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(name); err == nil {
		t.Error("a link to a missing target was made")
	}
	if err := os.WriteFile(target, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := link(target, name); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "x" {
		t.Errorf("the link reads as %q, %v", text, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("link left something behind: %v, %v", entries, err)
	}
}
