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

package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
)

// Server is an API server with the CRDs of every project that the managers use.
// Its zero value is ready for Run.
type Server struct {
	apitest.Server
}

// Run starts the server, runs the tests and stops the server. A TestMain calls
// it with its *testing.M and exits with what it returns.
func (s *Server) Run(tests interface{ Run() int }) int {
	repo, err := components.FindRepo(".")
	if err == nil {
		s.CRDs, err = CRDFiles(context.Background(), repo)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "CRDs for the tests: %v\n", err)
		return 1
	}
	return s.Server.Run(tests)
}

// CRDFiles lists the files and folders with the CRDs that the managers use: those
// of this repository, and those of other projects in the modules that the dev
// cluster runs.
func CRDFiles(ctx context.Context, repo components.Repo) ([]string, error) {
	files := []string{
		repo.Path("config", "crd", "bases"),
		repo.Path("config", "hostclaim", "crd", "bases"),
	}
	foreign := map[string][]string{
		components.BareMetalOperator: {
			"config/base/crds/bases/metal3.io_baremetalhosts.yaml",
			"config/base/crds/bases/metal3.io_hardwaredata.yaml",
		},
		components.IPAddressManager: {"config/crd/bases"},
		components.ClusterAPI:       {"core/config/crd/bases"},
	}
	for name, paths := range foreign {
		found, err := components.Lookup(name)
		if err != nil {
			return nil, err
		}
		source, err := repo.Source(ctx, found[0])
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			files = append(files, filepath.Join(source, filepath.FromSlash(path)))
		}
	}
	return files, nil
}

// Namespace creates a namespace for one test and returns its name, which starts
// with prefix.
func (s *Server) Namespace(t *testing.T, prefix string, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: labels}}
	if err := s.Client.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}
