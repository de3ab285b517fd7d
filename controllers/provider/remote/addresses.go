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

package remote

import (
	"fmt"
	"net/netip"
	"strings"
)

// LocalAddresses are those by which a process reaches its own machine, its Pod and the
// services that clouds offer to their machines: this host, loopback and link-local.
// Nothing that a tenant names should be found there.
func LocalAddresses() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("169.254.0.0/16"),
		netip.MustParsePrefix("::/128"),
		netip.MustParsePrefix("::1/128"),
		netip.MustParsePrefix("fe80::/10"),
	}
}

// ParseAddresses reads a list of prefixes such as 10.0.0.0/8, separated by commas. The
// word local stands for LocalAddresses, and an empty text for none.
func ParseAddresses(text string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		switch part {
		case "":
		case "local":
			out = append(out, LocalAddresses()...)
		default:
			prefix, err := netip.ParsePrefix(part)
			if err != nil {
				return nil, fmt.Errorf("%q is neither local nor a prefix such as 10.0.0.0/8", part)
			}
			out = append(out, prefix.Masked())
		}
	}
	return out, nil
}
