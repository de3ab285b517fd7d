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
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/configdrive"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/netdata"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/workload"
)

// newMachine reads a config drive as the machine would at its first boot. Its
// errors name the secret and key to mend.
func newMachine(host *bmov1alpha1.BareMetalHost, parts configdrive.Contents) (workload.Machine, error) {
	sources := configdrive.SourcesOf(host)
	metaData, err := configdrive.MetaData(host, []byte(parts.MetaData))
	if err != nil {
		return workload.Machine{}, sources.MetaData.Error(err)
	}
	network, err := readNetwork(host, []byte(parts.NetworkData))
	if err != nil {
		return workload.Machine{}, sources.NetworkData.Error(err)
	}
	plan, err := readUserData([]byte(parts.UserData), metaData)
	if err != nil {
		return workload.Machine{}, sources.UserData.Error(err)
	}
	m := workload.Machine{Plan: plan, Node: nodeFacts(host)}
	m.Node.Addresses = netdata.Addresses(network, nics(host))
	m.Node.KubeletVersion = cmp.Or(imageVersion(host), plan.Cluster.KubernetesVersion)
	m.Node.Name = strings.ToLower(strings.TrimSpace(cmp.Or(plan.Registration.Name, cloudinit.Hostname(metaData))))
	if problems := validation.IsDNS1123Subdomain(m.Node.Name); len(problems) > 0 {
		return workload.Machine{}, sources.UserData.Error(
			fmt.Errorf("%q is no name for a Node: %s", m.Node.Name, strings.Join(problems, ", ")))
	}
	return m, nil
}

func readNetwork(host *bmov1alpha1.BareMetalHost, raw []byte) (netdata.Document, error) {
	document, err := netdata.Parse(raw)
	if err != nil {
		return netdata.Document{}, err
	}
	return document, netdata.Check(document, nics(host))
}

func readUserData(raw []byte, metaData map[string]any) (kubeadm.Plan, error) {
	if len(raw) == 0 {
		return kubeadm.Plan{}, fmt.Errorf("there is no user data: %w", kubeadm.ErrNoCommand)
	}
	config, err := configdrive.UserData(raw, metaData)
	if err != nil {
		return kubeadm.Plan{}, err
	}
	return kubeadm.Read(config)
}

// nodeFacts describes the hardware under a kubelet.
func nodeFacts(host *bmov1alpha1.BareMetalHost) workload.NodeFacts {
	facts := workload.NodeFacts{SystemUUID: string(host.UID), Architecture: "amd64", Capacity: workload.Capacity(1, 1024)}
	if hardware := host.Status.HardwareDetails; hardware != nil {
		facts.Capacity = workload.Capacity(max(hardware.CPU.Count, 1), max(hardware.RAMMebibytes, 1024))
		if hardware.CPU.Arch == "aarch64" {
			facts.Architecture = "arm64"
		}
	}
	return facts
}

// unmanaged reports whether baremetal-operator leaves the server of the host alone, or clusterctl
// takes the host away, whose annotations it replaces before it deletes the host.
func unmanaged(host *bmov1alpha1.BareMetalHost) bool {
	_, paused := host.Annotations[bmov1alpha1.PausedAnnotation]
	_, moved := host.Annotations["clusterctl.cluster.x-k8s.io/delete-for-move"]
	return paused || moved
}

// HangAnnotation on a BareMetalHost has its machine hang: it is on and does nothing, as after a
// crash of its kernel. It runs again after a reboot, and hangs after that one too as long as the
// annotation is there.
const HangAnnotation = "hostsim.metal3.io/hang"

// HoldAnnotation on a BareMetalHost has its machine wait before it founds or joins its cluster for the
// first time, as for a slow command of its user data, until the annotation is gone.
const HoldAnnotation = "hostsim.metal3.io/hold"

// observe reads a host. A host that is provisioned again, even with the same
// image, is another deployment; one that was moved away and back is not.
func observe(host *bmov1alpha1.BareMetalHost) observed {
	o := observed{poweredOn: host.Status.PoweredOn}
	_, o.hangs = host.Annotations[HangAnnotation]
	_, o.holds = host.Annotations[HoldAnnotation]
	for key := range host.Annotations {
		o.reboots = o.reboots || strings.HasPrefix(key, bmov1alpha1.RebootAnnotationPrefix)
	}
	if host.Status.Provisioning.State == bmov1alpha1.StateProvisioned {
		o.deployment = strings.Join([]string{
			host.Status.Provisioning.Image.URL,
			host.Status.OperationHistory.Provision.Start.UTC().Format(time.RFC3339),
		}, " ")
	}
	return o
}

// provisionedBefore reports whether the host was ready before that time.
func provisionedBefore(host *bmov1alpha1.BareMetalHost, at time.Time) bool {
	end := host.Status.OperationHistory.Provision.End
	return !end.IsZero() && end.Time.Before(at)
}

// nics lists the cards that inspection found; without inspection the card that
// the host boots from is known.
func nics(host *bmov1alpha1.BareMetalHost) []netdata.NIC {
	var cards []netdata.NIC
	if host.Status.HardwareDetails != nil {
		for _, nic := range host.Status.HardwareDetails.NIC {
			cards = append(cards, netdata.NIC{MAC: nic.MAC, IP: nic.IP})
		}
	}
	if len(cards) == 0 {
		cards = append(cards, netdata.NIC{MAC: host.Spec.BootMACAddress})
	}
	return cards
}

// version finds a Kubernetes version in the name of an image.
var version = regexp.MustCompile(`v\d+\.\d+\.\d+`)

// imageVersion is the version of the kubelet that the deployed image brings, if its name has one.
func imageVersion(host *bmov1alpha1.BareMetalHost) string {
	return version.FindString(host.Status.Provisioning.Image.URL)
}

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
	// hung machines have power, and do not answer until they had none.
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
	// hangs is true if the machine stops, and no reboot helps as long as this is so.
	hangs bool
	// holds is true if the machine does not go on with its first boot.
	holds bool
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
	case p == installed && !o.holds:
		return boot
	case p == running && o.hangs:
		return hang
	case p == off && !o.hangs || p == aloneOff:
		return powerOn
	default:
		return nothing
	}
}

// machine is what a host's disk and memory hold.
type machine struct {
	// Machine is set from phase installed on.
	workload.Machine
	deployment string
	phase      phase
	// unmanaged is true if the host was last seen paused: the machine goes on without it.
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
