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
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list

// deniedAddresses are those of the value of a flag. The API server is only asked for the
// addresses of Services where the value names them.
func deniedAddresses(ctx context.Context, flag, value string, live client.Reader) ([]netip.Prefix, error) {
	var services []netip.Prefix
	if strings.Contains(value, "services") {
		var err error
		if services, err = serviceRanges(ctx, flag, live); err != nil {
			return nil, err
		}
	}
	denied, err := remote.ParseAddresses(value, services)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return denied, nil
}

// serviceRanges are the addresses of Services, as far as the cluster tells them.
func serviceRanges(ctx context.Context, flag string, live client.Reader) ([]netip.Prefix, error) {
	var ranges networkingv1.ServiceCIDRList
	err := live.List(ctx, &ranges)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		ctrl.LoggerFrom(ctx).Info("The addresses of Services are not known: name them in the flag", "flag", flag, "reason", err.Error())
		return nil, nil
	case err != nil:
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
