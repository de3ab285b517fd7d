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

// Package hardware reads what is known of a server from the HardwareData that is published for its
// HostClaim. A machine, its templates and its Node know of the server nothing else.
package hardware

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// privatePrefix starts the keys that carry facts of their own on a published
// HardwareData. Templates see those facts as fields, not as keys.
const privatePrefix = "hostclaim.metal3.io/"

// Host is what is known of a bound server.
type Host struct {
	// Name and Namespace are those of the server's own object, which may live
	// in another namespace or in another cluster.
	Name      string
	Namespace string
	// UID is the UID of that object; Nodes carry it as the label metal3.io/uuid.
	UID string
	// BootMACAddress is the MAC address that the server boots from; empty when unknown.
	BootMACAddress string
	// FailureDomain is where the server stands; empty when nothing is published about it.
	FailureDomain string
	// Hostname is the name that the server had when it was inspected.
	Hostname string
	// Labels and Annotations are what the owner of the server lets out.
	Labels      map[string]string
	Annotations map[string]string
	// NICs are the network interfaces that the inspection found, in its order.
	// A dual-stack interface is there twice, once for each address.
	NICs []NIC
	// CPUs and MemoryMebibytes are how much the inspection found; 0 when unknown.
	CPUs            int
	MemoryMebibytes int
	// Architecture of the CPUs in the words of the inspection, such as x86_64.
	Architecture string
}

// NIC is one network interface with at most one address.
type NIC struct {
	Name string
	MAC  string
	IP   string
}

// FromHardwareData reads a published HardwareData. Nil, or one without hardware details, gives a
// Host without them.
func FromHardwareData(data *bmov1alpha1.HardwareData) Host {
	if data == nil {
		return Host{}
	}
	host := Host{
		Name:           data.Annotations[infrav1.HostNameAnnotation],
		Namespace:      data.Annotations[infrav1.HostNamespaceAnnotation],
		UID:            labelValue(data.Annotations[infrav1.HostUIDAnnotation]),
		BootMACAddress: data.Annotations[infrav1.BootMACAddressAnnotation],
		FailureDomain:  labelValue(data.Annotations[infrav1.HostFailureDomainAnnotation]),
		Labels:         published(data.Labels),
		Annotations:    published(data.Annotations),
	}
	details := data.Spec.HardwareDetails
	if details == nil {
		return host
	}
	host.Hostname = details.Hostname
	host.CPUs, host.Architecture = details.CPU.Count, details.CPU.Arch
	host.MemoryMebibytes = details.RAMMebibytes
	for _, nic := range details.NIC {
		host.NICs = append(host.NICs, NIC{Name: nic.Name, MAC: nic.MAC, IP: nic.IP})
	}
	return host
}

// Strip drops from a HardwareData the hardware that FromHardwareData does not read, such as disks
// and the flags of CPUs: most of an object of which a cache holds one for each machine.
func Strip(data *bmov1alpha1.HardwareData) {
	details := data.Spec.HardwareDetails
	if details == nil {
		return
	}
	kept := &bmov1alpha1.HardwareDetails{
		Hostname: details.Hostname, RAMMebibytes: details.RAMMebibytes,
		CPU: bmov1alpha1.CPU{Count: details.CPU.Count, Arch: details.CPU.Arch},
	}
	for _, nic := range details.NIC {
		kept.NIC = append(kept.NIC, bmov1alpha1.NIC{Name: nic.Name, MAC: nic.MAC, IP: nic.IP})
	}
	data.Spec.HardwareDetails = kept
}

// labelValue is the value, or empty if no label can have it. The publisher may
// run another cluster, and a Node or a Metal3Machine would be refused with it.
func labelValue(value string) string {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return ""
	}
	return value
}

// MAC returns the MAC address of the interface of that name, and whether there
// is such an interface with a MAC address.
func (h Host) MAC(name string) (string, bool) {
	for _, nic := range h.NICs {
		if nic.Name == name && nic.MAC != "" {
			return nic.MAC, true
		}
	}
	return "", false
}

// Interfaces returns the names of the interfaces, sorted and without repeats,
// for messages that list the valid names.
func (h Host) Interfaces() []string {
	var names []string
	for _, nic := range h.NICs {
		if nic.Name != "" {
			names = append(names, nic.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// published leaves out the keys of the HostClaim boundary.
func published(keys map[string]string) map[string]string {
	shown := maps.Clone(keys)
	maps.DeleteFunc(shown, func(key, _ string) bool { return strings.HasPrefix(key, privatePrefix) })
	if len(shown) == 0 {
		return nil
	}
	return shown
}

// What status.addresses of a Metal3Machine can hold.
const (
	maxAddresses     = 32
	maxAddressLength = 256
)

// Addresses lists under which addresses the server is known: one InternalIP
// for each address of its interfaces, then its name as Hostname and
// InternalDNS. The Hostname is the name of the machine's Node, once that is known
// and not empty: the two differ where a machine does not keep the name of its host.
// The order is that of the inspection, repeats are dropped, and when there are too
// many, names are kept and surplus interfaces left out. One that is too long is none.
func Addresses(host Host, node string) []clusterv1.MachineAddress {
	var names []clusterv1.MachineAddress
	if hostname := cmp.Or(node, host.Hostname); hostname != "" && len(hostname) <= maxAddressLength {
		names = append(names, clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: hostname})
	}
	if host.Hostname != "" && len(host.Hostname) <= maxAddressLength {
		names = append(names, clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: host.Hostname})
	}
	var addresses []clusterv1.MachineAddress
	for _, nic := range host.NICs {
		address := clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: nic.IP}
		if nic.IP == "" || len(nic.IP) > maxAddressLength || slices.Contains(addresses, address) {
			continue
		}
		if len(addresses)+len(names) == maxAddresses {
			break
		}
		addresses = append(addresses, address)
	}
	return append(addresses, names...)
}
