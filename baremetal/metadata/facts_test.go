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

package metadata

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func given() Facts {
	return Facts{
		Namespace:     "tenant",
		Machine:       metav1.ObjectMeta{Name: "machine", Annotations: map[string]string{"a": "1"}},
		Metal3Machine: metav1.ObjectMeta{Name: "m3m", Annotations: map[string]string{"a": "2"}},
		Host: hardware.Host{
			Name: "server", Namespace: "infra", BootMACAddress: "52:54:00:00:00:01",
			Labels: map[string]string{"l": "3"}, Annotations: map[string]string{"a": "3", "empty": ""},
			NICs: []hardware.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}},
		},
		Addresses: map[AddressRef]Address{{Pool: "pool"}: {Address: "192.0.2.1"}},
	}
}

func TestObject(t *testing.T) {
	tests := map[string]struct {
		object infrav1.DataObject
		want   metav1.ObjectMeta
	}{
		"the Machine":       {object: infrav1.DataObjectMachine, want: given().Machine},
		"the Metal3Machine": {object: infrav1.DataObjectMetal3Machine, want: given().Metal3Machine},
		"the host as it is published": {
			object: infrav1.DataObjectBareMetalHost,
			want: metav1.ObjectMeta{
				Name: "server", Labels: map[string]string{"l": "3"},
				Annotations: map[string]string{"a": "3", "empty": ""},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, given().object(tc.object)) })
	}
}

func TestLookups(t *testing.T) {
	tests := map[string]struct {
		look    func(Facts) (any, error)
		want    any
		wantErr error
		message string
	}{
		"an annotation that is there": {
			look: func(f Facts) (any, error) { return f.Annotation(infrav1.DataObjectMetal3Machine, "a") },
			want: "2",
		},
		"an annotation that is missing": {
			look:    func(f Facts) (any, error) { return f.Annotation(infrav1.DataObjectMachine, "b") },
			want:    "",
			message: `machine "machine" has no annotation "b": set it`,
		},
		"an annotation of the host that is empty": {
			look:    func(f Facts) (any, error) { return f.Annotation(infrav1.DataObjectBareMetalHost, "empty") },
			want:    "",
			message: `baremetalhost "server" has no annotation "empty": let the owner of the host set it and publish it by the HostDeployPolicy`,
		},
		"an interface that is there": {
			look: func(f Facts) (any, error) { return f.InterfaceMAC("eth0") },
			want: "52:54:00:00:00:01",
		},
		"an interface that is missing": {
			look:    func(f Facts) (any, error) { return f.InterfaceMAC("eth1") },
			want:    "",
			wantErr: interfaceNotFoundError{Interface: "eth1", Known: []string{"eth0"}},
			message: `the host has no network interface "eth1" (it has: eth0): name one of those in a new Metal3DataTemplate, or select hosts that have it`,
		},
		"an interface without a MAC address": {
			look: func(f Facts) (any, error) {
				f.Host.NICs = []hardware.NIC{{Name: "eth1"}}
				return f.InterfaceMAC("eth1")
			},
			want:    "",
			wantErr: interfaceNotFoundError{Interface: "eth1", Known: []string{"eth1"}, NoMAC: true},
			message: `network interface "eth1" of the host has no MAC address in the HardwareData (it has: eth1): ` +
				`let the owner of the host inspect it again, or name another interface in a new Metal3DataTemplate`,
		},
		"an interface of a host that was never inspected": {
			look: func(f Facts) (any, error) {
				f.Host.NICs = nil
				return f.InterfaceMAC("eth1")
			},
			want:    "",
			wantErr: interfaceNotFoundError{Interface: "eth1"},
			message: `the host has no network interface "eth1" (it has: none, the host has not been inspected): name one of those in a new Metal3DataTemplate, or select hosts that have it`,
		},
		"the boot MAC address": {
			look: func(f Facts) (any, error) { return f.bootMAC() },
			want: "52:54:00:00:00:01",
		},
		"a boot MAC address that is missing": {
			look: func(f Facts) (any, error) {
				f.Host.BootMACAddress = ""
				return f.bootMAC()
			},
			want:    "",
			message: `host "server" has no boot MAC address: set spec.bootMACAddress of the BareMetalHost`,
		},
		"an address": {
			look: func(f Facts) (any, error) { return f.Address(AddressRef{Pool: "pool"}) },
			want: Address{Address: "192.0.2.1"},
		},
		"an address that is missing": {
			look:    func(f Facts) (any, error) { return f.Address(AddressRef{Pool: "other"}) },
			want:    Address{},
			wantErr: AddressNotFoundError{Pool: "other"},
			message: `pool "other" has not given an address yet`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.look(given())
			expect.Equal(t, tc.want, got)
			if diff := cmp.Diff(fmt.Sprintf("%#v", tc.wantErr), fmt.Sprintf("%#v", err)); tc.wantErr != nil && diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			expect.Equal(t, tc.message, message)
		})
	}
}

func TestIsInterfaceNotFound(t *testing.T) {
	err := errors.Join(errors.New("other"), fmt.Errorf("bond: %w", interfaceNotFoundError{Interface: "eth1"}))
	expect.That(t, IsInterfaceNotFound(err), "%v is not recognized", err)
	expect.That(t, !IsInterfaceNotFound(errors.New("other")), "any error is recognized")
}

func TestForeignHost(t *testing.T) {
	f := given()
	expect.That(t, f.ForeignHost(), "a host of another namespace is not foreign")
	f.Host.Namespace = "tenant"
	expect.That(t, !f.ForeignHost(), "a host of the same namespace is foreign")
	f.RemoteHost = true
	expect.That(t, f.ForeignHost(), "a host of another cluster is not foreign")
}

// TestRemoteHost shows that the record of where the claim was made counts, not what
// is asked for now.
func TestRemoteHost(t *testing.T) {
	owner := claims.Owner{Namespace: "tenant", Name: "m-1", UID: "uid-1"}
	record := identity.NewRecord(owner, identity.Ref{Secret: "hosts"}, identity.Target{Server: "https://x", Namespace: "a"}, "o-1")
	copied := record
	copied.Machine = "tenant/m-2"
	wished := &infrav1.IdentityReference{Name: "hosts"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		wished      *infrav1.IdentityReference
		want        bool
	}{
		"a machine without a record has its host at home": {},
		"a wish alone changes nothing":                    {wished: wished},
		"a record tells, not a wish":                      {annotations: record.Annotations(), want: true},
		"the record of another machine does not":          {annotations: copied.Annotations()},
		"a record that cannot be read is believed":        {annotations: map[string]string{infrav1.EffectiveIdentityAnnotation: "?"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{
				Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID, Annotations: tc.annotations,
			}, Spec: infrav1.Metal3MachineSpec{IdentityRef: tc.wished}}
			got := NewFacts(&infrav1.Metal3Data{}, &clusterv1.Machine{}, machine, hardware.Host{})
			expect.Equal(t, tc.want, got.RemoteHost)
		})
	}
}
