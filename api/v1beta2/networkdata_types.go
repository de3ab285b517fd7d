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

package v1beta2

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// IPv4Address is an IPv4 address in dotted notation.
// +kubebuilder:validation:Format=ipv4
// +kubebuilder:validation:MinLength=7
// +kubebuilder:validation:MaxLength=15
type IPv4Address string

// IPv6Address is an IPv6 address.
// +kubebuilder:validation:Format=ipv6
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=45
type IPv6Address string

// IPAddress is an IPv4 or IPv6 address.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=45
// +kubebuilder:validation:XValidation:rule="isIP(self)",message="not an IP address: write an IPv4 address such as 192.0.2.1 or an IPv6 address such as 2001:db8::1"
type IPAddress string

// NetworkData describes the network configuration of a machine, to be rendered in the format of OpenStack's
// network_data.json.
type NetworkData struct {
	// links are the network interfaces.
	// +optional
	Links *NetworkDataLink `json:"links,omitempty"`

	// networks are the networks on those interfaces.
	// +optional
	Networks *NetworkDataNetwork `json:"networks,omitempty"`

	// services are services that hold for all networks.
	// +optional
	Services *NetworkDataService `json:"services,omitempty"`
}

// NetworkDataLink lists network interfaces by type. No two may share an id.
type NetworkDataLink struct {
	// ethernets are physical interfaces.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Ethernets []NetworkDataLinkEthernet `json:"ethernets,omitempty"`

	// bonds are bonds of other links.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Bonds []NetworkDataLinkBond `json:"bonds,omitempty"`

	// vlans are VLANs on other links.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Vlans []NetworkDataLinkVlan `json:"vlans,omitempty"`
}

// EthernetType is the type of a physical interface in the sense of OpenStack's network data.
// +kubebuilder:validation:Enum=bridge;dvs;hw_veb;hyperv;ovs;tap;vhostuser;vif;phy
type EthernetType string

const (
	// EthernetTypeBridge is a port of a bridge.
	EthernetTypeBridge EthernetType = "bridge"
	// EthernetTypeDVS is a port of a distributed virtual switch.
	EthernetTypeDVS EthernetType = "dvs"
	// EthernetTypeHWVEB is a port of a virtual Ethernet bridge in hardware.
	EthernetTypeHWVEB EthernetType = "hw_veb"
	// EthernetTypeHyperV is a port of Hyper-V.
	EthernetTypeHyperV EthernetType = "hyperv"
	// EthernetTypeOVS is a port of Open vSwitch.
	EthernetTypeOVS EthernetType = "ovs"
	// EthernetTypeTap is a TAP device.
	EthernetTypeTap EthernetType = "tap"
	// EthernetTypeVHostUser is a vhost-user port.
	EthernetTypeVHostUser EthernetType = "vhostuser"
	// EthernetTypeVIF is a virtual interface.
	EthernetTypeVIF EthernetType = "vif"
	// EthernetTypePhy is a physical network card.
	EthernetTypePhy EthernetType = "phy"
)

// BondMode is how a bond uses its links.
// +kubebuilder:validation:Enum="balance-rr";"active-backup";"balance-xor";"broadcast";"balance-tlb";"balance-alb";"802.3ad"
type BondMode string

const (
	// BondModeBalanceRR sends packets over the links in turn.
	BondModeBalanceRR BondMode = "balance-rr"
	// BondModeActiveBackup uses one link and keeps the others for its failure.
	BondModeActiveBackup BondMode = "active-backup"
	// BondModeBalanceXOR chooses the link by a hash of the addresses.
	BondModeBalanceXOR BondMode = "balance-xor"
	// BondModeBroadcast sends everything over all links.
	BondModeBroadcast BondMode = "broadcast"
	// BondModeBalanceTLB balances what is sent by the load of the links.
	BondModeBalanceTLB BondMode = "balance-tlb"
	// BondModeBalanceALB balances what is sent and what is received.
	BondModeBalanceALB BondMode = "balance-alb"
	// BondMode8023AD negotiates with the switch by LACP.
	BondMode8023AD BondMode = "802.3ad"
)

