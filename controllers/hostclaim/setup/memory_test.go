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
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// inspectedHost is a host as baremetal-operator leaves it after inspection: about
// 8 KiB of JSON.
func inspectedHost() *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra", Name: "rack-07-server-23", UID: "0e0f7a4c-3f6e-4a52-9a61-5f7f0c2c7b11",
			ResourceVersion: "123456", Finalizers: []string{bmov1alpha1.BareMetalHostFinalizer},
			Labels:      map[string]string{"rack": "a07", "size": "large", "infrastructure.cluster.x-k8s.io/failure-domain": "a"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 700)},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "baremetal-operator", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:hardware":"` + strings.Repeat("x", 1500) + `"}}`)},
			}},
		},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BootMACAddress: "52:54:00:12:34:56", AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata, Architecture: "x86_64",
			BMC:             bmov1alpha1.BMCDetails{Address: "redfish-virtualmedia://192.0.2.17/redfish/v1/Systems/1", CredentialsName: "rack-07-server-23-bmc"},
			RootDeviceHints: &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/disk/by-path/pci-0000:65:00.0-nvme-1"},
		},
		Status: bmov1alpha1.BareMetalHostStatus{
			OperationalStatus: bmov1alpha1.OperationalStatusOK, HardwareProfile: "unknown",
			Provisioning: bmov1alpha1.ProvisionStatus{
				State: bmov1alpha1.StateAvailable, ID: "b7b9b3d6-3f2e-4d9c-8f5f-2f9f4c1d2e3f", BootMode: bmov1alpha1.UEFI,
				RootDeviceHints: &bmov1alpha1.RootDeviceHints{DeviceName: "/dev/disk/by-path/pci-0000:65:00.0-nvme-1"},
			},
			GoodCredentials:  bmov1alpha1.CredentialsStatus{Reference: &corev1.SecretReference{Namespace: "infra", Name: "rack-07-server-23-bmc"}, Version: "1"},
			TriedCredentials: bmov1alpha1.CredentialsStatus{Reference: &corev1.SecretReference{Namespace: "infra", Name: "rack-07-server-23-bmc"}, Version: "1"},
			HardwareDetails: &bmov1alpha1.HardwareDetails{
				Hostname: "rack-07-server-23", RAMMebibytes: 524288,
				SystemVendor: bmov1alpha1.HardwareSystemVendor{Manufacturer: "Example Systems", ProductName: "R760", SerialNumber: "CN1234567890"},
				CPU:          bmov1alpha1.CPU{Arch: "x86_64", Model: "Example CPU 6430", ClockMegahertz: 3400, Count: 128},
			},
		},
	}
	for i := range 130 {
		h.Status.HardwareDetails.CPU.Flags = append(h.Status.HardwareDetails.CPU.Flags, fmt.Sprintf("flag_%02x", i))
	}
	for i := range 6 {
		h.Status.HardwareDetails.NIC = append(h.Status.HardwareDetails.NIC, bmov1alpha1.NIC{
			Name: fmt.Sprintf("ens%df0np0", i), Model: "0x15b3 0x101d", MAC: fmt.Sprintf("52:54:00:12:34:%02x", i),
			IP: fmt.Sprintf("192.0.2.%d", i), SpeedGbps: 25, PXE: i == 0, PCIAddress: fmt.Sprintf("0000:%02x:00.0", i),
			LLDP: &bmov1alpha1.LLDP{SwitchID: "00:53:00:00:00:01", PortID: fmt.Sprintf("Ethernet1/%d", i), SwitchSystemName: "leaf-07a.example.com"},
		})
	}
	for i := range 10 {
		h.Status.HardwareDetails.Storage = append(h.Status.HardwareDetails.Storage, bmov1alpha1.Storage{
			Name: fmt.Sprintf("/dev/disk/by-path/pci-0000:%02x:00.0-nvme-1", i), Type: bmov1alpha1.NVME, SizeBytes: 3840755982336,
			AlternateNames: []string{fmt.Sprintf("/dev/nvme%dn1", i)}, Vendor: "Example", Model: "Example NVMe 3.84TB",
			SerialNumber: fmt.Sprintf("S4YPNE0N%06d", i), WWN: fmt.Sprintf("eui.36344830543%05d", i), HCTL: "0:0:0:0",
		})
	}
	for _, kind := range []string{"Ready", "Provisioned", "AvailableForProvisioning", "Manageable", "Progressing", "Healthy"} {
		h.Status.Conditions = append(h.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: "Available", Message: "The host is available", LastTransitionTime: metav1.Now(),
		})
	}
	return h
}

// BenchmarkCachedHost prints what 10,000 hosts take in the cache.
func BenchmarkCachedHost(b *testing.B) {
	text, err := json.Marshal(inspectedHost())
	expect.NoError(b, err)
	for name, transform := range map[string]func(any) (any, error){
		"whole":    func(object any) (any, error) { return object, nil },
		"stripped": strip,
	} {
		b.Run(name, func(b *testing.B) {
			var bytes uint64
			for b.Loop() {
				bytes = heldBytes(b, text, transform)
			}
			b.ReportMetric(float64(bytes), "B/host")
			b.ReportMetric(float64(len(text)), "B/json")
		})
	}
}

