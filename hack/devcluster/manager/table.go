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

package manager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
)

// Manager is one row of the table: a program and the manifests it belongs to.
type Manager struct {
	// Component is the program; its name is the manager's name too.
	Component string
	// Program is the path of a program that this repository does not build; empty for those of the
	// table of components.
	Program string
	// Kustomization is the folder of the manifests in the program's source; absolute for
	// a program that this repository does not build.
	Kustomization string
	Variables     manifests.Variables
	// Args come after those of the Deployment and so win over them.
	Args func(Place) []string
	// Env is added to the environment.
	Env func(Place) []string
}

// Place is what a manager is given instead of a pod.
type Place struct {
	Namespace  string
	Kubeconfig string
	// Dir belongs to this manager alone.
	Dir string
	// CertDir, in Dir, holds tls.crt and tls.key for the webhooks.
	CertDir                             string
	Health, Webhook, Metrics, Extension int
}

// ThirdParty lists the managers that others wrote.
func ThirdParty() []Manager {
	return []Manager{
		{
			Component:     components.ClusterAPI,
			Kustomization: "core/config/default",
			Variables:     manifests.Variables{"CLUSTER_TOPOLOGY": "true", "EXP_MACHINE_TAINT_PROPAGATION": "true"},
			Args:          withoutElection,
		},
		{
			Component:     components.KubeadmBootstrap,
			Kustomization: "bootstrap/kubeadm/config/default",
			Variables:     manifests.Variables{"EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION": "true"},
			Args:          withoutElection,
		},
		{
			Component:     components.KubeadmControlPlane,
			Kustomization: "controlplane/kubeadm/config/default",
			Variables: manifests.Variables{
				"CLUSTER_TOPOLOGY": "true", "EXP_MACHINE_TAINT_PROPAGATION": "true", "EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION": "true",
			},
			Args: withoutElection,
		},
		{
			Component:     components.IPAddressManager,
			Kustomization: "config/default",
			Args:          withoutElection,
		},
		{
			Component:     components.BareMetalOperator,
			Kustomization: "config/base",
			Args:          bareMetalOperatorArgs,
			// Its webhook server takes no folder and looks in the temporary one.
			Env: func(p Place) []string { return []string{"TMPDIR=" + p.Dir} },
		},
	}
}

// Own lists our two managers in the hardened form: without a right to secrets
// except where a RoleBinding gives it.
func Own() []Manager {
	return []Manager{
		{Component: components.HostClaimManager, Kustomization: "config/hostclaim/hardened", Args: ownArgs},
		{Component: components.ProviderManager, Kustomization: "config/hardened", Args: providerArgs},
	}
}

// All lists every manager of the demo.
func All() []Manager {
	return append(ThirdParty(), append(Own(), HostSim())...)
}

// BesideHosts lists those that run in a cluster with hosts where no tenant works,
// and BesideTenants those of a cluster of tenants without hosts.
func BesideHosts() []Manager {
	return slices.DeleteFunc(All(), func(m Manager) bool { return !besideHosts(m) })
}

// BesideTenants lists the managers that are not BesideHosts.
func BesideTenants() []Manager {
	return slices.DeleteFunc(All(), besideHosts)
}

func besideHosts(m Manager) bool {
	return slices.Contains([]string{components.BareMetalOperator, components.HostClaimManager, components.HostSim}, m.Component)
}

// InClusterIPAM is Cluster API's own provider of addresses. Only what asks for its pools runs it.
func InClusterIPAM() Manager {
	return Manager{
		Component:     components.InClusterIPAM,
		Kustomization: "config/default",
		Args: func(p Place) []string {
			return []string{
				"--kubeconfig=" + p.Kubeconfig,
				"--health-probe-bind-address=" + loopback(p.Health),
				fmt.Sprintf("--webhook-port=%d", p.Webhook),
				"--webhook-cert-dir=" + p.CertDir,
				"--diagnostics-address=0",
				"--leader-elect=false",
			}
		},
	}
}

// Parse reads a list of managers with commas: names, or none, third-party, all, simulated for all of them with
// simulated hosts, and all-bmo-0.14 for all as with baremetal-operator 0.14.
func Parse(text string) ([]Manager, error) {
	var found []Manager
	known := append(All(), InClusterIPAM())
	for word := range strings.SplitSeq(text, ",") {
		switch i := slices.IndexFunc(known, func(m Manager) bool { return m.Component == word }); {
		case word == "none":
		case word == "all":
			found = append(found, All()...)
		case word == "simulated":
			found = append(found, WithSimulatedHosts()...)
		case word == "all-bmo-0.14":
			found = append(found, WithNewerBareMetalOperator(All())...)
		case word == "third-party":
			found = append(found, ThirdParty()...)
		case i >= 0:
			found = append(found, known[i])
		default:
			return nil, fmt.Errorf("there is no manager %q, only %s", word, strings.Join(Components(known), ", "))
		}
	}
	return found, nil
}

// HostSim plays the servers of baremetal-operator in demo mode. Its manifest
// lies here, since no real cluster installs it.
func HostSim() Manager {
	return Manager{
		Component:     components.HostSim,
		Kustomization: "hack/devcluster/manager/hostsim",
		Args: func(p Place) []string {
			return []string{"--kubeconfig=" + p.Kubeconfig, "--health-addr=" + loopback(p.Health)}
		},
	}
}

// WithSimulatedHosts lists every manager of a dev cluster in which hostsim plays the hosts too,
// power included, of which baremetal-operator shows nothing in its demo mode. Of that one there
// are CRDs and webhooks; it looks after a namespace that does not exist.
func WithSimulatedHosts() []Manager {
	all := All()
	for i, m := range all {
		switch m.Component {
		case components.BareMetalOperator:
			all[i].Args = func(p Place) []string { return append(m.Args(p), "--namespace=none") }
		case components.HostSim:
			all[i].Kustomization = "hack/devcluster/manager/hostsim-host"
			all[i].Args = func(p Place) []string { return append(m.Args(p), "--mode=all", "--delays=all=200ms") }
		}
	}
	return all
}

