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
	"errors"

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

// New returns a simulator whose operations take as long as delays say.
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
