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

// Package addresses reads lists of addresses that nothing which a tenant names may lead
// to, and finds hosts of URLs among them. It resolves no names.
package addresses

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Local are the addresses by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback, link-local, and groups
// of neighbors. Nothing that a tenant names should lead to them.
func Local() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("169.254.0.0/16"),
		netip.MustParsePrefix("224.0.0.0/4"),
		netip.MustParsePrefix("255.255.255.255/32"),
		netip.MustParsePrefix("::/128"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("fe80::/10"),
		netip.MustParsePrefix("ff00::/8"),
	}
}

// Parse reads a list of prefixes such as 10.0.0.0/8, separated by commas. Words stand for
// the prefixes that are given for them, and an empty text for none.
func Parse(text string, words map[string][]netip.Prefix) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if prefixes, found := words[part]; found || part == "" {
			out = append(out, prefixes...)
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			known := strings.Join(slices.Sorted(maps.Keys(words)), " nor ")
			return nil, fmt.Errorf("%q is neither %s nor a prefix such as 10.0.0.0/8", part, known)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

// MayLeadTo reports whether the host of a URL is a denied address, a name of this host, or
// written so that some libraries read a denied address in it. What other names stand
// for is only known when they are resolved.
func MayLeadTo(denied []netip.Prefix, host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	address, err := netip.ParseAddr(name)
	switch {
	case len(denied) == 0:
		return false
	case err == nil:
		return Denied(denied, address)
	case localNames.MatchString(name):
		return Denied(denied, netip.AddrFrom4([4]byte{127, 0, 0, 1})) || Denied(denied, netip.IPv6Loopback())
	default:
		return ambiguous(name)
	}
}

// localNames are names that files of hosts and systemd give to loopback, to the gateway
// and to groups of neighbors.
var localNames = regexp.MustCompile(`^(.+\.)?localhost[46]?(\.localdomain[46]?)?$|^(ip6-|ipv6-|_)[^.]*$`)

// Denied reports whether an address is denied, or an IPv4 address that a translator or tunnel
// reads in it. 0.0.0.0/8 within an IPv6 address is no destination.
func Denied(denied []netip.Prefix, address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	all := []netip.Addr{address}
	for _, e := range embeddings() {
		if bytes := address.As16(); e.prefix.Contains(address) && bytes[e.at[0]]^e.mask != 0 {
			all = append(all, netip.AddrFrom4([4]byte{
				bytes[e.at[0]] ^ e.mask, bytes[e.at[1]] ^ e.mask, bytes[e.at[2]] ^ e.mask, bytes[e.at[3]] ^ e.mask,
			}))
		}
	}
	return slices.ContainsFunc(denied, func(prefix netip.Prefix) bool { return slices.ContainsFunc(all, prefix.Contains) })
}

// embedding is where an IPv6 address with a prefix holds an IPv4 address, XORed with mask.
type embedding struct {
	prefix netip.Prefix
	at     [4]int
	mask   byte
}

func embeddings() []embedding {
	last, local := [4]int{12, 13, 14, 15}, netip.MustParsePrefix("64:ff9b:1::/48")
	return []embedding{
		{prefix: netip.MustParsePrefix("::/96"), at: last},           // IPv4-compatible
		{prefix: netip.MustParsePrefix("::ffff:0:0:0/96"), at: last}, // SIIT
		{prefix: netip.MustParsePrefix("64:ff9b::/96"), at: last},    // NAT64
		// Local NAT64 (RFC 8215): a site cuts its own prefix, of any length of RFC 6052, out of this one.
		{prefix: local, at: last},
		{prefix: local, at: [4]int{9, 10, 11, 12}},
		{prefix: local, at: [4]int{7, 9, 10, 11}},
		{prefix: local, at: [4]int{6, 7, 9, 10}},
		{prefix: netip.MustParsePrefix("2002::/16"), at: [4]int{2, 3, 4, 5}}, // 6to4
		{prefix: netip.MustParsePrefix("2001::/32"), at: [4]int{4, 5, 6, 7}}, // Teredo: its server
		{prefix: netip.MustParsePrefix("2001::/32"), at: last, mask: 0xff},   // Teredo: its client
	}
}

// ambiguous reports whether a name ends like a number, which inet_aton reads as an IPv4
// address, or holds characters that IDNA maps to others.
func ambiguous(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	number := strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
	return number || strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII })
}
