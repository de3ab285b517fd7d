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
// lost between the choice and the start of its server. The range is wide because two choices
// that are made before either server starts should rarely meet.
const (
	lowestPort  = 10000
	highestPort = 32000
)

// FreePorts returns n loopback ports on which no process listens at the moment.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	for range 50 * n {
		if len(ports) == n {
			break
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort)
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
