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

package webhooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
)

// named is an item of a list with the id that it gives itself.
type named struct {
	id   string
	path *field.Path
}

// reference is the mention of an item by its id.
type reference struct {
	to   string
	path *field.Path
}

// templateProblems lists what is wrong between the lists of a template: links
// that do not exist or exist twice, links that rest on themselves, and pools of
// one name and two kinds.
func templateProblems(spec infrav1.Metal3DataTemplateSpec, path *field.Path) field.ErrorList {
	problems := poolConflicts(spec, path)
	if spec.NetworkData == nil {
		return problems
	}
	at := path.Child("networkData")
	links, below := linksOf(spec.NetworkData.Links, at.Child("links"))
	networks, on := networksOf(spec.NetworkData.Networks, at.Child("networks"))
	problems = append(problems, twice(links)...)
	problems = append(problems, twice(networks)...)
	problems = append(problems, missing(links, append(slices.Clone(below), on...))...)
	problems = append(problems, circles(spec.NetworkData.Links, below)...)
	return problems
}

// poolConflicts finds pools of one name and two kinds, and addresses whose claims
// would have one name.
func poolConflicts(spec infrav1.Metal3DataTemplateSpec, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for _, err := range ippool.Contradictions(spec) {
		var conflict ippool.ConflictError
		var names ippool.ClaimNameError
		switch {
		case errors.As(err, &conflict):
			problems = append(problems, field.Invalid(path, conflict.One.Name, fmt.Sprintf(
				"the name stands for two pools, %s and %s: give one of them another name", conflict.One, conflict.Other)))
		case errors.As(err, &names):
			problems = append(problems, field.Invalid(path, names.Other.Name, fmt.Sprintf(
				"%s and %s would be asked by claims of one name: give the network another id", names.One, names.Other)))
		}
	}
	return problems
}

// linksOf lists the links, and which links they rest on.
func linksOf(spec *infrav1.NetworkDataLink, path *field.Path) (links []named, below []reference) {
	if spec == nil {
		return nil, nil
	}
	for i, l := range spec.Ethernets {
		links = append(links, named{l.ID, path.Child("ethernets").Index(i).Child("id")})
	}
	for i, l := range spec.Bonds {
		at := path.Child("bonds").Index(i)
		links = append(links, named{l.ID, at.Child("id")})
		for j, id := range l.BondLinks {
			below = append(below, reference{id, at.Child("bondLinks").Index(j)})
		}
	}
	for i, l := range spec.Vlans {
		at := path.Child("vlans").Index(i)
		links = append(links, named{l.ID, at.Child("id")})
		below = append(below, reference{l.VlanLink, at.Child("vlanLink")})
	}
	return links, below
}

// networksOf lists the networks, and which links they are on.
func networksOf(spec *infrav1.NetworkDataNetwork, path *field.Path) (networks []named, on []reference) {
	if spec == nil {
		return nil, nil
	}
	add := func(list string, i int, id, link string) {
		at := path.Child(list).Index(i)
		networks = append(networks, named{id, at.Child("id")})
		on = append(on, reference{link, at.Child("link")})
	}
	for i, n := range spec.IPv4 {
		add("ipv4", i, n.ID, n.Link)
	}
	for i, n := range spec.IPv6 {
		add("ipv6", i, n.ID, n.Link)
	}
	for i, n := range spec.IPv4DHCP {
		add("ipv4DHCP", i, n.ID, n.Link)
	}
	for i, n := range spec.IPv6DHCP {
		add("ipv6DHCP", i, n.ID, n.Link)
	}
	for i, n := range spec.IPv6SLAAC {
		add("ipv6SLAAC", i, n.ID, n.Link)
	}
	return networks, on
}

// twice finds ids that are given more than once, over all lists together.
func twice(items []named) field.ErrorList {
	var problems field.ErrorList
	seen := map[string]bool{}
	for _, item := range items {
		if seen[item.id] {
			problems = append(problems, field.Duplicate(item.path, item.id))
		}
		seen[item.id] = true
	}
	return problems
}

// missing finds references to links that do not exist.
func missing(links []named, references []reference) field.ErrorList {
	var problems field.ErrorList
	for _, r := range references {
		if slices.ContainsFunc(links, func(l named) bool { return l.id == r.to }) {
			continue
		}
		e := field.NotFound(r.path, r.to)
		e.Detail = "no link has this id; there are: " + ids(links)
		problems = append(problems, e)
	}
	return problems
}

func ids(links []named) string {
	if len(links) == 0 {
		return "none"
	}
	var all []string
	for _, l := range links {
		all = append(all, l.id)
	}
	return strings.Join(all, ", ")
}

// circles finds links that rest on themselves, over however many others.
func circles(spec *infrav1.NetworkDataLink, below []reference) field.ErrorList {
	if spec == nil {
		return nil
	}
	on := map[string][]string{}
	for _, b := range spec.Bonds {
		on[b.ID] = append(on[b.ID], b.BondLinks...)
	}
	for _, v := range spec.Vlans {
		on[v.ID] = append(on[v.ID], v.VlanLink)
	}
	var problems field.ErrorList
	for _, r := range below {
		if restsOn(on, r.to, r.to, map[string]bool{}) {
			problems = append(problems, field.Invalid(r.path, r.to, "this link rests on itself"))
		}
	}
	return problems
}

// restsOn says whether link rests on target.
func restsOn(on map[string][]string, link, target string, seen map[string]bool) bool {
	if seen[link] {
		return false
	}
	seen[link] = true
	return slices.ContainsFunc(on[link], func(lower string) bool {
		return lower == target || restsOn(on, lower, target, seen)
	})
}
