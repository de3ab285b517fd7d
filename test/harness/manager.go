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
	"testing"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

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
	if err != nil {
		t.Fatalf("new manager: %v", err)
	}
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
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the caches of the manager did not fill")
	}
	return stop
}
