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

package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// Machine is a server with an operating system on its disk.
type Machine struct {
	// Key tells machines apart: a server deployed anew is another machine.
	Key  string
	Plan kubeadm.Plan
	Node NodeFacts
	// Restored machines joined their cluster before this process started: their
	// disks hold the credentials that a token once gave them, and an etcd with
	// the cluster's data. They need no token, and a restored control plane may
	// bring its cluster back.
	Restored bool
}

// NodeFacts are what the kubelet finds out about its machine.
type NodeFacts struct {
	Name      string
	Addresses []string
	// KubeletVersion is empty for what the cluster is configured for.
	KubeletVersion string
	SystemUUID     string
	Architecture   string
	Capacity       corev1.ResourceList
}

// Capacity describes the size of a machine the way a kubelet reports it.
func Capacity(cpus, memoryMiB int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(cpus), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memoryMiB)<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
}

func (m Machine) controlPlane() bool { return m.Plan.Role != kubeadm.JoinWorker }
