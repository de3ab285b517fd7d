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

// Package networkconfig translates network data of OpenStack, as data templates render it, to the network configuration
// of cloud-init's data source NoCloud.
package networkconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// What can be wrong with network data.
var (
	errFormat  = errors.New("it is no object in YAML or JSON")
	errType    = errors.New("type is none of ipv4, ipv6, ipv4_dhcp, ipv6_dhcp and ipv6_slaac")
	errAddress = errors.New("ip_address and netmask are no address")
	errRoute   = errors.New("network and netmask are no network")
)

// document is network_data.json as OpenStack defines it.
type document struct {
	Links    []link    `json:"links"`
	Networks []network `json:"networks"`
	Services []service `json:"services"`
}

type link struct {
	ID        string   `json:"id"`
	Type      string   `json:"type"`
	MTU       int      `json:"mtu"`
	MAC       string   `json:"ethernet_mac_address"`
	BondLinks []string `json:"bond_links"`
	VLANLink  string   `json:"vlan_link"`
	VLANID    int      `json:"vlan_id"`
	VLANMAC   string   `json:"vlan_mac_address"`

	bond map[string]string // the parameters of a bond, as cloud-init has them
}

type network struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	Link     string    `json:"link"`
	Address  string    `json:"ip_address"`
	Netmask  string    `json:"netmask"`
	Routes   []route   `json:"routes"`
	Services []service `json:"services"`
}

type route struct {
	Network  string    `json:"network"`
	Netmask  string    `json:"netmask"`
	Gateway  string    `json:"gateway"`
	Services []service `json:"services"`
}

type service struct {
	Type    string `json:"type"`
	Address string `json:"address"`
}

// Config is a network configuration of version 1, see
// https://docs.cloud-init.io/en/latest/reference/network-config-format-v1.html.
type Config struct {
	Version int      `json:"version"`
	Config  []Device `json:"config"`
}

// Device is a card, a bond, a VLAN, or a list of name servers.
type Device struct {
	Type       string            `json:"type"`
	Name       string            `json:"name,omitempty"`
	MAC        string            `json:"mac_address,omitempty"`
	MTU        int               `json:"mtu,omitempty"`
	Members    []string          `json:"bond_interfaces,omitempty"`
	Parameters map[string]string `json:"params,omitempty"`
	VLANLink   string            `json:"vlan_link,omitempty"`
	VLANID     *int              `json:"vlan_id,omitempty"`
	Subnets    []Subnet          `json:"subnets,omitempty"`
	Address    []string          `json:"address,omitempty"`
}

// Subnet is how a device gets an address.
type Subnet struct {
	Type    string   `json:"type"`
	Address string   `json:"address,omitempty"`
	DNS     []string `json:"dns_nameservers,omitempty"`
	Routes  []Route  `json:"routes,omitempty"`
}

// Route leads to a network, in CIDR notation, through a gateway.
type Route struct {
	Destination string `json:"destination"`
	Gateway     string `json:"gateway"`
}

// FromNetworkData translates network data in JSON or YAML. Empty data gives nothing: cloud-init then asks for an address
// by DHCP. An error names the field, and shows nothing of the data.
func FromNetworkData(raw []byte) ([]byte, error) {
	doc := document{}
	if yaml.Unmarshal(raw, &doc) != nil { // whose error shows what it has read
		return nil, errFormat
	}
	if len(doc.Links) == 0 {
		return nil, nil
	}
	config := Config{Version: 1}
	for _, l := range doc.Links {
		device, err := doc.device(l)
		if err != nil {
			return nil, err
		}
		config.Config = append(config.Config, device)
	}
	if servers := dns(doc.Services); len(servers) > 0 {
		config.Config = append(config.Config, Device{Type: "nameserver", Address: servers})
	}
	return yaml.Marshal(config)
}

func (d document) device(l link) (Device, error) {
	device := Device{Type: "physical", Name: d.name(l.ID), MAC: l.MAC, MTU: l.MTU}
	switch l.Type {
	case "bond":
		device.Type, device.Members, device.Parameters = "bond", l.BondLinks, l.bond
	case "vlan":
		device.Type, device.MAC = "vlan", l.VLANMAC
		device.VLANLink, device.VLANID = d.name(l.VLANLink), &l.VLANID
	}
	for i, n := range d.Networks {
		if n.Link != l.ID {
			continue
		}
		subnet, err := n.subnet()
		if err != nil {
			return Device{}, fmt.Errorf("networks[%d].%w", i, err)
		}
		device.Subnets = append(device.Subnets, subnet)
	}
	return device, nil
}

// name is what a link is called: a VLAN by the link below it and its tag, all others by their ID.
func (d document) name(id string) string {
	tags := ""
	for range d.Links {
		i := slices.IndexFunc(d.Links, func(l link) bool { return l.ID == id && l.Type == "vlan" })
		if i < 0 {
			break
		}
		id, tags = d.Links[i].VLANLink, fmt.Sprintf(".%d%s", d.Links[i].VLANID, tags)
	}
	return id + tags
}

// UnmarshalJSON also takes the parameters of a bond, whatever they are called.
func (l *link) UnmarshalJSON(raw []byte) error {
	type plain link
	if err := json.Unmarshal(raw, (*plain)(l)); err != nil {
		return err
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	l.bond = map[string]string{}
	for key, value := range all {
		if strings.HasPrefix(key, "bond_") && key != "bond_links" {
			l.bond[strings.ReplaceAll(key, "_", "-")] = fmt.Sprint(value)
		}
	}
	return nil
}

func (n network) subnet() (Subnet, error) {
	types := map[string]string{
		"ipv4": "static", "ipv6": "static6", "ipv4_dhcp": "dhcp4", "ipv6_dhcp": "dhcp6", "ipv6_slaac": "ipv6_slaac",
	}
	subnet := Subnet{Type: types[n.Type], DNS: dns(n.Services)}
	if subnet.Type == "" {
		return Subnet{}, errType
	}
	if n.Address != "" {
		prefix, ok := prefixOf(n.Address, n.Netmask)
		if !ok {
			return Subnet{}, errAddress
		}
		subnet.Address = prefix.String()
	}
	for i, r := range n.Routes {
		prefix, ok := prefixOf(r.Network, r.Netmask)
		if !ok {
			return Subnet{}, fmt.Errorf("routes[%d].%w", i, errRoute)
		}
		subnet.DNS = append(subnet.DNS, dns(r.Services)...)
		subnet.Routes = append(subnet.Routes, Route{Destination: prefix.String(), Gateway: r.Gateway})
	}
	return subnet, nil
}

// prefixOf puts an address and a mask together, if both are valid. The mask may be the length of a prefix.
func prefixOf(address, mask string) (prefix netip.Prefix, ok bool) {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}, false
	}
	ip := net.ParseIP(mask)
	if ip == nil {
		prefix, err := netip.ParsePrefix(address + "/" + mask)
		return prefix, err == nil
	}
	bytes := ip.To16()
	if at.Is4() {
		bytes = ip.To4()
	}
	ones, size := net.IPMask(bytes).Size() // 0 of a mask with holes
	return netip.PrefixFrom(at, ones), size > 0
}

func dns(services []service) (addresses []string) {
	for _, s := range services {
		if s.Type == "dns" && !slices.Contains(addresses, s.Address) {
			addresses = append(addresses, s.Address)
		}
	}
	return addresses
}
