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
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

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

// devices finds links that would be one device, or that are put together so that
// there is no first one to start with, and addresses that are there twice. It
// leaves to others what is not of the right shape.
func devices(root object) error {
	var defects []error
	links := root.objects("links")
	below, bonded := map[string][]string{}, map[string]string{}
	seen := map[string]string{}
	own := func(kind, value, id string) {
		if other, taken := seen[kind+" "+value]; taken && value != "" {
			defects = append(defects, fmt.Errorf("links %q and %q have the same %s %s", other, id, kind, value))
		}
		seen[kind+" "+value] = id
	}
	for _, link := range links {
		id := link.text("id")
		own("name", link.text("name"), id)
		switch link.text("type") {
		case "bond":
			for _, member := range link.texts("bond_links") {
				if other, taken := bonded[member]; taken {
					defects = append(defects, fmt.Errorf("link %q is in bonds %q and %q", member, other, id))
				}
				bonded[member] = id
			}
			below[id] = append(below[id], link.texts("bond_links")...)
		case "vlan":
			// cloud-init names the device <device below>.<tag>.
			own("device", fmt.Sprintf("%s.%v", link.text("vlan_link"), link["vlan_id"]), id)
			below[id] = append(below[id], link.text("vlan_link"))
		default:
			own("MAC address", strings.ToLower(link.text("ethernet_mac_address")), id)
		}
	}
	for _, link := range links {
		if !grounded(below, link.text("id"), len(links)) {
			defects = append(defects, fmt.Errorf("link %q rests on itself", link.text("id")))
		}
	}
	for _, network := range root.objects("networks") {
		own("address", network.text("ip_address"), network.text("link"))
	}
	return errors.Join(defects...)
}

// grounded reports whether every way down from a link ends.
func grounded(below map[string][]string, id string, depth int) bool {
	return depth >= 0 && !slices.ContainsFunc(below[id], func(lower string) bool { return !grounded(below, lower, depth-1) })
}

// objects are the objects in a list.
func (o object) objects(key string) []object {
	list, _ := o[key].([]any)
	var found []object
	for _, item := range list {
		if one, ok := item.(map[string]any); ok {
			found = append(found, one)
		}
	}
	return found
}

// texts are the texts in a list.
func (o object) texts(key string) []string {
	list, _ := o[key].([]any)
	var found []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			found = append(found, s)
		}
	}
	return found
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// Addresses lists what the machine is reachable by, in the order of its
// networks: the static addresses, and for networks by DHCP what the card of the
// link gets. Without any network every card that has an address counts.
func Addresses(doc Document, nics []NIC) []string {
	var found []string
	if len(doc.Networks) == 0 {
		for _, nic := range nics {
			found = append(found, nic.IP)
		}
	}
	for _, network := range doc.Networks {
		if static(network) {
			address, _, _ := strings.Cut(network.Address, "/")
			found = append(found, address)
			continue
		}
		found = append(found, leased(doc, network.Link, nics))
	}
	return slices.DeleteFunc(found, func(address string) bool {
		_, err := netip.ParseAddr(address)
		return err != nil
	})
}

// leased is the address that the card with the MAC of a link gets by DHCP.
func leased(doc Document, link string, nics []NIC) string {
	at := slices.IndexFunc(doc.Links, func(l Link) bool { return l.ID == link })
	if at < 0 {
		return ""
	}
	for _, nic := range nics {
		if strings.EqualFold(nic.MAC, doc.Links[at].MAC) {
			return nic.IP
		}
	}
	return ""
}
