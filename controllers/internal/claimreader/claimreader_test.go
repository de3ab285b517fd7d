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

package claimreader

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostview"
)

// reader reads the objects from a cache with our indexes.
func reader(t *testing.T, objects ...client.Object) Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{bmov1alpha1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return Reader{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&bmov1alpha1.HostClaim{}, ConsumerUIDIndex, indexConsumerUID).
		WithIndex(&bmov1alpha1.HardwareData{}, HostUIDIndex, indexHostUID).Build()}
}

var machine = &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: "m-1", UID: "uid-1"}}

// claim is a claim of the machine with the UID, bound to a host.
func claim(name string, consumer types.UID, change ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant-a", Name: name, UID: types.UID("claim-" + name)},
		Spec: bmov1alpha1.HostClaimSpec{ConsumerRef: &corev1.ObjectReference{
			Kind: "Metal3Machine", Namespace: "tenant-a", Name: "m-1", UID: consumer,
		}},
		Status: bmov1alpha1.HostClaimStatus{
			BareMetalHost: &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"},
			HardwareData:  &bmov1alpha1.ObjectReference{Namespace: "tenant-a", Name: name + "-hostclaim"},
			Conditions:    []metav1.Condition{{Type: "Associated", Status: "True"}},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// facts are those that the claim of that name owns.
func facts(name string, change ...func(*bmov1alpha1.HardwareData)) *bmov1alpha1.HardwareData {
	d := &bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant-a", Name: name + "-hostclaim",
		Annotations:     map[string]string{infrav1.HostNameAnnotation: "host-1", infrav1.HostUIDAnnotation: "host-uid"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "HostClaim", Name: name, UID: types.UID("claim-" + name)}},
	}}
	for _, f := range change {
		f(d)
	}
	return d
}

func TestClaimOf(t *testing.T) {
	moved := func(c *bmov1alpha1.HostClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Metal3Machine", Name: "m-1", UID: "uid-1", Controller: ptr.To(true)}}
	}
	aged := func(minutes int) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			c.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 2, 12, minutes, 0, 0, time.UTC))
		}
	}
	tests := map[string]struct {
		claims []client.Object
		want   string
		taken  bool
	}{
		"a machine may have none":                      {},
		"the consumer decides, not the name":           {claims: []client.Object{claim("x", "uid-1"), claim("m-1", "uid-2")}, want: "x", taken: true},
		"a namesake's claim is in the way":             {claims: []client.Object{claim("m-1", "uid-2")}, taken: true},
		"a claim that was moved with its machine":      {claims: []client.Object{claim("m-1", "before", moved)}, want: "m-1"},
		"the older of two claims stays the machine's":  {claims: []client.Object{claim("a", "uid-1", aged(2)), claim("b", "uid-1", aged(1))}, want: "b"},
		"the name decides between two of the same age": {claims: []client.Object{claim("b", "uid-1"), claim("a", "uid-1")}, want: "a"},
		"claims of other namespaces are not looked at": {claims: []client.Object{claim("m-1", "uid-1", func(c *bmov1alpha1.HostClaim) {
			c.Namespace = "tenant-b"
		})}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := reader(t, tc.claims...)
			got, found, err := r.ClaimOf(t.Context(), machine)
			if err != nil || found != (tc.want != "") || (found && got.Name != tc.want) {
				t.Errorf("found %v, %v, error %v, want %q", found, got, err, tc.want)
			}
			taken, err := r.NameTaken(t.Context(), machine)
			if err != nil || taken != tc.taken {
				t.Errorf("name taken: %v, error %v, want %v", taken, err, tc.taken)
			}
		})
	}
}

func TestHost(t *testing.T) {
	known := hostview.Host{Name: "host-1", UID: "host-uid"}
	tests := map[string]struct {
		objects []client.Object
		want    hostview.Host
	}{
		"nothing is known without a claim": {},
		"the facts are those that the claim points at": {
			objects: []client.Object{claim("m-1", "uid-1"), facts("m-1")}, want: known,
		},
		"nothing is known before they are published": {objects: []client.Object{claim("m-1", "uid-1")}},
		"nothing is known while no host is bound": {objects: []client.Object{facts("m-1"), claim("m-1", "uid-1",
			func(c *bmov1alpha1.HostClaim) { c.Status.Conditions = nil })}},
		"nothing is known while the claim points at nothing": {objects: []client.Object{facts("m-1"), claim("m-1", "uid-1",
			func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData = nil })}},
		"facts that somebody else has written are not believed": {objects: []client.Object{claim("m-1", "uid-1"), facts("m-1",
			func(d *bmov1alpha1.HardwareData) { d.OwnerReferences = nil })}},
		"facts of another namespace are not read": {objects: []client.Object{claim("m-1", "uid-1",
			func(c *bmov1alpha1.HostClaim) { c.Status.HardwareData.Namespace = "infra" }), facts("m-1",
			func(d *bmov1alpha1.HardwareData) { d.Namespace = "infra" })}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, found, err := reader(t, tc.objects...).Host(t.Context(), machine)
			if err != nil || found != (tc.want.Name != "") {
				t.Errorf("found %v, error %v", found, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("host (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIndexes(t *testing.T) {
	if got := indexHostUID(facts("m-1")); len(got) != 1 || got[0] != "host-uid" {
		t.Errorf("host index is %v", got)
	}
	if got := indexHostUID(&bmov1alpha1.HardwareData{}); got != nil {
		t.Errorf("host index of foreign facts is %v", got)
	}
	if got := indexConsumerUID(&bmov1alpha1.HostClaim{}); got != nil {
		t.Errorf("consumer index of a claim without consumer is %v", got)
	}
}
