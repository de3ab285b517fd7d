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

package components

import (
	"fmt"
	"strings"
)

// The programs that can be built.
const (
	Etcd                  = "etcd"
	APIServer             = "kube-apiserver"
	ControllerManager     = "kube-controller-manager"
	Kubectl               = "kubectl"
	ClusterAPI            = "capi-core"
	KubeadmBootstrap      = "capi-kubeadm-bootstrap"
	KubeadmControlPlane   = "capi-kubeadm-control-plane"
	Clusterctl            = "clusterctl"
	ClusterAPIOperator    = "cluster-api-operator"
	IPAddressManager      = "ip-address-manager"
	InClusterIPAM         = "capi-ipam-in-cluster"
	BareMetalOperator     = "baremetal-operator"
	ProviderManager       = "manager"
	HostClaimManager      = "hostclaim-manager"
	KubeVirtManager       = "kubevirt-manager"
	HostSim               = "hostsim"
	BMOWebhooks           = "bmowebhooks"
	Tenant                = "tenant"
	Plugin                = "kubectl-metal3"
	wrapperFolder         = "hack/devcluster/components/"
	kubernetesModule      = "k8s.io/kubernetes"
	clusterAPIModule      = "sigs.k8s.io/cluster-api"
	capiOperatorModule    = "sigs.k8s.io/cluster-api-operator"
	baremetalOperatorRoot = "github.com/metal3-io/baremetal-operator"
	ipamRoot              = "github.com/metal3-io/ip-address-manager"
	inClusterIPAMRoot     = "sigs.k8s.io/cluster-api-ipam-provider-in-cluster"
)

// Component is one program and where it comes from.
type Component struct {
	Name string
	// Module is the module whose version names the program; empty for ours.
	Module string
	// Folder is where the build runs, relative to the repository.
	Folder string
	// Package is the import path, or folder, of the main package.
	Package string
}

// Own reports whether the program is built from this repository.
func (c Component) Own() bool {
	return c.Module == ""
}

// Table lists every program, those that others share most packages with first.
func Table() []Component {
	kubernetes := func(name string) Component {
		return Component{name, kubernetesModule, wrapperFolder + "kubernetes", kubernetesModule + "/cmd/" + name}
	}
	capi := func(name, path string) Component {
		return Component{name, clusterAPIModule, wrapperFolder + "capi", clusterAPIModule + "/" + path}
	}
	return []Component{
		{Etcd, "go.etcd.io/etcd/server/v3", wrapperFolder + "etcd", "go.etcd.io/etcd/server/v3"},
		kubernetes(APIServer),
		kubernetes(ControllerManager),
		kubernetes(Kubectl),
		capi(ClusterAPI, "core"),
		capi(KubeadmBootstrap, "bootstrap/kubeadm"),
		capi(KubeadmControlPlane, "controlplane/kubeadm"),
		capi(Clusterctl, "cmd/clusterctl"),
		{ClusterAPIOperator, capiOperatorModule, wrapperFolder + "capi-operator", capiOperatorModule + "/cmd"},
		{IPAddressManager, ipamRoot, wrapperFolder + "ipam", ipamRoot},
		{InClusterIPAM, inClusterIPAMRoot, wrapperFolder + "ipam-in-cluster", inClusterIPAMRoot},
		{BareMetalOperator, baremetalOperatorRoot, wrapperFolder + "bmo", baremetalOperatorRoot},
		{ProviderManager, "", ".", "."},
		{HostClaimManager, "", ".", "./cmd/hostclaim-manager"},
		{KubeVirtManager, "", ".", "./cmd/kubevirt-manager"},
		{HostSim, "", "test", "./tools/hostsim"},
		{BMOWebhooks, "", "test", "./tools/bmowebhooks"},
		{Tenant, "", ".", "./hack/tenant"},
		{Plugin, "", ".", "./cmd/kubectl-metal3"},
	}
}

// Lookup returns the components of those names, in the order of the table.
func Lookup(names ...string) ([]Component, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var found []Component
	for _, c := range Table() {
		if wanted[c.Name] {
			found = append(found, c)
			delete(wanted, c.Name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("there is no component %q, only %s", name, strings.Join(Names(), ", "))
	}
	return found, nil
}

// Names returns the name of every component.
func Names() []string {
	var names []string
	for _, c := range Table() {
		names = append(names, c.Name)
	}
	return names
}

// linkerFlags strips what only debuggers need. The Kubernetes programs get their version as well,
// because Cluster API refuses an API server that calls itself v0.0.0-master.
func (c Component) linkerFlags(version string) string {
	flags := []string{"-s", "-w"}
	if c.Module != kubernetesModule {
		return strings.Join(flags, " ")
	}
	numbers := strings.Split(strings.TrimPrefix(version, "v"), ".")
	for _, path := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			fmt.Sprintf("-X %s.gitVersion=%s", path, version),
			fmt.Sprintf("-X %s.gitMajor=%s", path, numbers[0]),
			fmt.Sprintf("-X %s.gitMinor=%s", path, numbers[1]),
			fmt.Sprintf("-X %s.gitTreeState=clean", path))
	}
	return strings.Join(flags, " ")
}
