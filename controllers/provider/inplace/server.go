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

package inplace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// What calls may cost, since callers show no certificate and a call is read before it is judged.
const (
	// maxBody is how many bytes a call may have. The largest one of Cluster API has both
	// KubeadmConfigTemplates of a MachineSet, whose data must fit into a Secret of 1 MiB.
	maxBody = 4 << 20
	// maxCalls is how many calls are read and answered at a time. Hostile JSON takes about 30
	// times its size when it is decoded; the manager's memory limit is 1 GiB.
	maxCalls = 4
	// callTimeout is when Cluster API gives a call up.
	callTimeout = runtimehooksv1.DefaultHandlersTimeoutSeconds * time.Second
)

// The names of the handlers, which Cluster API shows with that of the ExtensionConfig.
const (
	canUpdateName = "can-update-machine-set"
	updateName    = "update-machine"
)

// NewServer returns a server of the hooks. CanUpdateMachine is not among them: control planes
// alone ask it, and they replace their Machines where no extension answers.
func NewServer(e *Extension, options runtimeserver.Options) (*runtimeserver.Server, error) {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return nil, fmt.Errorf("hooks of Cluster API: %w", err)
	}
	options.Catalog = catalog
	server, err := runtimeserver.New(options)
	if err != nil {
		return nil, fmt.Errorf("server of runtime hooks: %w", err)
	}
	server.Server = limitedServer{server.Server, make(chan struct{}, maxCalls), callTimeout}
	return server, errors.Join(
		server.AddExtensionHandler(runtimeserver.ExtensionHandler{
			Hook: runtimehooksv1.CanUpdateMachineSet, Name: canUpdateName, HandlerFunc: e.CanUpdateMachineSet,
		}),
		server.AddExtensionHandler(runtimeserver.ExtensionHandler{
			Hook: runtimehooksv1.UpdateMachine, Name: updateName, HandlerFunc: e.UpdateMachine,
		}),
	)
}

// limitedServer bounds what the calls of all hooks cost together.
type limitedServer struct {
	webhook.Server

	// slots holds one value for each call that is being read and answered.
	slots chan struct{}
	// timeout ends the turn of a call.
	timeout time.Duration
}

// Register implements webhook.Server.
func (s limitedServer) Register(path string, hook http.Handler) {
	s.Server.Register(path, s.limit(hook))
}

// limit has a call wait for its turn, and read no further than a call of Cluster API could be
// long, nor longer than Cluster API would wait for the answer. Cluster API repeats what is
// answered with an error.
func (s limitedServer) limit(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			http.Error(w, "too many calls at a time", http.StatusServiceUnavailable)
			return
		}
		deadline, _ := ctx.Deadline()
		if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil {
			http.Error(w, "the call cannot be bounded", http.StatusInternalServerError)
			return
		}
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		hook.ServeHTTP(w, r)
	})
}
