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
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestDeniedAddresses(t *testing.T) {
	scheme, err := NewScheme()
	expect.NoError(t, err)
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
	expect.NoError(t, err)
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
			denied, err := newDenied(t.Context(), "identity-denied-addresses", parse(t, tt.flags...).IdentityDenied, reader(tt.err), reader(tt.err))
			if (err != nil) != tt.fails {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			is := func(address string) bool {
				for _, prefix := range denied(t.Context()) {
					if prefix.Contains(netip.MustParseAddr(address)) {
						return true
					}
				}
				return false
			}
			for _, address := range tt.deny {
				expect.That(t, is(address), "%s is not denied", address)
			}
			for _, address := range tt.allow {
				expect.That(t, !is(address), "%s is denied", address)
			}
		})
	}
}

// A range of Services that is added while the manager runs is denied as well. When the cache does not
// answer, those of the start are.
func TestRangesOfServicesThatComeLaterAreDenied(t *testing.T) {
	scheme, err := NewScheme()
	expect.NoError(t, err)
	first, second := netip.MustParsePrefix("10.96.0.0/16"), netip.MustParsePrefix("11.96.0.0/16")
	var answer error
	services := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return errors.Join(answer, c.List(ctx, list, opts...))
		},
	}).Build()
	add := func(name string, cidr netip.Prefix) {
		if err := services.Create(t.Context(), &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr.String()}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	add("kubernetes", first)
	denied, err := newDenied(t.Context(), "identity-denied-addresses", "services", services, services)
	expect.NoError(t, err)
	for _, step := range []struct {
		when string
		do   func()
		want []netip.Prefix
	}{
		{"at the start", func() {}, []netip.Prefix{first}},
		{"as one was added", func() { add("more", second) }, []netip.Prefix{first, second}},
		{"while the cache does not answer", func() { answer = errors.New("timeout") }, []netip.Prefix{first}},
	} {
		step.do()
		if got := denied(t.Context()); !slices.Equal(got, step.want) {
			t.Errorf("%s: %v, want %v", step.when, got, step.want)
		}
	}
}

func TestParseAddresses(t *testing.T) {
	tests := map[string]struct {
		text  string
		want  int
		first netip.Prefix
		fails bool
	}{
		"nothing denies nothing":            {},
		"local stands for what is local":    {text: "local", want: len(localAddresses()), first: localAddresses()[0]},
		"services stands for what is added": {text: "services"},
		"prefixes are taken as they are":    {text: "10.1.2.3/8, fd00::/8", want: 2, first: netip.MustParsePrefix("10.0.0.0/8")},
		"an address alone is no prefix":     {text: "10.0.0.1", fails: true},
		"another word is no prefix either":  {text: "all", fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseAddresses(tt.text)
			if (err != nil) != tt.fails || len(got) != tt.want || tt.want > 0 && got[0] != tt.first {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
