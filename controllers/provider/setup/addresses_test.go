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
	"errors"
	"net"
	"net/netip"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestDeniedAddresses(t *testing.T) {
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	ranges := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16", "fd00::/112"}},
	}
	reader := func(err error) client.Reader {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(ranges).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	}
	resource := schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}
	own := "127.0.0.1"
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		own = netip.MustParsePrefix(address.String()).Addr().String()
	}
	for name, tt := range map[string]struct {
		flags []string
		err   error
		deny  []string
		allow []string
		fails bool
	}{
		"by default, the manager's own and those of Services": {
			deny:  []string{own, "127.0.0.1", "169.254.169.254", "fe80::1", "10.96.0.1", "fd00::1"},
			allow: []string{"10.97.0.1", "203.0.113.7"},
		},
		"Services may be opened": {
			flags: []string{"--identity-denied-addresses=local"}, deny: []string{own}, allow: []string{"10.96.0.1"},
		},
		"everything may be opened": {
			flags: []string{"--identity-denied-addresses="}, err: errors.New("not asked"), allow: []string{own, "10.96.0.1"},
		},
		"a cluster that does not serve their addresses": {
			err: apierrors.NewNotFound(resource, ""), deny: []string{own}, allow: []string{"10.96.0.1"},
		},
		"a cluster that hides their addresses": {err: apierrors.NewForbidden(resource, "", nil), deny: []string{own}},
		"a cluster that does not answer":       {err: errors.New("timeout"), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			denied, err := deniedAddresses(t.Context(), "identity-denied-addresses", parse(t, tt.flags...).IdentityDenied, reader(tt.err))
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			is := func(address string) bool {
				for _, prefix := range denied {
					if prefix.Contains(netip.MustParseAddr(address)) {
						return true
					}
				}
				return false
			}
			for _, address := range tt.deny {
				if !is(address) {
					t.Errorf("%s is not denied", address)
				}
			}
			for _, address := range tt.allow {
				if is(address) {
					t.Errorf("%s is denied", address)
				}
			}
		})
	}
}
