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

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken below the range from which Linux serves outgoing connections: none is
// lost between the choice and the start of its server. The ranges are wide because two choices
// that are made before either server starts should rarely meet. The endpoint of a workload cluster, which
// is chosen minutes before its first machine serves it, is never a port of a server.
const (
	lowestPort     = 10000
	lowestEndpoint = 22000
	highestPort    = 32000
)

// FreePorts returns n loopback ports on which no process listens at the moment, for servers that start next.
func FreePorts(n int) ([]int, error) { return freePorts(n, lowestPort, lowestEndpoint) }

// FreeEndpoints returns n loopback ports for the endpoints of workload clusters.
func FreeEndpoints(n int) ([]int, error) { return freePorts(n, lowestEndpoint, highestPort) }

func freePorts(n, lowest, highest int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	for range 50 * n {
		if len(ports) == n {
			break
		}
		port := lowest + rand.IntN(highest-lowest)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ports, listeners = append(ports, port), append(listeners, l)
	}
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	if len(ports) < n {
		errs = append(errs, fmt.Errorf("found only %d of %d free loopback ports", len(ports), n))
	}
	return ports, errors.Join(errs...)
}
