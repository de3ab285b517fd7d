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

package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
)

// errDenied is an address that must not be connected to.
var errDenied = errors.New("the address is denied")

// Addresses returns ranges of addresses as they are now: those of Services may grow. It is
// called for each connection, so it must be quick as a rule.
type Addresses func(context.Context) []netip.Prefix

// Now calls a; nil stands for no addresses.
func (a Addresses) Now(ctx context.Context) []netip.Prefix {
	if a == nil {
		return nil
	}
	return a(ctx)
}

// dial connects with a small buffer for what is not read yet.
func dial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetReadBuffer(maxUnread) // at worst it is larger
		}
		return conn, err
	}
}

// refuse returns a check for net.Dialer.ControlContext. It runs after the name was
// resolved: a name can resolve to another address at each lookup.
func refuse(denied Addresses) func(context.Context, string, string, syscall.RawConn) error {
	return func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || addresses.Denied(denied.Now(ctx), to.Addr()) {
			return errDenied
		}
		return nil
	}
}
