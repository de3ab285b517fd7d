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

package networkdata

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/templatecheck"
)

// defaultMTU is the MTU of a link whose template sets none.
const defaultMTU = 1500

var macPattern = regexp.MustCompile(`^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$`)

// links renders bonds first, then ethernets, then VLANs.
func (r *renderer) links(spec *infrav1.NetworkDataLink) []link {
	rendered := []link{}
	if spec == nil {
		return rendered
	}
	macs := r.macs(spec)
	for _, bond := range spec.Bonds {
		rendered = append(rendered, r.bond(bond, macs))
	}
	for _, ethernet := range spec.Ethernets {
		l := newLink(string(ethernet.Type), ethernet.ID, ethernet.Name, ethernet.MTU)
		l.set("ethernet_mac_address", macs[ethernet.ID])
		rendered = append(rendered, l)
	}
	for _, v := range spec.Vlans {
		rendered = append(rendered, vlan(v, spec, macs))
	}
	return rendered
}

// macs resolves the MAC addresses that the template gives to links.
func (r *renderer) macs(spec *infrav1.NetworkDataLink) map[string]string {
	macs := map[string]string{}
	for _, bond := range spec.Bonds {
		macs[bond.ID] = r.mac("bonds", bond.ID, bond.MACAddress)
	}
	holders := map[string]string{}
	for _, ethernet := range spec.Ethernets {
		mac := r.mac("ethernets", ethernet.ID, ethernet.MACAddress)
		macs[ethernet.ID] = mac
		if other, found := holders[strings.ToLower(mac)]; found && mac != "" {
			r.fail(item("links.ethernets", ethernet.ID), TemplateError{
				Problem: fmt.Sprintf("the link has the MAC address of link %q, %q", other, mac), Remedy: "give each one of its own",
			})
		}
		holders[strings.ToLower(mac)] = ethernet.ID
	}
	for _, vlan := range spec.Vlans {
		macs[vlan.ID] = r.mac("vlans", vlan.ID, vlan.MACAddress)
	}
	return macs
}

func (r *renderer) mac(list, id string, source *infrav1.NetworkLinkMAC) string {
	if source == nil {
		return ""
	}
	mac, err := source.String, error(nil)
	switch {
	case mac != "":
	case source.FromHostInterface != "":
		mac, err = r.facts.InterfaceMAC(source.FromHostInterface)
	case source.FromAnnotation != nil:
		mac, err = r.facts.Annotation(source.FromAnnotation.Object, source.FromAnnotation.Annotation)
	default:
		err = TemplateError{
			Problem: "macAddress names no source", Remedy: "set string, fromHostInterface or fromAnnotation",
		}
	}
	if err == nil && !macPattern.MatchString(mac) {
		err = TemplateError{
			Problem: fmt.Sprintf("%q is not a MAC address", mac), Remedy: "write six pairs of hex digits, such as 52:54:00:12:34:56",
		}
	}
	if err != nil {
		r.fail(item("links."+list, id), err)
	}
	return strings.ReplaceAll(mac, "-", ":") // cloud-init compares with what the kernel shows
}

func (r *renderer) bond(spec infrav1.NetworkDataLinkBond, macs map[string]string) link {
	l := newLink("bond", spec.ID, spec.Name, spec.MTU)
	l["bond_mode"] = string(spec.BondMode)
	l["bond_links"] = append([]string{}, spec.BondLinks...)
	l.set("bond_xmit_hash_policy", string(spec.BondXmitHashPolicy))
	l.set("ethernet_mac_address", macs[spec.ID])
	for _, parameter := range spec.Parameters {
		if !templatecheck.Single(parameter) {
			r.fail(item("links.bonds", spec.ID), TemplateError{
				Problem: fmt.Sprintf("parameter %q is not a single value", parameter.Name), Remedy: "give it a number, a string or a boolean",
			})
			continue
		}
		l["bond_"+parameter.Name] = json.RawMessage(parameter.Value.Raw) // numbers unrounded
	}
	return l
}

// vlan renders a VLAN. cloud-init insists on a MAC address; one that the
// template leaves out is that of the link below, as the kernel chooses it.
func vlan(spec infrav1.NetworkDataLinkVlan, all *infrav1.NetworkDataLink, macs map[string]string) link {
	l := newLink("vlan", spec.ID, spec.Name, spec.MTU)
	l["vlan_id"] = ptr.Deref(spec.VlanID, 0)
	l["vlan_link"] = spec.VlanLink
	mac := macs[spec.ID]
	for id := spec.VlanLink; mac == "" && id != ""; id = below(all, id) {
		mac = macs[id]
	}
	l.set("vlan_mac_address", mac)
	return l
}

// below returns the link that a bond or a VLAN takes its MAC address from.
func below(all *infrav1.NetworkDataLink, id string) string {
	for _, bond := range all.Bonds {
		if bond.ID == id && len(bond.BondLinks) > 0 {
			return bond.BondLinks[0]
		}
	}
	for _, vlan := range all.Vlans {
		if vlan.ID == id {
			return vlan.VlanLink
		}
	}
	return ""
}

func newLink(kind, id, name string, mtu int32) link {
	if mtu == 0 {
		mtu = defaultMTU
	}
	l := link{"type": kind, "id": id, "mtu": mtu}
	l.set("name", name)
	return l
}

// set adds a key unless its value is empty.
func (l link) set(key, value string) {
	if value != "" {
		l[key] = value
	}
}

// item names an entry of the template in messages.
func item(list, id string) string {
	return fmt.Sprintf("networkData.%s[%s]", list, id)
}
