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

package templatecheck

import (
	"fmt"
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/networkdata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// links are the links of a template, as the rules read them.
type links struct {
	spec *infrav1.NetworkDataLink
	path *field.Path
	// ids of all links.
	ids []value
	// below are the links that bonds and VLANs rest on.
	below []reference
}

// reference is the mention of a link by its id.
type reference struct {
	value
	// from is the id of the link that rests on it; empty for a network.
	from string
}

func linksOf(spec *infrav1.NetworkDataLink, path *field.Path) links {
	if spec == nil {
		spec = &infrav1.NetworkDataLink{}
	}
	l := links{spec: spec, path: path}
	for i, e := range spec.Ethernets {
		l.ids = append(l.ids, value{e.ID, l.at("ethernets", i, "id")})
	}
	for i, b := range spec.Bonds {
		l.ids = append(l.ids, value{b.ID, l.at("bonds", i, "id")})
		at := l.at("bonds", i, "bondLinks")
		for j, id := range b.BondLinks {
			l.below = append(l.below, reference{value{id, at.Index(j)}, b.ID})
		}
	}
	for i, v := range spec.Vlans {
		l.ids = append(l.ids, value{v.ID, l.at("vlans", i, "id")})
		l.below = append(l.below, reference{value{v.VlanLink, l.at("vlans", i, "vlanLink")}, v.ID})
	}
	return l
}

// at is the path of a field of one link.
func (l links) at(list string, i int, name string) *field.Path {
	return l.path.Child(list).Index(i).Child(name)
}

// networksOf lists the ids of the networks, and which links they are on.
func networksOf(spec *infrav1.NetworkDataNetwork, path *field.Path) (ids []value, on []reference) {
	for _, n := range ippool.Networks(spec) {
		at := path.Child(n.List).Index(n.Index)
		ids = append(ids, value{n.ID, at.Child("id")})
		on = append(on, reference{value: value{n.Link, at.Child("link")}})
	}
	return ids, on
}

// missing finds references to links that do not exist.
func missing(known []value, references []reference) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		names, exists := make([]string, 0, len(known)), map[string]bool{}
		for _, v := range known {
			names, exists[v.text] = append(names, v.text), true
		}
		for _, r := range references {
			if exists[r.text] {
				continue
			}
			e := field.NotFound(r.path, r.text)
			e.Detail = "no link has this id: add it, or use one of those that are there: " + text.List(names)
			if !yield(e) {
				return
			}
		}
	}
}

// devices finds links that no operating system could set up beside each other.
func (l links) devices() []iter.Seq[*field.Error] {
	var names, macs, members, tags []value
	for i, e := range l.spec.Ethernets {
		names = append(names, value{e.Name, l.at("ethernets", i, "name")})
		macs = append(macs, mac(e.MACAddress, l.at("ethernets", i, "macAddress")))
	}
	for i, b := range l.spec.Bonds {
		names = append(names, value{b.Name, l.at("bonds", i, "name")})
		at := l.at("bonds", i, "bondLinks")
		for j, id := range b.BondLinks {
			members = append(members, value{id, at.Index(j)})
		}
	}
	for i, v := range l.spec.Vlans {
		names = append(names, value{v.Name, l.at("vlans", i, "name")})
		if v.VlanID != nil {
			tags = append(tags, value{fmt.Sprintf("%d on %s", *v.VlanID, v.VlanLink), l.at("vlans", i, "vlanID")})
		}
	}
	return []iter.Seq[*field.Error]{
		l.bonds,
		l.vlans,
		once(names, "another link has this name: give each link one of its own, or none"),
		once(macs, "another link is recognized by the same: give each interface a MAC address of its own"),
		once(members, "the link is in a bond already: put it into one of them only"),
		once(tags, "the VLAN is there already: put it on another link, or remove it"),
	}
}

