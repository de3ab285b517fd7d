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

package remote

import (
	"cmp"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/secretwatch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

// Options are what a Registry needs. Zero values of the optional ones mean defaults.
type Options struct {
	// Live reads Secrets of the management cluster past the cache.
	Live client.Reader
	// Secrets reports which Secrets change.
	Secrets *secretwatch.Watch
	// Metrics is where the measurements are registered.
	Metrics prometheus.Registerer
	// UserAgent names the manager in the audit logs of other clusters.
	UserAgent string

	// Rate limits the requests of one connection. Optional.
	Rate manager.Rate
	// RequestTimeout bounds each request. Optional.
	RequestTimeout time.Duration
	// MaxAnswer bounds how much of one answer is read: its bytes, and more for each
	// object in it. Optional.
	MaxAnswer int64
	// ReadLimiter bounds how fast answers are read. Optional.
	ReadLimiter *transport.ReadLimiter
	// MaxConnections bounds the connections for the references of one namespace. Optional.
	MaxConnections int
	// ConnectionMemory and Memory bound what one connection and all together hold in
	// memory of the objects of other clusters, in bytes. Optional.
	ConnectionMemory, Memory int64
	// Denied are addresses that are never connected to, whatever name resolves to them. See
	// LocalAddresses. Optional.
	Denied transport.Addresses
	// Clock measures how long a connection held. Optional.
	Clock clock.PassiveClock
}

func (o *Options) setDefaults() {
	o.Rate = cmp.Or(o.Rate, manager.Rate{QPS: 20, Burst: 30})
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 10*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, 48<<20)
	o.MaxConnections = cmp.Or(o.MaxConnections, 10)
	o.ConnectionMemory = cmp.Or(o.ConnectionMemory, 64<<20)
	o.Memory = cmp.Or(o.Memory, 256<<20)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// LocalAddresses are those by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback, link-local and the
// addresses of its interfaces. Nothing that a tenant names should lead to them.
func LocalAddresses() []netip.Prefix {
	return append(ownAddresses(), addresses.Local()...)
}

// ownAddresses are those of the interfaces of this process.
func ownAddresses() []netip.Prefix {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil // without a right to ask, the other ones are denied still
	}
	var out []netip.Prefix
	for _, address := range interfaces {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			ip := prefix.Addr().Unmap()
			out = append(out, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return out
}

// ParseAddresses reads a list of prefixes such as 10.0.0.0/8, separated by commas. The
// word local stands for LocalAddresses, services for the given ranges of Services, and an
// empty text for none.
func ParseAddresses(text string, services []netip.Prefix) ([]netip.Prefix, error) {
	return addresses.Parse(text, map[string][]netip.Prefix{"local": LocalAddresses(), "services": services})
}