// BondXmitHashPolicy is what a bond hashes to choose the link for a packet.
// +kubebuilder:validation:Enum="layer2";"layer3+4";"layer2+3"
type BondXmitHashPolicy string

const (
	// BondXmitHashPolicyLayer2 hashes MAC addresses.
	BondXmitHashPolicyLayer2 BondXmitHashPolicy = "layer2"
	// BondXmitHashPolicyLayer34 hashes IP addresses and ports.
	BondXmitHashPolicyLayer34 BondXmitHashPolicy = "layer3+4"
	// BondXmitHashPolicyLayer23 hashes MAC and IP addresses.
	BondXmitHashPolicyLayer23 BondXmitHashPolicy = "layer2+3"
)

// NetworkDataLinkEthernet is a physical interface.
type NetworkDataLinkEthernet struct {
	// type is the type of the interface.
	// +required
	Type EthernetType `json:"type,omitempty"`

	// id is how networks and other links refer to this link.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// name is the name that the interface gets in the operating system.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*$`
	Name string `json:"name,omitempty"`

	// mtu is the maximum transmission unit.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`

	// macAddress is the MAC address that the interface is recognized by.
	// +required
	MACAddress *NetworkLinkMAC `json:"macAddress,omitempty"`
}

// NetworkDataLinkBond is a bond of other links.
type NetworkDataLinkBond struct {
	// bondMode is how the bond uses its links.
	// +required
	BondMode BondMode `json:"bondMode,omitempty"`

	// bondXmitHashPolicy is what is hashed to choose the link for a packet.
	// +optional
	BondXmitHashPolicy BondXmitHashPolicy `json:"bondXmitHashPolicy,omitempty"`

	// id is how networks and other links refer to this link.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// name is the name that the interface gets in the operating system.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*$`
	Name string `json:"name,omitempty"`

	// mtu is the maximum transmission unit.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`

	// macAddress is the MAC address of the link; without it, the operating system chooses.
	// +optional
	MACAddress *NetworkLinkMAC `json:"macAddress,omitempty"`

	// parameters are further options of the bond.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Parameters []BondParameter `json:"parameters,omitempty"`

	// bondLinks are the ids of the bonded links.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	BondLinks []string `json:"bondLinks,omitempty"`
}

// BondParameter is an option of a bond, such as miimon.
type BondParameter struct {
	// name is the name of the option; it is rendered as bond_<name>.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name,omitempty"`

	// value is the value of the option: a number, a string or a boolean.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
}

// NetworkDataLinkVlan is a VLAN on another link.
type NetworkDataLinkVlan struct {
	// vlanID is the tag of the VLAN.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4096
	VlanID *int32 `json:"vlanID,omitempty"`

	// vlanLink is the id of the link that carries the VLAN.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	VlanLink string `json:"vlanLink,omitempty"`

	// id is how networks and other links refer to this link.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// name is the name that the interface gets in the operating system.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*$`
	Name string `json:"name,omitempty"`

	// mtu is the maximum transmission unit.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`

	// macAddress is the MAC address of the link; without it, the operating system chooses.
	// +optional
	MACAddress *NetworkLinkMAC `json:"macAddress,omitempty"`
}

// NetworkLinkMAC tells where a MAC address comes from. The first one set counts: string, fromHostInterface,
// fromAnnotation.
// +kubebuilder:validation:XValidation:rule="has(self.string) || has(self.fromHostInterface) || has(self.fromAnnotation)",message="no MAC address is named: set string, fromHostInterface or fromAnnotation"
type NetworkLinkMAC struct {
	// string is the MAC address itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$')",message="not a MAC address: write six pairs of hex digits, such as 52:54:00:12:34:56"
	String string `json:"string,omitempty"`

	// fromHostInterface is the name of a network interface of the host, as its inspection found it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FromHostInterface string `json:"fromHostInterface,omitempty"`

	// fromAnnotation takes the MAC address from an annotation.
	// +optional
	FromAnnotation *NetworkLinkMACFromAnnotation `json:"fromAnnotation,omitempty"`
}

