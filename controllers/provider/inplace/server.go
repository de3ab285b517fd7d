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
	"crypto/tls"
	"errors"
	"fmt"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
)

// The names of the handlers, which Cluster API shows with that of the ExtensionConfig.
const (
	canUpdateName = "can-update-machine-set"
	updateName    = "update-machine"
)

// Serving says where and how the hooks are served.
type Serving struct {
	// Host is the address to listen on; empty means all.
	Host string
	// Port to listen on.
	Port int
	// CertDir holds tls.crt and tls.key.
	CertDir string
	// TLS are further options of TLS.
	TLS []func(*tls.Config)
}

// NewServer returns a server of the hooks. CanUpdateMachine is not among them: control planes
// alone ask it, and they replace their Machines where no extension answers.
func NewServer(e *Extension, s Serving) (*runtimeserver.Server, error) {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return nil, fmt.Errorf("hooks of Cluster API: %w", err)
	}
	server, err := runtimeserver.New(runtimeserver.Options{
		Catalog: catalog, Host: s.Host, Port: s.Port, CertDir: s.CertDir, TLSOpts: s.TLS,
	})
	if err != nil {
		return nil, fmt.Errorf("server of runtime hooks: %w", err)
	}
	return server, errors.Join(
		server.AddExtensionHandler(runtimeserver.ExtensionHandler{
			Hook: runtimehooksv1.CanUpdateMachineSet, Name: canUpdateName, HandlerFunc: e.CanUpdateMachineSet,
		}),
		server.AddExtensionHandler(runtimeserver.ExtensionHandler{
			Hook: runtimehooksv1.UpdateMachine, Name: updateName, HandlerFunc: e.UpdateMachine,
		}),
	)
}
