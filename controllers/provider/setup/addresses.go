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
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote/transport"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list;watch

// newDenied returns the addresses of the value of a flag. Where it names the ranges of Services, these
// are as the cache shows them: some may come while the manager runs. Ranges that the cluster does not
// report are logged.
func newDenied(ctx context.Context, flag, value string, live, cached client.Reader) (transport.Addresses, error) {
	denied, err := parseAddresses(value)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	named := func(context.Context) []netip.Prefix { return denied }
	if !strings.Contains(value, "services") {
		return named, nil
	}
	known, err := serviceRanges(ctx, live)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		ctrl.LoggerFrom(ctx).Info("The addresses of Services are not known: name them in the flag", "flag", flag, "reason", err.Error())
		return named, nil
	case err != nil:
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return func(ctx context.Context) []netip.Prefix {
		services, err := serviceRanges(ctx, cached)
		if err != nil {
			services = known
		}
		return slices.Concat(denied, services)
	}, nil
}

// serviceRanges are the addresses of Services.
func serviceRanges(ctx context.Context, reader client.Reader) ([]netip.Prefix, error) {
	var ranges networkingv1.ServiceCIDRList
	if err := reader.List(ctx, &ranges); err != nil {
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
// word local stands for localAddresses, services for ranges that newDenied adds, and an
// empty text for none.
func parseAddresses(text string) ([]netip.Prefix, error) {
	return addresses.Parse(text, map[string][]netip.Prefix{"local": localAddresses(), "services": nil})
}
