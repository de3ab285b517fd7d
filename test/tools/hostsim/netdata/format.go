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
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is a part of a document, field by field.
type object map[string]any

// fields are what an object may hold: each field with the check of its value.
// Those whose name starts with ! must be there.
type fields map[string]func(any) error

// Accept returns an error if cloud-init would not do with a document what its author means:
// all that Check finds, and every departure from the format, which cloud-init would ignore
// silently or fail on.
func Accept(raw []byte, nics []NIC) error {
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return fmt.Errorf("not network data in JSON or YAML: %w", err)
	}
	var root object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a tag that is no whole number must not pass for one
	if err := decoder.Decode(&root); err != nil {
		return fmt.Errorf("not an object: %w", err)
	}
	defects := root.check(fields{"links": each(link), "networks": each(network), "services": each(service)})
	doc, err := Parse(raw)
	if err == nil {
		err = Check(doc, nics)
	}
	return errors.Join(defects, devices(root), err)
}

// check compares an object with what it may hold.
func (o object) check(allowed fields) error {
	var defects []error
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		name, required := strings.CutPrefix(key, "!")
		value, found := o[name]
		switch {
		case !found && required:
			defects = append(defects, fmt.Errorf("%s is missing", name))
		case found:
			if err := allowed[key](value); err != nil {
				defects = append(defects, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if allowed[key] == nil && allowed["!"+key] == nil {
			defects = append(defects, fmt.Errorf("%s is no field of the format", key))
		}
	}
	return errors.Join(defects...)
}

// link checks a card, a bond or a VLAN.
func link(value any) error {
	o, err := asObject(value)
	if err != nil {
		return err
	}
	allowed := fields{"!id": text, "!type": text, "name": deviceName, "mtu": number(68, 65535), "vif_id": text}
	switch o["type"] {
	case "bond":
		for key := range o {
			if strings.HasPrefix(key, "bond_") {
				allowed[key] = scalar
			}
		}
		delete(allowed, "bond_links")
		delete(allowed, "bond_mode")
		allowed["!bond_links"], allowed["!bond_mode"], allowed["ethernet_mac_address"] = each(text), text, mac
	case "vlan":
		allowed["!vlan_link"], allowed["!vlan_id"], allowed["!vlan_mac_address"] = text, number(0, 4094), mac
	default:
		allowed["!type"], allowed["!ethernet_mac_address"] = oneOf(
			"bgpovs", "bridge", "cascading", "dvs", "ethernet", "hw_veb", "hyperv", "ovs", "phy", "tap", "vhostuser", "vif"), mac
	}
	return o.check(allowed)
}

func network(value any) error {
	o, err := asObject(value)
	if err != nil {
		return err
	}
	kind, _ := o["type"].(string)
	allowed := fields{
		"!id": text, "!link": text, "network_id": text, "services": each(service),
		"!type":  oneOf("ipv4", "ipv6", "ipv4_dhcp", "ipv6_dhcp", "ipv6_slaac", "ipv6_dhcpv6-stateless", "ipv6_dhcpv6-stateful"),
		"routes": each(route(strings.HasPrefix(kind, "ipv6"))),
	}
	if kind == "ipv4" || kind == "ipv6" {
		allowed["!ip_address"], allowed["!netmask"], allowed["gateway"] = address(kind == "ipv6"), text, address(kind == "ipv6")
	}
	return o.check(allowed)
}

func route(six bool) func(any) error {
	return func(value any) error {
		o, err := asObject(value)
		if err != nil {
			return err
		}
		return o.check(fields{
			"!network": address(six), "!netmask": address(six), "!gateway": address(six), "services": each(service),
		})
	}
}

func service(value any) error {
	o, err := asObject(value)
	if err != nil {
		return err
	}
	return o.check(fields{"!type": oneOf("dns"), "!address": func(value any) error {
		if address(false)(value) == nil {
			return nil
		}
		return address(true)(value)
	}})
}

func asObject(value any) (object, error) {
	o, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no object", value)
	}
	return o, nil
}

// each wants a list, and checks its items.
func each(item func(any) error) func(any) error {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%v is no list", value)
		}
		var defects []error
		for i, value := range list {
			if err := item(value); err != nil {
				defects = append(defects, fmt.Errorf("[%d]: %w", i, err))
			}
		}
		return errors.Join(defects...)
	}
}

func text(value any) error {
	if s, ok := value.(string); !ok || s == "" {
		return fmt.Errorf("%v is no text", value)
	}
	return nil
}

// deviceName wants what the kernel takes as the name of a device.
func deviceName(value any) error {
	name, _ := value.(string)
	if name == "" || len(name) > 15 || name == "." || name == ".." || strings.ContainsAny(name, "/: \t\n") {
		return fmt.Errorf("%q is no name of a device", name)
	}
	return nil
}

func mac(value any) error {
	s, _ := value.(string)
	if parsed, err := net.ParseMAC(s); err != nil || len(parsed) != 6 || len(s) != 17 || strings.Contains(s, "-") {
		return fmt.Errorf("%q is no MAC address as the kernel writes it", s)
	}
	return nil
}

func number(low, high int64) func(any) error {
	return func(value any) error {
		n, _ := value.(json.Number)
		if i, err := n.Int64(); err != nil || i < low || i > high {
			return fmt.Errorf("%v is no number between %d and %d", value, low, high)
		}
		return nil
	}
}

func scalar(value any) error {
	switch value.(type) {
	case string, bool, json.Number:
		return nil
	}
	return fmt.Errorf("%v is no single value", value)
}

func oneOf(words ...string) func(any) error {
	return func(value any) error {
		if word, _ := value.(string); !slices.Contains(words, word) {
			return fmt.Errorf("%q is none of %q", word, words)
		}
		return nil
	}
}

func address(six bool) func(any) error {
	return func(value any) error {
		s, _ := value.(string)
		if parsed, err := netip.ParseAddr(s); err != nil || parsed.Is6() != six || parsed.Zone() != "" {
			return fmt.Errorf("%q is no address of that family", s)
		}
		return nil
	}
}
