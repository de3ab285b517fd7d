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
	"slices"
	"strings"
	"unicode"
)

// Local are the addresses by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback and link-local.
// Nothing that a tenant names should be found there.
func Local() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("169.254.0.0/16"),
		netip.MustParsePrefix("::/128"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("fe80::/10"),
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

// MayLeadTo says whether the host of a URL is a denied address, a name of this host, or
// written so that some libraries read a denied address in it. What other names stand
// for is only known when they are resolved.
func MayLeadTo(denied []netip.Prefix, host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	address, err := netip.ParseAddr(name)
	switch {
	case len(denied) == 0:
		return false
	case err == nil:
		return among(denied, address)
	case slices.Contains(hostNames[:], name) || strings.HasSuffix(name, ".localhost"):
		return among(denied, netip.AddrFrom4([4]byte{127, 0, 0, 1})) || among(denied, netip.IPv6Loopback())
	default:
		return ambiguous(name)
	}
}

// hostNames are names that files of hosts give to loopback.
var hostNames = [...]string{
	"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback",
}

// among says whether an address is denied, or an IPv4 address that it stands for: as an
// IPv6 address that is mapped or compatible, or behind NAT64.
func among(denied []netip.Prefix, address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	all := []netip.Addr{address}
	for _, prefix := range []netip.Prefix{netip.MustParsePrefix("::/96"), netip.MustParsePrefix("64:ff9b::/96")} {
		if prefix.Contains(address) {
			bytes := address.As16()
			all = append(all, netip.AddrFrom4([4]byte(bytes[12:])))
		}
	}
	return slices.ContainsFunc(denied, func(prefix netip.Prefix) bool { return slices.ContainsFunc(all, prefix.Contains) })
}

// ambiguous says whether a name ends like a number, which inet_aton reads as an IPv4
// address, or holds characters that IDNA maps to others.
func ambiguous(name string) bool {
	last := name[strings.LastIndex(name, ".")+1:]
	number := strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == ""
	return number || strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII })
}