// mac is where an interface takes its MAC address from.
func mac(source *infrav1.NetworkLinkMAC, path *field.Path) value {
	switch {
	case source == nil:
		return value{path: path}
	case source.String != "":
		return value{strings.ToLower(strings.ReplaceAll(source.String, "-", ":")), path.Child("string")}
	case source.FromHostInterface != "":
		return value{source.FromHostInterface, path.Child("fromHostInterface")}
	case source.FromAnnotation != nil:
		a := source.FromAnnotation
		return value{fmt.Sprintf("%s of %s", a.Annotation, a.Object), path.Child("fromAnnotation")}
	default:
		return value{path: path}
	}
}

// bonds finds what is wrong with single bonds.
func (l links) bonds(yield func(*field.Error) bool) {
	own := networkdata.BondFields()
	for i, b := range l.spec.Bonds {
		if len(b.BondLinks) == 0 &&
			!yield(field.Required(l.at("bonds", i, "bondLinks"), "the bond has no links: name them by their ids")) {
			return
		}
		for j, p := range b.Parameters {
			if own[p.Name] != "" && !yield(field.Invalid(l.at("bonds", i, "parameters").Index(j).Child("name"), p.Name,
				fmt.Sprintf("the option has a field of its own: set %s instead", own[p.Name]))) {
				return
			}
		}
	}
}

// vlans finds what is wrong with single VLANs.
func (l links) vlans(yield func(*field.Error) bool) {
	for i, v := range l.spec.Vlans {
		if v.VlanID != nil && *v.VlanID > networkdata.MaxVLAN && !yield(field.Invalid(l.at("vlans", i, "vlanID"), *v.VlanID,
			fmt.Sprintf("no VLAN has this tag: use one between 0 and %d", networkdata.MaxVLAN))) {
			return
		}
	}
}

// circles yields an error for each link that rests on itself, directly or through other links.
func circles(below []reference) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		circled := onCircles(below)
		for _, r := range below {
			if circled[r.text] && !yield(field.Invalid(r.path, r.text, "this link rests on itself: put it on another link")) {
				return
			}
		}
	}
}

// onCircles returns the links that rest on themselves, directly or through other links.
func onCircles(below []reference) map[string]bool {
	s := search{on: map[string][]string{}, met: map[string]int{}, open: map[string]bool{}, circled: map[string]bool{}}
	for _, r := range below {
		s.on[r.from] = append(s.on[r.from], r.text)
	}
	for _, r := range below {
		if s.met[r.from] == 0 {
			s.visit(r.from)
		}
	}
	return s.circled
}

// search goes down from link to link, to each link once. Links that rest on each
// other stay open until the first of them that was met is left again: this is how
// Tarjan finds the strongly connected components of a graph.
type search struct {
	// on lists what each link rests on.
	on map[string][]string
	// met numbers the links as they are met, from 1.
	met map[string]int
	// trail has the links that are open, in the order in which they were met.
	trail []string
	open  map[string]bool
	// circled are the links that were found to rest on themselves.
	circled map[string]bool
}

// visit goes down from a link, and returns the number of the first open link that it
// comes back to, or that of the link itself.
func (s *search) visit(link string) int {
	number := len(s.met) + 1
	s.met[link] = number
	s.trail = append(s.trail, link)
	s.open[link] = true
	back, at := number, len(s.trail)-1
	for _, lower := range s.on[link] {
		switch {
		case lower == link:
			s.circled[link] = true
		case s.met[lower] == 0:
			back = min(back, s.visit(lower))
		case s.open[lower]:
			back = min(back, s.met[lower])
		}
	}
	if back == number {
		s.leave(at)
	}
	return back
}

// leave closes the links that were met from a place of the trail on. If they are
// several, they rest on each other.
func (s *search) leave(at int) {
	for _, link := range s.trail[at:] {
		s.open[link] = false
		s.circled[link] = s.circled[link] || len(s.trail)-at > 1
	}
	s.trail = s.trail[:at]
}
