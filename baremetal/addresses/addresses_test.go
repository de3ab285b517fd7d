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

package addresses

import (
	"net/netip"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		text  string
		want  int
		first netip.Prefix
		fails bool
	}{
		"nothing denies nothing":           {},
		"local stands for what is local":   {text: "local", want: len(Local()), first: Local()[0]},
		"prefixes are taken as they are":   {text: "10.1.2.3/8, fd00::/8", want: 2, first: netip.MustParsePrefix("10.0.0.0/8")},
		"an address alone is no prefix":    {text: "10.0.0.1", fails: true},
		"another word is no prefix either": {text: "all", fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tt.text, map[string][]netip.Prefix{"local": Local()})
			expect.That(t, (err != nil) == tt.fails && len(got) == tt.want && (tt.want == 0 || got[0] == tt.first), "got %v, %v", got, err)
		})
	}
}

// TestAttackImagesFromTheInside takes each host as libraries may read it that resolve names
// by getaddrinfo or map them by IDNA first, and as a tunnel or translator may route it.
func TestAttackImagesFromTheInside(t *testing.T) {
	denied := append(Local(), netip.MustParsePrefix("172.22.0.0/24"))
	tests := map[string]bool{
		"images.example": false, "images.example.": false, "192.0.2.10": false, "2001:db8::1": false, "10.0.0.1": false,
		"127.0.0.1.example": false, "localhost.example": false, "0x7f.example": false, "registry_1": false, "a1": false,
		"127.0.0.1": true, "127.0.0.1.": true, "127.8.8.8": true, "0.0.0.0": true, "169.254.169.254": true, "172.22.0.1": true,
		"::1": true, "::": true, "fe80::1%eth0": true, "::ffff:127.0.0.1": true, "::ffff:a9fe:a9fe": true, "::127.0.0.1": true,
		"64:ff9b::a9fe:a9fe": true, "64:ff9b::808:808": false,
		"localhost": true, "LOCALHOST": true, "localhost.": true, "x.localhost": true, "localhost.localdomain": true,
		"localhost6": true, "ip6-loopback": true,
		// 169.254.169.254, 127.0.0.1 and 172.22.0.1 within IPv6 addresses: 6to4, Teredo (the server, the client),
		// SIIT, and local NAT64 with a prefix of each length.
		"2002:a9fe:a9fe::1": true, "2002:7f00:1::": true, "2002:ac16:1::1": true, "2002:808:808::1": false,
		"2001:0:a9fe:a9fe::1": true, "2001:0:808:808:0:fbff:5601:5601": true, "2001:0:808:808:0:fbff:f7f7:f7f7": false,
		"2001:0:808:808:0:fbff:80ff:fffe": true, "::ffff:0:a9fe:a9fe": true, "::ffff:0:808:808": false,
		"64:ff9b:1::a9fe:a9fe": true, "64:ff9b:1:abcd:12:3456:a9fe:a9fe": true, "64:ff9b:1:a9fe:a9:fe00::": true,
		"64:ff9b:1:a9fe:a9:fe00:808:808": true, "64:ff9b:1:aba9:fe:a9fe::": true, "64:ff9b:1:abcd:a9:fea9:fe00:0": true,
		"64:ff9b:1::808:808": false, "64:ff9b:1:808:8:800::": false, "64:ff9b:2::a9fe:a9fe": false,
		"ff02::1": true, "224.0.0.1": true, "255.255.255.255": true,
		// Names that files of hosts, nss-myhostname and systemd-resolved know.
		"localhost4": true, "localhost4.localdomain4": true, "localhost6.localdomain6": true, "localhost.localdomain.": true,
		"x.localhost.localdomain": true, "ip6-localhost": true, "ip6-localnet": true, "ip6-mcastprefix": true,
		"ip6-allnodes": true, "ip6-allrouters": true, "ip6-allhosts": true, "ipv6-localhost": true, "ipv6-loopback": true,
		"ipv6-localnet": true, "ipv6-mcastprefix": true, "IPv6-AllNodes": true, "ipv6-allrouters": true, "ipv6-allhosts": true,
		"_localdnsstub": true, "_localdnsproxy": true, "_outbound": true, "_gateway": true,
		"localdomain": false, "images.localdomain": false, "ip6.example": false, "ip6-localhost.example": false,
		"notlocalhost": false, "localhost4.example": false,
		// Forms of IPv4 addresses that inet_aton reads.
		"127.1": true, "2130706433": true, "0x7f000001": true, "0177.0.0.1": true, "127.0.0.01": true, "8.8": true, "0X7F.1": true,
		"１２７.0.0.1": true, "ⓛocalhost": true, "": true,
	}
	for host, want := range tests {
		t.Run(host, func(t *testing.T) {
			expect.Equal(t, want, MayLeadTo(denied, host))
			expect.That(t, !MayLeadTo(nil, host), "nothing is denied, and the host is")
			expect.That(t, host != "localhost" || !MayLeadTo([]netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, host), "loopback is not denied, and the host is")
		})
	}
}