// heldBytes is what one of many decoded hosts keeps in memory.
func heldBytes(tb testing.TB, text []byte, transform func(any) (any, error)) uint64 {
	tb.Helper()
	const hosts = 2000
	held := make([]any, hosts)
	before := heap()
	for i := range held {
		host := &bmov1alpha1.BareMetalHost{}
		expect.NoError(tb, json.Unmarshal(text, host))
		var err error
		if held[i], err = transform(host); err != nil {
			tb.Fatal(err)
		}
	}
	after := heap()
	runtime.KeepAlive(held)
	return (after - before) / hosts
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// 10,000 hosts must leave most of the 250 MiB of the manager to the rest of it.
func TestCachedHostsStaySmall(t *testing.T) {
	text, err := json.Marshal(inspectedHost())
	expect.NoError(t, err)
	const enough = 5 * 1024
	bytes := heldBytes(t, text, strip)
	expect.That(t, bytes <= enough, "a cached host of %d bytes of JSON takes %d bytes, want at most %d", len(text), bytes, enough)
}

// What is missing in the cache, and the hash that stands for the hardware, must
// reach no host: a patch between a cached host and what is to become of it carries
// the change and nothing else.
func TestWhatTheCacheLacksReachesNoPatch(t *testing.T) {
	before := inspectedHost()
	if _, err := strip(before); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	after.Spec.Online = true
	metav1.SetMetaDataAnnotation(&after.ObjectMeta, "example.com/a", "b")
	patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	expect.NoError(t, err)
	const want = `{"metadata":{"annotations":{"example.com/a":"b"},"resourceVersion":"123456"},"spec":{"online":true}}`
	expect.That(t, string(patch) == want, "patch %s, want %s", patch, want)
}

// A release clears the cached host, and frees the live one once nothing is left on that to be cleared: it would
// wait for ever for what the cache lacks.
func TestReleaseClearsNothingThatTheCacheLacks(t *testing.T) {
	for name, release := range map[string]func(*bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost{
		"Cleared": binding.Cleared, "ClearedUnhealthy": binding.ClearedUnhealthy, "Freed": binding.Freed,
	} {
		t.Run(name, func(t *testing.T) {
			live := inspectedHost()
			live.Annotations[bmov1alpha1.HardwareDetailsAnnotation] = "{}"
			live.Spec.Description, live.Spec.RAID, live.Spec.Taints = "x", &bmov1alpha1.RAIDConfig{}, []corev1.Taint{{Key: "x"}}
			live.Spec.Image, live.Spec.ConsumerRef = &bmov1alpha1.Image{URL: "x"}, &corev1.ObjectReference{Name: "x"}
			cached := live.DeepCopy()
			if _, err := strip(cached); err != nil {
				t.Fatal(err)
			}
			want, err := client.MergeFrom(live).Data(release(live))
			expect.NoError(t, err)
			got, err := client.MergeFrom(cached).Data(release(cached))
			expect.NoError(t, err)
			expect.Equal(t, string(want), string(got))
		})
	}
}

// A patch that takes off the last annotation of ours must leave that of kubectl.
func TestLastAnnotationGoesWithoutThatOfKubectl(t *testing.T) {
	before := inspectedHost()
	before.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "example.com/a": "b"}
	if _, err := strip(before); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	delete(after.Annotations, "example.com/a")
	patch, err := client.MergeFrom(before).Data(after)
	expect.NoError(t, err)
	want := `{"metadata":{"annotations":{"example.com/a":null}}}`
	expect.That(t, string(patch) == want, "patch %s, want %s", patch, want)
}

func TestClaimsInTheCacheKeepTheNamesOfTheirManagers(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "other", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")},
		}},
	}}
	_, err := strip(claim)
	expect.Must(t, err == nil, "%v", err)
	got := claim.ManagedFields
	if len(got) != 1 || got[0].Manager != "other" || got[0].Subresource != "status" || got[0].FieldsV1 != nil || claim.Annotations[corev1.LastAppliedConfigAnnotation] != "" {
		t.Errorf("kept %+v, annotations %v", got, claim.Annotations)
	}
}

// What the cache drops decides nothing: a cached claim asks for the same as the live
// one, or no host would ever be written for it.
func TestClaimsInTheCacheAskForTheSame(t *testing.T) {
	live := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{
			UID:         "u",
			Labels:      map[string]string{infrav1.NodeReuseLabel: "workers"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", infrav1.RebuildAnnotation: "1"},
		},
		Spec: bmov1alpha1.HostClaimSpec{PoweredOn: true, Image: &bmov1alpha1.Image{URL: "https://images.example.com/os.raw"}},
	}
	cached := live.DeepCopy()
	_, err := strip(cached)
	expect.Must(t, err == nil, "%v", err)
	expect.That(t, binding.SameInputs(cached, live), "the cached claim asks for something else")
}
