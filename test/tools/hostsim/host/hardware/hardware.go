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

package hardware

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// What a server is made of.
const (
	cards = 8
	disks = 8
	cores = 64
)

// Of lists the hardware of the server behind a host.
func Of(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	sum := sha256.Sum256([]byte(host.Namespace + "/" + host.Name))
	id := serial(hex.EncodeToString(sum[:]))
	return &bmov1alpha1.HardwareDetails{
		SystemVendor: bmov1alpha1.HardwareSystemVendor{
			Manufacturer: "Hostsim", ProductName: "Rack Server 64 (SKU=HS64;ModelName=Rack Server 64)", SerialNumber: id.part(8),
		},
		Firmware: bmov1alpha1.Firmware{BIOS: bmov1alpha1.BIOS{
			Date: "03/14/2026", Vendor: "Hostsim", Version: "2.19.1",
		}},
		RAMMebibytes: 512 * 1024,
		NIC:          nics(host, id),
		Storage:      storage(id),
		CPU: bmov1alpha1.CPU{
			Arch: "x86_64", Model: "Hostsim(R) 6430 CPU @ 2.10GHz", ClockMegahertz: 3400, Count: cores,
			Flags: strings.Fields(flags),
		},
		Hostname: host.Name,
	}
}

// serial identifies a server.
type serial string

// part is a serial number of n characters.
func (s serial) part(n int) string {
	return strings.ToUpper(string(s[:n]))
}

// mac is the address of a card. Its first byte marks it as locally administered.
func (s serial) mac(card int) string {
	return fmt.Sprintf("02:%s:%s:%s:%s:%02x", s[0:2], s[2:4], s[4:6], s[6:8], card)
}

func nics(host *bmov1alpha1.BareMetalHost, id serial) []bmov1alpha1.NIC {
	out := make([]bmov1alpha1.NIC, cards)
	for i := range out {
		out[i] = bmov1alpha1.NIC{
			Name:       fmt.Sprintf("ens%df%dnp%d", 1+i/2, i%2, i%2),
			Model:      "0x15b3 0x1017",
			MAC:        id.mac(i),
			SpeedGbps:  25,
			VLANID:     bmov1alpha1.VLANID(100 + i/2),
			VLANs:      []bmov1alpha1.VLAN{{ID: bmov1alpha1.VLANID(100 + i/2), Name: "provisioning"}, {ID: 200, Name: "storage"}},
			PCIAddress: fmt.Sprintf("0000:%02x:00.%d", 0x17+i/2, i%2),
			LLDP: &bmov1alpha1.LLDP{
				SwitchID: fmt.Sprintf("02:ff:%s:%s:00:%02x", id[8:10], id[10:12], i%2), PortID: fmt.Sprintf("Ethernet1/%d", 1+i),
				SwitchSystemName: fmt.Sprintf("leaf-%s-%d.fabric.example.com", id[8:10], i%2),
			},
		}
	}
	out[0].MAC = cmp.Or(strings.ToLower(host.Spec.BootMACAddress), out[0].MAC)
	out[0].PXE = true
	out[0].IP = fmt.Sprintf("172.22.%d.%d", id[0]%200, id[1]%200)
	return out
}

func storage(id serial) []bmov1alpha1.Storage {
	out := make([]bmov1alpha1.Storage, disks)
	for i := range out {
		wwn := fmt.Sprintf("0x5000c500%s%02x", id[12:18], i)
		name := fmt.Sprintf("/dev/disk/by-path/pci-0000:4b:00.0-scsi-0:0:%d:0", i)
		out[i] = bmov1alpha1.Storage{
			Name:           name,
			AlternateNames: []string{fmt.Sprintf("/dev/sd%c", 'a'+i), name, "/dev/disk/by-id/wwn-" + wwn},
			Rotational:     i > 1, Type: bmov1alpha1.HDD,
			SizeBytes: 8 * bmov1alpha1.TeraByte, Vendor: "HOSTSIM", Model: "HS8000NM000A",
			SerialNumber: fmt.Sprintf("%s%02d", id.part(12), i), WWN: wwn, WWNWithExtension: wwn, HCTL: fmt.Sprintf("0:0:%d:0", i),
		}
		if i <= 1 {
			out[i].Type, out[i].SizeBytes, out[i].Model = bmov1alpha1.SSD, 480*bmov1alpha1.GigaByte, "HS480SSD1"
		}
	}
	return out
}

// flags are those of a processor of 2023.
const flags = `acpi adx aes amx_bf16 amx_int8 amx_tile aperfmperf apic arat arch_capabilities arch_lbr arch_perfmon
art avx avx2 avx512_bf16 avx512_bitalg avx512_fp16 avx512_vbmi2 avx512_vnni avx512_vpopcntdq avx512bw avx512cd
avx512dq avx512f avx512ifma avx512vbmi avx512vl bmi1 bmi2 bts bus_lock_detect cat_l2 cat_l3 cdp_l2 cdp_l3
cldemote clflush clflushopt clwb cmov constant_tsc cpuid cpuid_fault cqm cqm_llc cqm_mbm_local cqm_mbm_total
cqm_occup_llc cx16 cx8 dca de ds_cpl dtes64 dtherm dts enqcmd epb ept ept_ad erms est f16c flexpriority
flush_l1d fma fpu fsgsbase fsrm fxsr gfni hle ht ibpb ibrs ibrs_enhanced ibt ida intel_ppin intel_pt invpcid
la57 lahf_lm lm mba mca mce md_clear mmx monitor movbe movdir64b movdiri msr mtrr nonstop_tsc nopl nx ospke
pae pat pbe pcid pclmulqdq pconfig pdcm pdpe1gb pebs pge pku pln pni popcnt pse pse36 pts rdpid rdrand rdseed
rdt_a rdtscp rep_good rtm sdbg sep serialize sha_ni smap smep smx split_lock_detect ss ssbd sse sse2 sse4_1
sse4_2 ssse3 stibp syscall tm tm2 tme tpr_shadow tsc tsc_adjust tsc_deadline_timer tsc_known_freq tsxldtrk
umip user_shstk vaes vme vmx vnmi vpclmulqdq vpid waitpkg wbnoinvd x2apic xgetbv1 xsave xsavec xsaveopt xsaves
xtopology xtpr`
