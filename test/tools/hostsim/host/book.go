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

package host

import (
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// book holds the servers by the names of their hosts. Its zero value is empty.
type book struct {
	mu      sync.Mutex
	servers map[types.NamespacedName]life.Server
}

func (b *book) find(host types.NamespacedName) (life.Server, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	server, found := b.servers[host]
	return server, found
}

// of is the server behind a host, restored from the host if it is not known.
func (b *book) of(host *bmov1alpha1.BareMetalHost) life.Server {
	if server, found := b.find(client.ObjectKeyFromObject(host)); found {
		return server
	}
	return life.Restored(host)
}

func (b *book) store(host types.NamespacedName, server life.Server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.servers == nil {
		b.servers = map[types.NamespacedName]life.Server{}
	}
	b.servers[host] = server
}