// WithNewerBareMetalOperator has the cluster look as with baremetal-operator 0.14: its CRDs, and its webhooks for six
// kinds. They go over those of 0.13, which drives the hosts.
func WithNewerBareMetalOperator(all []Manager) []Manager {
	i := slices.IndexFunc(all, func(m Manager) bool { return m.Component == components.BareMetalOperator })
	if i < 0 {
		return all
	}
	return slices.Insert(all, i+1, Manager{
		Component:     components.BMOWebhooks,
		Kustomization: "hack/devcluster/manager/baremetal-operator-0.14",
		Args: func(p Place) []string {
			return []string{
				"--kubeconfig=" + p.Kubeconfig,
				"--health-addr=" + loopback(p.Health),
				fmt.Sprintf("--webhook-port=%d", p.Webhook),
				"--webhook-cert-dir=" + p.CertDir,
			}
		},
	})
}

// WithKubeVirt adds the kubevirt manager. hostsim plays KubeVirt, and the machines on its virtual machines.
func WithKubeVirt(all []Manager) []Manager {
	for i, m := range all {
		if m.Component == components.HostSim {
			all[i].Kustomization = "hack/devcluster/manager/hostsim-kubevirt"
			all[i].Args = func(p Place) []string { return append(m.Args(p), "--kubevirt") }
		}
	}
	return append(all, Manager{
		Component:     components.KubeVirtManager,
		Kustomization: "config/kubevirt/default",
		Args:          func(p Place) []string { return append(ownArgs(p), "--webhook-port=0") },
	})
}

// InPlaceUpdatesLabel is, with the value true, what WithInPlaceUpdates asks of namespaces.
const InPlaceUpdatesLabel = "example.com/in-place-updates"

// WithInPlaceUpdates has Cluster API update MachineDeployments in place, in the namespaces that have
// the label and where the provider manager is given ClusterRole capm3-in-place-updates.
func WithInPlaceUpdates(all []Manager) []Manager {
	for i, m := range all {
		switch m.Component {
		case components.ClusterAPI, components.KubeadmControlPlane:
			all[i].Variables = manifests.Variables{"EXP_RUNTIME_SDK": "true", "EXP_IN_PLACE_UPDATES": "true"}
			maps.Copy(all[i].Variables, m.Variables)
		case components.ProviderManager:
			all[i].Kustomization = "hack/devcluster/manager/in-place-updates"
			all[i].Args = func(p Place) []string {
				return append(m.Args(p), fmt.Sprintf("--runtime-extension-port=%d", p.Extension))
			}
		}
	}
	return all
}

// Other is another provider's manager in the place of ours: a command line, and the
// folder of its manifests. It must have the flags that managers of Cluster API have.
func Other(command []string, kustomization string) Manager {
	return Manager{
		Component: OtherProvider, Program: command[0], Kustomization: kustomization,
		Args: func(p Place) []string { return append(withoutElection(p), command[1:]...) },
	}
}

// OtherProvider is the name of the manager of another provider.
const OtherProvider = "other-provider"

// Components lists the programs of the managers, without those that this repository does not build.
func Components(managers []Manager) []string {
	names := make([]string, 0, len(managers))
	for _, m := range managers {
		if m.Program == "" {
			names = append(names, m.Component)
		}
	}
	return names
}

// source returns the folder that Kustomization lies in.
func (m Manager) source(ctx context.Context, repo components.Repo) (string, error) {
	if m.Program != "" {
		return "", nil
	}
	found, err := components.Lookup(m.Component)
	if err != nil {
		return "", err
	}
	return repo.Source(ctx, found[0])
}

// binary returns the path of the program.
func (m Manager) binary(repo components.Repo) (string, error) {
	if m.Program != "" {
		return m.Program, nil
	}
	found, err := components.Lookup(m.Component)
	if err != nil {
		return "", err
	}
	return repo.Binary(found[0])
}

// placeArgs are the flags that every manager on Cluster API's option set takes.
func placeArgs(p Place) []string {
	return []string{
		"--kubeconfig=" + p.Kubeconfig,
		"--health-addr=" + loopback(p.Health),
		fmt.Sprintf("--webhook-port=%d", p.Webhook),
		"--webhook-cert-dir=" + p.CertDir,
		"--diagnostics-address=" + loopback(p.Metrics),
		"--insecure-diagnostics=true",
	}
}

// withoutElection saves the others the seconds that leader election takes.
func withoutElection(p Place) []string {
	return append(placeArgs(p), "--leader-elect=false")
}

// ownArgs keeps the leader election that the Deployment asks for; outside a pod it needs the
// namespace.
func ownArgs(p Place) []string {
	return append(placeArgs(p), "--leader-election-namespace="+p.Namespace)
}

// providerArgs lets identityRefs and kubeconfigs of workload clusters lead to the
// demo's own clusters, which are on loopback.
func providerArgs(p Place) []string {
	return append(ownArgs(p), "--identity-denied-addresses=", "--workload-denied-addresses=")
}

func bareMetalOperatorArgs(p Place) []string {
	return []string{
		"--kubeconfig=" + p.Kubeconfig,
		"--health-addr=" + loopback(p.Health),
		fmt.Sprintf("--webhook-port=%d", p.Webhook),
		"--metrics-addr=0",
		"--enable-leader-election=false",
		"--demo-mode",
	}
}

func loopback(port int) string {
	return fmt.Sprintf("127.0.0.1:%d", port)
}
