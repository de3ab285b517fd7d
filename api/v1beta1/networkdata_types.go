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

package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// NetworkData describes the network configuration of a machine, to be rendered in the format of OpenStack's
// network_data.json.
type NetworkData struct {
	// links are the network interfaces.
	// +optional
	Links *NetworkDataLink `json:"links,omitempty"`

	// networks are the networks on those interfaces.
	// +optional
	Networks *infrav1.NetworkDataNetwork `json:"networks,omitempty"`

	// services are services that hold for all networks.
	// +optional
	Services *infrav1.NetworkDataService `json:"services,omitempty"`
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

// NetworkDataLinkEthernet is a physical interface.
type NetworkDataLinkEthernet struct {
	// type is the type of the interface.
	// +required
	Type infrav1.EthernetType `json:"type,omitempty"`

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
	BondMode infrav1.BondMode `json:"bondMode,omitempty"`

	// bondXmitHashPolicy is what is hashed to choose the link for a packet.
	// +optional
	BondXmitHashPolicy infrav1.BondXmitHashPolicy `json:"bondXmitHashPolicy,omitempty"`

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

	// parameters are further options of the bond, by name.
	// +optional
	// +kubebuilder:validation:MaxProperties=512
	Parameters map[string]apiextensionsv1.JSON `json:"parameters,omitempty"`

	// bondLinks are the ids of the bonded links.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	BondLinks []string `json:"bondLinks,omitempty"`
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
// +kubebuilder:validation:XValidation:rule="(has(self.string) && size(self.string) > 0) || (has(self.fromHostInterface) && size(self.fromHostInterface) > 0) || has(self.fromAnnotation)",message="no MAC address is named: set string, fromHostInterface or fromAnnotation"
type NetworkLinkMAC struct {
	// string is the MAC address itself.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2})?$')",message="not a MAC address: write six pairs of hex digits, such as 52:54:00:12:34:56"
	String string `json:"string,omitempty"`

	// fromHostInterface is the name of a network interface of the host, as its inspection found it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	FromHostInterface string `json:"fromHostInterface,omitempty"`

	// fromAnnotation takes the MAC address from an annotation.
	// +optional
	FromAnnotation *infrav1.NetworkLinkMACFromAnnotation `json:"fromAnnotation,omitempty"`
}
