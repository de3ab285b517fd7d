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

package machines

import (
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/reuse"
)

// Observed is everything the answer may depend on.
type Observed struct {
	// Machine is the Metal3Machine and what stands above it.
	Machine MachineFacts
	// Claim is the HostClaim of the machine.
	Claim claims.State
	// Remote says where the claim lives, or will live, if that is another
	// cluster; nil means the machine's own namespace.
	Remote *claims.Remote
	// NameTaken says that the machine has no claim, and that a claim of something
	// else has the name that it would get.
	NameTaken bool
	// Former is that claim if it was an earlier machine's of the same name; nil for another one.
	Former *claims.Former
	// TakenOver says that the machine had a claim in another cluster, which a
	// copy of the machine has now.
	TakenOver bool
	// Facts says that the hardware facts of the bound host have been published.
	Facts bool
	// HostUID is the UID of the bound host; empty without Facts.
	HostUID string
	// HostDomain is the failure domain of the bound host; empty when nothing is published about it.
	HostDomain string
	// HostLabels are the labels of the bound host that are published.
	HostLabels map[string]string
	// ForeignHost says that the bound host is registered in another namespace or
	// another cluster than the machine. False without Facts.
	ForeignHost bool
	// Data is the metadata and network data of the machine.
	Data DataFacts
	// Group is what the machine shares with others of its control plane or MachineDeployment.
	Group reuse.Group
	// Left is the claim that the machine, which is being deleted, has reserved and that has
	// its host still; nil if there is none.
	Left *claims.Reservation
	// Unhealthy says that the machine is replaced since something is wrong with it.
	Unhealthy bool
	// Name is the secret that names the server, where NeedsName says so.
	Name NameFacts
	// Node is the Node of the machine.
	Node nodes.Result
}

// MachineFacts are the facts about the machine that do not change while its
// server is being provisioned, and how far it had come before.
type MachineFacts struct {
	// Owner identifies the Metal3Machine.
	Owner claims.Owner
	// ClusterName is the name of its Cluster.
	ClusterName string
	// Spec is the spec of the Metal3Machine.
	Spec infrav1.Metal3MachineSpec
	// FailureDomain that Cluster API has chosen; empty means none.
	FailureDomain string
	// SoftFailureDomain says that it is a preference only.
	SoftFailureDomain bool
	// PullSecret is the name of the Secret for the registry of an OCI image, as its user gives
	// it; empty means none.
	PullSecret string
	// InfraMissing says that the Cluster names a Metal3Cluster that does not
	// exist. Only that says which cluster holds the machine's hosts.
	InfraMissing bool
	// ClusterReady says that the infrastructure of the Cluster is provisioned.
	ClusterReady bool
	// Bootstrap is the secret with the user data.
	Bootstrap BootstrapFacts
	// CloudProvider says that a cloud provider sets the provider IDs of Nodes.
	CloudProvider bool
	// LabelPrefixes are the prefixes of the labels that the Node takes over from its
	// server; none means that its labels are left alone.
	LabelPrefixes []string
	// LabelPrefixesInvalid tells why the list of prefixes cannot be used; empty when it can.
	LabelPrefixesInvalid string
	// Provisioned says that the machine has been reported provisioned before.
	Provisioned bool
	// NodeName is the Node that has been reported before; empty means none.
	NodeName string
	// Rebuild is the text that asks for the server to be written anew, and Rebuilt the one
	// that it was written anew for, or refused, last; empty means none.
	Rebuild, Rebuilt string
	// OwnerRebuild is the same text on the Machine; empty means none.
	OwnerRebuild string
	// ControlPlane says that the machine is one of a control plane.
	ControlPlane bool
}

// BootstrapFacts are the facts about the secret with the user data.
type BootstrapFacts struct {
	// Secret is the name of the secret; empty while neither the machine nor its Machine names it.
	Secret string
	// Found says that the secret exists.
	Found bool
	// Forbidden tells which right is missing to find out; empty when none is.
	Forbidden string
	// Invalid tells why the reference cannot be followed; empty when it can.
	Invalid string
}

// DataFacts are the facts about the data that the machine gets from a template.
type DataFacts struct {
	// ClaimExists says that the Metal3DataClaim of the machine exists.
	ClaimExists bool
	// ClaimHeld says that the claim carries our finalizer, or is not deleted yet.
	ClaimHeld bool
	// Template is the name of the Metal3DataTemplate that the claim asks for.
	Template string
	// NameTaken says that a Metal3DataClaim of that name belongs to something else.
	NameTaken bool
	// ByDomain are the templates for certain failure domains, as the Metal3MachineTemplate lists
	// them. They are not read once the claim exists.
	ByDomain []infrav1.FailureDomainDataTemplate
	// Unlisted is the name of the Metal3MachineTemplate if that does not exist, so that ByDomain
	// is not known; else empty.
	Unlisted string
	// ChosenFor is the failure domain whose template the claim asks for; empty where that is the
	// template which the machine names.
	ChosenFor string
	// Name is the name of the Metal3Data; empty until the claim is answered.
	Name string
	// Ready says that its secrets are there.
	Ready bool
	// MetaData and NetworkData are the names of the secrets; empty where the
	// template has nothing to render.
	MetaData, NetworkData string
	// Reason and Message are the data's own explanation why it is not ready;
	// empty when it has given none.
	Reason, Message string
}

// started says that the server runs, or is being made to run, what the machine
// asked for, so that nothing which was needed for that is asked for again.
func (o Observed) started() bool {
	return o.Claim.Deployment != nil || o.established()
}

// established says that the machine has become a particular server. From then
// on it is that server or none.
func (o Observed) established() bool {
	return o.Machine.Provisioned || o.Machine.Spec.ProviderID != ""
}
