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

package netdata

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Document is network_data.json as OpenStack defines it.
type Document struct {
	Links    []Link    `json:"links"`
	Networks []Network `json:"networks"`
	Services []Service `json:"services"`
}

// Link is a card, a bond of links, or a VLAN on a link.
type Link struct {
	ID      string   `json:"id"`
	Type    string   `json:"type"`
	MAC     string   `json:"ethernet_mac_address"`
	Bond    []string `json:"bond_links"`
	VLAN    string   `json:"vlan_link"`
	VLANID  int      `json:"vlan_id"`
	VLANMAC string   `json:"vlan_mac_address"`
}

// Network is an address on a link.
type Network struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Link    string  `json:"link"`
	Address string  `json:"ip_address"`
	Netmask string  `json:"netmask"`
	Routes  []Route `json:"routes"`
}

// Route leads to a network through a gateway.
type Route struct {
	Network string `json:"network"`
	Netmask string `json:"netmask"`
	Gateway string `json:"gateway"`
}

// Service is a name server.
type Service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// NIC is a network card that the machine really has.
type NIC struct {
	MAC string
	// IP is the address that DHCP gives this card, if any.
	IP string
}

// Parse reads a document in JSON or YAML. An empty one has no links: the
// machine then asks for addresses by DHCP on every card.
func Parse(raw []byte) (Document, error) {
	var doc Document
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return Document{}, fmt.Errorf("not network data in JSON or YAML: %w", err)
	}
	return doc, nil
}
