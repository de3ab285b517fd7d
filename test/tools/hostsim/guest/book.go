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

package guest

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

// machine is what a host's disk and memory hold.
type machine struct {
	// Machine is set from phase installed on.
	workload.Machine
	deployment string
	phase      phase
	// unmanaged says that the host was last seen paused: the machine goes on without it.
	unmanaged bool
	// reboots is set for a host that was seen with an annotation that asks for a reboot.
	reboots bool
	// deadline is when the machine gives up joining; zero until it first tried.
	deadline time.Time
}

// book keeps the machines of all hosts. Its zero value is empty.
type book struct {
	mu       sync.Mutex
	machines map[types.NamespacedName]machine
}

// load gives the machine of a host, absent if there is none.
func (b *book) load(host types.NamespacedName) machine {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machines[host]
}

func (b *book) store(host types.NamespacedName, m machine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.phase == absent {
		delete(b.machines, host)
		return
	}
	if b.machines == nil {
		b.machines = map[types.NamespacedName]machine{}
	}
	b.machines[host] = m
}

// powerLost notes that the server of a host was seen without power, which a machine that hangs
// does not outlive, however short it was.
func (b *book) powerLost(host types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.machines[host]; m.phase == hung {
		m.phase = off
		b.machines[host] = m
	}
}

// rebootAsked notes that a reboot was asked for, of which a host in demo mode shows nothing else.
func (b *book) rebootAsked(host types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.machines[host]; m.phase == alone {
		m.reboots = true
		b.machines[host] = m
	}
}

// waiting lists the hosts whose machines are still outside their cluster.
func (b *book) waiting() []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var hosts []types.NamespacedName
	for host, m := range b.machines {
		if m.phase == installed || m.phase == off {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
