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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/apitest"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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
			"config/base/crds/bases/metal3.io_hostclaims.yaml",
			"config/base/crds/bases/metal3.io_hostdeploypolicies.yaml",
		},
		components.IPAddressManager: {"config/crd/bases"},
		components.InClusterIPAM:    {"config/crd/bases/ipam.cluster.x-k8s.io_inclusterippools.yaml"},
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

// StartManager runs a manager with the controllers that setup adds until the
// test ends, or until the returned function is called, by which a test stops a
// manager before its time. Start-up errors fail the test.
func (s *Server) StartManager(t *testing.T, options ctrl.Options, setup func(context.Context, ctrl.Manager) error) (stop func()) {
	t.Helper()
	options.Scheme = s.Scheme
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Controller = config.Controller{
		SkipNameValidation: ptr.To(true),
		CacheSyncTimeout:   time.Minute,
		UsePriorityQueue:   ptr.To(false), // as the managers have it
	}
	mgr, err := ctrl.NewManager(s.Config, options)
	expect.Must(t, err == nil, "new manager: %v", err)
	ctx, cancel := context.WithCancel(context.Background())
	if err := setup(ctx, mgr); err != nil {
		cancel()
		t.Fatalf("set up the manager: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("manager: %v", err)
		}
	}
	t.Cleanup(stop)
	expect.Must(t, mgr.GetCache().WaitForCacheSync(ctx), "the caches of the manager did not fill")
	return stop
}

// ErrCrash is what a manager is answered after its Crash.
var ErrCrash = errors.New("the manager has crashed")

// Crash is a manager that dies with one of its writes. From then on nothing of it reaches
// the API server. The zero value never dies, and counts the writes.
type Crash struct {
	// At is the number of the write, from 1; 0 for never.
	At int32
	// Arrives is true if the write arrives and only its answer is lost.
	Arrives bool
	// Writes counts what the manager has written, or tried to.
	Writes atomic.Int32
	// Dead is true if the manager has died.
	Dead atomic.Bool
}

// Write does one write of the manager, or fails it.
func (c *Crash) Write(do func() error) error {
	switch n := c.Writes.Add(1); {
	case c.At == 0 || n < c.At:
		return do()
	case n == c.At && c.Arrives:
		if err := do(); err != nil {
			return err
		}
	}
	c.Dead.Store(true)
	return ErrCrash
}

// Client is a client whose writes the crash may fail.
func (c *Crash) Client(of client.WithWatch) client.WithWatch {
	return interceptor.NewClient(of, interceptor.Funcs{
		Create: func(ctx context.Context, of client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return c.Write(func() error { return of.Create(ctx, o, options...) })
		},
		Delete: func(ctx context.Context, of client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return c.Write(func() error { return of.Delete(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, of client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return c.Write(func() error { return of.Patch(ctx, o, patch, options...) })
		},
		SubResourcePatch: func(ctx context.Context, of client.Client, sub string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return c.Write(func() error { return of.SubResource(sub).Patch(ctx, o, patch, options...) })
		},
	})
}

// NewClient makes the client of a manager that may die with the crash.
func (c *Crash) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	of, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return c.Client(of), nil
}

// Manager starts a manager that may die, and returns a function that starts one that stays in its place once it has.
func (c *Crash) Manager(start func(*Crash) (stop func())) (replace func()) {
	stop := start(c)
	return func() {
		if c.Dead.Load() {
			stop()
			c.Dead.Store(false)
			stop = start(nil)
		}
	}
}

// Crashes plays a story with a manager that stays, and then with one that dies with each of its writes, before the
// write arrives and after it.
func Crashes(t *testing.T, play func(*testing.T, *Crash)) {
	t.Helper()
	healthy := &Crash{}
	play(t, healthy)
	writes := healthy.Writes.Load()
	for at := int32(1); at <= writes; at++ {
		for _, arrives := range []bool{true, false} {
			t.Run(fmt.Sprintf("write %d arrives %t", at, arrives), func(t *testing.T) {
				play(t, &Crash{At: at, Arrives: arrives})
			})
		}
	}
	t.Logf("the story takes %d writes", writes)
}