// NetworkLinkMACFromAnnotation takes a MAC address from an annotation.
type NetworkLinkMACFromAnnotation struct {
	// object is the object that carries the annotation.
	// +required
	Object DataObject `json:"object,omitempty"`

	// annotation is the key of the annotation whose value is the MAC address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Annotation string `json:"annotation,omitempty"`
}

// NetworkDataNetwork lists networks by how machines get their addresses. No two may share an id.
type NetworkDataNetwork struct {
	// ipv4 are IPv4 networks with an address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPv4 []NetworkDataIPv4 `json:"ipv4,omitempty"`

	// ipv6 are IPv6 networks with an address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPv6 []NetworkDataIPv6 `json:"ipv6,omitempty"`

	// ipv4DHCP are IPv4 networks with an address from DHCP.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPv4DHCP []NetworkDataIPv4DHCP `json:"ipv4DHCP,omitempty"`

	// ipv6DHCP are IPv6 networks with an address from DHCP.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPv6DHCP []NetworkDataIPv6DHCP `json:"ipv6DHCP,omitempty"`

	// ipv6SLAAC are IPv6 networks with an address from router advertisements.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	IPv6SLAAC []NetworkDataIPv6DHCP `json:"ipv6SLAAC,omitempty"`
}

// NetworkDataIPv4 is an IPv4 network with an address from a pool. The first source set counts:
// fromPoolAnnotation, fromPoolRef, ipAddressFromIPPool.
// +kubebuilder:validation:XValidation:rule="has(self.fromPoolAnnotation) || has(self.fromPoolRef) || has(self.ipAddressFromIPPool)",message="no address pool is named: set fromPoolRef, ipAddressFromIPPool or fromPoolAnnotation"
type NetworkDataIPv4 struct {
	// id identifies the network within the network data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// link is the id of the link that the network is on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Link string `json:"link,omitempty"`

	// ipAddressFromIPPool is the name of an IPPool of group ipam.metal3.io.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	IPAddressFromIPPool string `json:"ipAddressFromIPPool,omitempty"`

	// fromPoolRef names the pool with its kind and group.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation takes the name of the pool from an annotation.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`

	// routes are the routes of the network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// NetworkDataIPv4DHCP is an IPv4 network whose addresses this provider does not choose.
type NetworkDataIPv4DHCP struct {
	// id identifies the network within the network data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// link is the id of the link that the network is on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Link string `json:"link,omitempty"`

	// routes are the routes of the network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// NetworkDataIPv6 is an IPv6 network with an address from a pool. The first source set counts:
// fromPoolAnnotation, fromPoolRef, ipAddressFromIPPool.
// +kubebuilder:validation:XValidation:rule="has(self.fromPoolAnnotation) || has(self.fromPoolRef) || has(self.ipAddressFromIPPool)",message="no address pool is named: set fromPoolRef, ipAddressFromIPPool or fromPoolAnnotation"
type NetworkDataIPv6 struct {
	// id identifies the network within the network data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// link is the id of the link that the network is on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Link string `json:"link,omitempty"`

	// ipAddressFromIPPool is the name of an IPPool of group ipam.metal3.io.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	IPAddressFromIPPool string `json:"ipAddressFromIPPool,omitempty"`

	// fromPoolRef names the pool with its kind and group.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation takes the name of the pool from an annotation.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`

	// routes are the routes of the network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkDataRoutev6 `json:"routes,omitempty"`
}

// NetworkDataIPv6DHCP is an IPv6 network whose addresses this provider does not choose.
type NetworkDataIPv6DHCP struct {
	// id identifies the network within the network data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// link is the id of the link that the network is on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Link string `json:"link,omitempty"`

	// routes are the routes of the network.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkDataRoutev6 `json:"routes,omitempty"`
}

// NetworkDataRoutev4 is an IPv4 route.
type NetworkDataRoutev4 struct {
	// network is the address of the destination network.
	// +required
	Network IPv4Address `json:"network,omitempty"`

	// prefix is the prefix length of the destination network; 0 if left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=32
	Prefix *int32 `json:"prefix,omitempty"`

	// gateway is the router to send the packets to.
	// +required
	Gateway NetworkGatewayv4 `json:"gateway,omitzero"`

	// services are services that are reached by the route.
	// +optional
	Services *NetworkDataServicev4 `json:"services,omitempty"`
}

// NetworkGatewayv4 tells where the address of a router comes from. The first one set counts: string,
// fromPoolAnnotation, fromPoolRef, fromIPPool.
// +kubebuilder:validation:XValidation:rule="has(self.string) || has(self.fromPoolAnnotation) || has(self.fromPoolRef) || has(self.fromIPPool)",message="no gateway is named: set string, fromPoolRef, fromIPPool or fromPoolAnnotation"
type NetworkGatewayv4 struct {
	// string is the address itself.
	// +optional
	String IPv4Address `json:"string,omitempty"`

	// fromIPPool is the name of an IPPool of group ipam.metal3.io whose gateway is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	FromIPPool string `json:"fromIPPool,omitempty"`

	// fromPoolRef names the pool whose gateway is used, with its kind and group.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation takes the name of the pool whose gateway is used from an annotation.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkDataServicev4 lists services by their IPv4 addresses.
type NetworkDataServicev4 struct {
	// dns are the addresses of DNS servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	DNS []IPv4Address `json:"dns,omitempty"`

	// dnsFromIPPool is the name of an IPPool of group ipam.metal3.io whose DNS servers are added.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DNSFromIPPool string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataRoutev6 is an IPv6 route.
type NetworkDataRoutev6 struct {
	// network is the address of the destination network.
	// +required
	Network IPv6Address `json:"network,omitempty"`

	// prefix is the prefix length of the destination network; 0 if left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	Prefix *int32 `json:"prefix,omitempty"`

	// gateway is the router to send the packets to.
	// +required
	Gateway NetworkGatewayv6 `json:"gateway,omitzero"`

	// services are services that are reached by the route.
	// +optional
	Services *NetworkDataServicev6 `json:"services,omitempty"`
}

// NetworkGatewayv6 tells where the address of a router comes from. The first one set counts: string,
// fromPoolAnnotation, fromPoolRef, fromIPPool.
// +kubebuilder:validation:XValidation:rule="has(self.string) || has(self.fromPoolAnnotation) || has(self.fromPoolRef) || has(self.fromIPPool)",message="no gateway is named: set string, fromPoolRef, fromIPPool or fromPoolAnnotation"
type NetworkGatewayv6 struct {
	// string is the address itself.
	// +optional
	String IPv6Address `json:"string,omitempty"`

	// fromIPPool is the name of an IPPool of group ipam.metal3.io whose gateway is used.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	FromIPPool string `json:"fromIPPool,omitempty"`

	// fromPoolRef names the pool whose gateway is used, with its kind and group.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation takes the name of the pool whose gateway is used from an annotation.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkDataServicev6 lists services by their IPv6 addresses.
type NetworkDataServicev6 struct {
	// dns are the addresses of DNS servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	DNS []IPv6Address `json:"dns,omitempty"`

	// dnsFromIPPool is the name of an IPPool of group ipam.metal3.io whose DNS servers are added.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DNSFromIPPool string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataService lists services by their addresses.
type NetworkDataService struct {
	// dns are the addresses of DNS servers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	DNS []IPAddress `json:"dns,omitempty"`

	// dnsFromIPPool is the name of an IPPool of group ipam.metal3.io whose DNS servers are added.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DNSFromIPPool string `json:"dnsFromIPPool,omitempty"`
}
