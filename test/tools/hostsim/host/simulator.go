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
	"cmp"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/life"
)

// workers is how many hosts are worked on at a time; each waits for the API server
// most of the time.
const workers = 20

// Simulator plays the servers of a cluster.
type Simulator struct {
	// hosts reads from a cache and writes; live reads secrets and HardwareData.
	hosts  client.Client
	live   client.Reader
	delays life.Delays
	clock  clock.PassiveClock
	book   book
}

// New returns a simulator whose operations take the given delays.
func New(delays life.Delays) *Simulator {
	return &Simulator{delays: delays, clock: clock.RealClock{}}
}

// NewScheme knows the kinds that a simulator reads and writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(bmov1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme))
}

// SetupWithManager adds the simulator to a manager. It plays the hosts that the
// manager's cache holds.
func (s *Simulator) SetupWithManager(mgr ctrl.Manager) error {
	s.hosts, s.live = mgr.GetClient(), mgr.GetAPIReader()
	return ctrl.NewControllerManagedBy(mgr).
		Named("host").
		For(&bmov1alpha1.BareMetalHost{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WithLogConstructor(func(req *reconcile.Request) logr.Logger {
			logger := mgr.GetLogger().WithName("host")
			if req == nil {
				return logger
			}
			return logger.WithValues("host", req.NamespacedName)
		}).
		Complete(s)
}

// Server returns the server behind a host; false if the host was never seen. It
// outlives its host, as servers do: one that is registered again under the same
// name finds what was left on it.
func (s *Simulator) Server(host types.NamespacedName) (life.Server, bool) {
	return s.book.find(host)
}

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

// reportBoot logs what cloud-init would do on a server that comes up. Nothing is executed. What it
// cannot read is logged and otherwise ignored: the server runs, as in life, only without what its
// owner wanted.
func reportBoot(logger logr.Logger, host *bmov1alpha1.BareMetalHost, server life.Server) {
	logger = logger.WithValues("image", cmp.Or(server.Disk.Image, server.Disk.CustomDeploy), "boot", server.Boots,
		"data", server.Disk.Drive.Hash())
	config, hostname, err := configdrive.FirstBoot(host, server.Disk.Drive)
	switch {
	case err != nil:
		logger.Info("Booted, cloud-init gives up", "hostname", hostname, "reason", err.Error())
	case server.Boots > 1:
		logger.Info("Booted again", "hostname", hostname)
	default:
		logger.Info("Booted", "hostname", hostname, "runcmd", config.Commands, "files", len(config.Files))
	}
}
