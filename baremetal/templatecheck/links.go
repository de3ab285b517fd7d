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
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// maxVLAN is the highest tag that an operating system takes. The schema allows
// more, as that of CAPM3 does.
const maxVLAN = 4094

// bondFields are the options of a bond that have a field of their own: the fields in JSON, by the
// names that the options have as parameters.
func bondFields() map[string]string {
	return map[string]string{"mode": "bondMode", "links": "bondLinks", "xmit_hash_policy": "bondXmitHashPolicy"}
}

// reference is the mention of a link by its id.
type reference struct {
	value
	// from is the id of the link that rests on it; empty for a network.
	from string
}

// links are the links of a template, as the rules read them.
type links struct {
	ids, names, macs, tags []value
	// members are what bonds rest on, and below what bonds and VLANs do.
	members []value
	below   []reference
	// faults are those of single bonds and VLANs.
	faults field.ErrorList
}

// linkRules are the rules of links, and of networks that are on them.
func linkRules(spec *infrav1.NetworkData, path *field.Path) []iter.Seq[*field.Error] {
	l := linksOf(ptr.Deref(spec.Links, infrav1.NetworkDataLink{}), path.Child("links"))
	mentioned := slices.Clone(l.below)
	for _, n := range ippool.Networks(spec.Networks) {
		mentioned = append(mentioned, reference{value: value{n.Link, path.Child("networks", n.List).Index(n.Index).Child("link")}})
	}
	return []iter.Seq[*field.Error]{
		once(l.ids, "another link has this id: give each link one of its own"),
		missing(l.ids, mentioned),
		circles(l.below),
		slices.Values(l.faults),
		once(l.names, "another link has this name: give each link one of its own, or none"),
		once(l.macs, "another link is recognized by the same: give each interface a MAC address of its own"),
		once(l.members, "the link is in a bond already: put it into one of them only"),
		once(l.tags, "the VLAN is there already: put it on another link, or remove it"),
	}
}

func linksOf(spec infrav1.NetworkDataLink, path *field.Path) (l links) {
	for i, e := range spec.Ethernets {
		at := path.Child("ethernets").Index(i)
		l.add(e.ID, e.Name, at)
		l.macs = append(l.macs, mac(e.MACAddress, at.Child("macAddress")))
	}
	for i, b := range spec.Bonds {
		at := path.Child("bonds").Index(i)
		l.add(b.ID, b.Name, at)
		l.bond(b, at)
	}
	for i, v := range spec.Vlans {
		at := path.Child("vlans").Index(i)
		l.add(v.ID, v.Name, at)
		l.below = append(l.below, reference{value{v.VlanLink, at.Child("vlanLink")}, v.ID})
		tag := ptr.Deref(v.VlanID, 0)
		l.tags = append(l.tags, value{fmt.Sprintf("%d on %s", tag, v.VlanLink), at.Child("vlanID")})
		if tag > maxVLAN {
			l.faults = append(l.faults, field.Invalid(at.Child("vlanID"), tag,
				fmt.Sprintf("no VLAN has this tag: use one between 0 and %d", maxVLAN)))
		}
	}
	return l
}

func (l *links) add(id, name string, at *field.Path) {
	l.ids, l.names = append(l.ids, value{id, at.Child("id")}), append(l.names, value{name, at.Child("name")})
}

func (l *links) bond(b infrav1.NetworkDataLinkBond, at *field.Path) {
	if len(b.BondLinks) == 0 {
		l.faults = append(l.faults, field.Required(at.Child("bondLinks"), "the bond has no links: name them by their ids"))
	}
	for i, id := range b.BondLinks {
		member := value{id, at.Child("bondLinks").Index(i)}
		l.members, l.below = append(l.members, member), append(l.below, reference{member, b.ID})
	}
	own := bondFields()
	for i, p := range b.Parameters {
		if own[p.Name] != "" {
			l.faults = append(l.faults, field.Invalid(at.Child("parameters").Index(i).Child("name"), p.Name,
				fmt.Sprintf("the option has a field of its own: set %s instead", own[p.Name])))
		}
	}
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

// circles finds links that rest on themselves, directly or through other links: it goes down from link
// to link, along each reference once, and yields an error where it comes back to a link that it came from.
func circles(below []reference) iter.Seq[*field.Error] {
	return func(yield func(*field.Error) bool) {
		on := map[string][]reference{}
		for _, r := range below {
			on[r.from] = append(on[r.from], r)
		}
		above, left := map[string]bool{}, map[string]bool{}
		var visit func(link string) (goOn bool)
		visit = func(link string) bool {
			above[link] = true
			for _, r := range on[link] {
				if above[r.text] && !yield(field.Invalid(r.path, r.text, "this link rests on itself: put it on another link")) {
					return false
				}
				if !above[r.text] && !left[r.text] && !visit(r.text) {
					return false
				}
			}
			above[link], left[link] = false, true
			return true
		}
		for _, r := range below {
			if !left[r.from] && !visit(r.from) {
				return
			}
		}
	}
}
