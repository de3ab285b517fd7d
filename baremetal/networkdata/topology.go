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
	"fmt"
	"slices"
	"strconv"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// register records the id of each link, so that references can be checked.
func (r *renderer) register(spec *infrav1.NetworkDataLink) {
	add := func(id, kind string) {
		if _, twice := r.types[id]; twice {
			r.fail(item("links", id), TemplateError{
				Problem: "two links have the same id", Remedy: "give each link an id of its own",
			})
		}
		r.types[id] = kind
	}
	for _, bond := range spec.Bonds {
		add(bond.ID, "bond")
	}
	for _, ethernet := range spec.Ethernets {
		add(ethernet.ID, "ethernet")
	}
	for _, vlan := range spec.Vlans {
		add(vlan.ID, "vlan")
	}
}

// topology reports links that no operating system can set up in this combination.
func (r *renderer) topology(spec *infrav1.NetworkDataLink) {
	bonded := map[string]string{}
	lower := map[string][]string{}
	for _, bond := range spec.Bonds {
		name := item("links.bonds", bond.ID)
		if len(bond.BondLinks) == 0 {
			r.fail(name, TemplateError{Problem: "the bond has no links", Remedy: "name them in bondLinks"})
		}
		for _, member := range bond.BondLinks {
			if other, found := bonded[member]; found {
				r.fail(name, TemplateError{
					Problem: fmt.Sprintf("link %q is in bond %q already", member, other), Remedy: "put it into one of them only",
				})
			}
			bonded[member] = bond.ID
		}
		lower[bond.ID] = bond.BondLinks
	}
	for _, vlan := range spec.Vlans {
		lower[vlan.ID] = append(lower[vlan.ID], vlan.VlanLink)
	}
	for _, id := range r.ids() {
		if reaches(lower, lower[id], id) {
			r.fail(item("links", id), TemplateError{Problem: "the link is below itself", Remedy: "put it on another link"})
		}
	}
	r.ownNames(spec)
}

// ownNames reports links that would be one device, or have one name.
func (r *renderer) ownNames(spec *infrav1.NetworkDataLink) {
	r.distinct("vlanID on that vlanLink", func(tell func(id, value string)) {
		for _, vlan := range spec.Vlans {
			if vlan.VlanID != nil {
				tell(vlan.ID, strconv.Itoa(int(*vlan.VlanID))+" on "+vlan.VlanLink)
			}
		}
	})
	r.distinct("name", func(tell func(id, value string)) {
		for _, bond := range spec.Bonds {
			tell(bond.ID, bond.Name)
		}
		for _, ethernet := range spec.Ethernets {
			tell(ethernet.ID, ethernet.Name)
		}
		for _, vlan := range spec.Vlans {
			tell(vlan.ID, vlan.Name)
		}
	})
}

// reaches reports whether a link is among others, or below one of them.
func reaches(lower map[string][]string, from []string, id string) bool {
	seen := map[string]bool{}
	for len(from) > 0 {
		next := from[0]
		from = from[1:]
		if next == id {
			return true
		}
		if !seen[next] {
			seen[next] = true
			from = append(slices.Clone(from), lower[next]...)
		}
	}
	return false
}

// distinct reports links that share a value that must be unique.
func (r *renderer) distinct(what string, links func(tell func(id, value string))) {
	holders := map[string]string{}
	links(func(id, value string) {
		if other, found := holders[value]; found && value != "" {
			r.fail(item("links", id), TemplateError{
				Problem: fmt.Sprintf("the link has the same %s as link %q, %q", what, other, value), Remedy: "give each one of its own",
			})
		}
		holders[value] = id
	})
}

// ids are those of all links, sorted.
func (r *renderer) ids() []string {
	known := make([]string, 0, len(r.types))
	for id := range r.types {
		known = append(known, id)
	}
	slices.Sort(known)
	return known
}

// mustExist reports a reference to a link that is not in the template.
func (r *renderer) mustExist(item, id string) {
	if _, found := r.types[id]; found {
		return
	}
	r.fail(item, TemplateError{
		Problem: fmt.Sprintf("there is no link with the id %q", id),
		Remedy:  fmt.Sprintf("add it, or use one of %q", r.ids()),
	})
}
