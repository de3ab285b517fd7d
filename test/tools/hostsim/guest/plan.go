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

// phase is how far a machine got with what was deployed on it.
type phase int

const (
	// absent machines have no operating system.
	absent phase = iota
	// dead machines will never run what was deployed on them.
	dead
	// alone machines run what was deployed on them and belong to no cluster.
	alone
	// aloneOff machines are alone and have no power.
	aloneOff
	// installed machines have read their config drive, and are to join.
	installed
	// running machines are in their cluster.
	running
	// off machines are in their cluster, without power, or with power and hanging at boot.
	off
	// hung machines have power, and answer no one until they had none.
	hung
)

// step is what a machine does next.
type step int

const (
	nothing step = iota
	install
	boot
	powerOn
	powerOff
	hang
	wipe
)

// observed is what counts of a BareMetalHost.
type observed struct {
	// deployment identifies what was provisioned and when; empty for a host that
	// is not provisioned.
	deployment string
	poweredOn  bool
	// hangs says that the machine stops, and that no reboot helps as long as this is so.
	hangs bool
	// reboots is set for a host that has an annotation that asks for a reboot.
	reboots bool
}

// next decides the next step of a machine that is in a phase with a deployment.
func next(o observed, deployment string, p phase) step {
	switch {
	case p != absent && deployment != o.deployment:
		return wipe
	case o.deployment == "":
		return nothing
	case p == absent:
		return install
	case o.poweredOn:
		return withPower(o, p)
	case p == running || p == hung || p == alone:
		return powerOff
	default:
		return nothing
	}
}

// withPower is the next step of a machine that is installed and has power.
func withPower(o observed, p phase) step {
	switch {
	case p == installed:
		return boot
	case p == running && o.hangs:
		return hang
	case p == off && !o.hangs || p == aloneOff:
		return powerOn
	default:
		return nothing
	}
}
