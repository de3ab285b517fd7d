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

package setup

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

// refresh is how long the ranges of Services are taken for current. They are read when a
// connection is made, and a tenant can have many made.
const refresh = time.Minute

// deniedAddresses are those of the value of a flag. The API server is only asked for the
// ranges of Services where the value names them.
type deniedAddresses struct {
	value string
	live  client.Reader
	clock clock.PassiveClock

	mu    sync.Mutex
	known []netip.Prefix
	read  time.Time
}

// newDenied reads the value of a flag. Ranges that the cluster does not report are logged.
func newDenied(ctx context.Context, flag, value string, live client.Reader, clock clock.PassiveClock) (*deniedAddresses, error) {
	d := &deniedAddresses{value: value, live: live, clock: clock, read: clock.Now()}
	var err error
	switch d.known, err = d.load(ctx); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		ctrl.LoggerFrom(ctx).Info("The addresses of Services are not known: name them in the flag", "flag", flag, "reason", err.Error())
		d.known, err = parseAddresses(value, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return d, nil
}

// now returns the addresses with the ranges that Services have now, which may have come since
// the manager started. When the API server does not report them, those known stay.
func (d *deniedAddresses) now(ctx context.Context) []netip.Prefix {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ofServices() && d.clock.Since(d.read) >= refresh {
		d.read = d.clock.Now()
		if known, err := d.load(ctx); err == nil {
			d.known = known
		}
	}
	return d.known
}

func (d *deniedAddresses) ofServices() bool { return strings.Contains(d.value, "services") }

func (d *deniedAddresses) load(ctx context.Context) ([]netip.Prefix, error) {
	var services []netip.Prefix
	if d.ofServices() {
		var err error
		if services, err = serviceRanges(ctx, d.live); err != nil {
			return nil, err
		}
	}
	return parseAddresses(d.value, services)
}

// serviceRanges are the addresses of Services.
func serviceRanges(ctx context.Context, live client.Reader) ([]netip.Prefix, error) {
	var ranges networkingv1.ServiceCIDRList
	if err := live.List(ctx, &ranges); err != nil {
		return nil, fmt.Errorf("list ServiceCIDRs: %w", err)
	}
	var out []netip.Prefix
	for i := range ranges.Items {
		for _, text := range ranges.Items[i].Spec.CIDRs {
			prefix, err := netip.ParsePrefix(text)
			if err != nil {
				return nil, fmt.Errorf("ServiceCIDR %s: %w", ranges.Items[i].Name, err)
			}
			out = append(out, prefix)
		}
	}
	return out, nil
}

// localAddresses are those by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback, link-local and the
// addresses of its interfaces. Nothing that a tenant names should lead to them.
func localAddresses() []netip.Prefix {
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

// parseAddresses reads a list of prefixes such as 10.0.0.0/8, separated by commas. The
// word local stands for localAddresses, services for the given ranges of Services, and an
// empty text for none.
func parseAddresses(text string, services []netip.Prefix) ([]netip.Prefix, error) {
	return addresses.Parse(text, map[string][]netip.Prefix{"local": localAddresses(), "services": services})
}
