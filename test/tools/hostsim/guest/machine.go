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
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
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
	rendered, err := cloudinit.Render(raw, cloudinit.InstanceData(metaData))
	if err != nil {
		return kubeadm.Plan{}, err
	}
	config, err := cloudinit.Parse(rendered)
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
