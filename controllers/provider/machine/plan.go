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

package machine

import (
	"cmp"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
)

// Plan is what to do now. Nil fields mean leave as is.
type Plan struct {
	// Claim is the claim to apply, exactly.
	Claim *claims.Wanted
	// Reuse is what to do about the claims that are reserved for the machine's group.
	Reuse ReusePlan
	// DataTemplate is the Metal3DataTemplate that a Metal3DataClaim is to ask for data, and DataDomain the failure
	// domain that it was chosen for; empty for the template that the machine names.
	DataTemplate, DataDomain string
	// TakeOver asks for the mark by which the hostclaim manager knows that a claim may take over the host of the machine.
	TakeOver bool
	// WriteName asks for the secret that names the server.
	WriteName bool
	// ProviderID is the value for spec.providerID, empty until known.
	ProviderID string
	// NodePatch is what the Node lacks.
	NodePatch *nodes.Patch
	// NodeName is the name of the Node of the machine, empty while none is found.
	NodeName string
	// Provisioned is the value for status.initialization.provisioned.
	Provisioned bool
	// Rebuilt is the text that the server was rebuilt for; empty means that it runs what it
	// got first, or is being rebuilt.
	Rebuilt string
	// Secrets are the secrets that the server gets, as far as they are known.
	Secrets Secrets
	// Copies are the secrets that must lie next to the claim in another cluster
	// before the claim is applied; empty in the machine's own namespace.
	Copies []claims.Copy
	// Conditions are those that hold, and those that show what the machine waits for, in the order of its life.
	Conditions []metav1.Condition
}

// Secrets are names of secrets in the namespace of the machine; empty means none.
type Secrets struct {
	// UserData, MetaData and NetworkData are what the config drive is made of.
	UserData, MetaData, NetworkData string
	// PullSecret has the credentials for the registry of an OCI image.
	PullSecret string
}

// rule is one step on the way to a Node. It adds to the plan what its step
// needs, and stops the way when the next step would be premature.
type rule func(o Observed, p *Plan) (stop bool)

// Next returns the plan for a machine that is not being deleted. Rules are
// tried in the order of the machine's life.
func Next(o Observed) Plan {
	p := Plan{
		ProviderID:  o.Machine.Spec.ProviderID,
		Provisioned: provisioned(o.Machine),
		NodeName:    o.Machine.Status.NodeName,
		Rebuilt:     o.Machine.Annotations[infrav1.RebuiltAnnotation],
	}
	for _, step := range []rule{
		needsCluster, needsBootstrap, reusesHost, wantsClaim, needsFacts, wantsData, deploysImage, joinsCluster, sharesLabels,
	} {
		if step(o, &p) {
			break
		}
	}
	if p.Claim != nil && !tellsRefused(o, &p) {
		endsRebuild(o, &p)
	}
	if p.Claim != nil && o.Uncopied.Reason != "" {
		awaitsCopies(o, &p)
	}
	return p
}

func (p *Plan) wait(condition, reason, message string) {
	p.Conditions = append(p.Conditions, waiting(condition, reason, message))
}

func (p *Plan) achieve(condition, reason string) {
	p.Conditions = append(p.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason})
}

// waiting is the condition of a machine that waits; the message tells its owner what is missing and what to do.
func waiting(condition, reason, message string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// needsCluster waits for the infrastructure of the Cluster, whatever kind it has.
func needsCluster(o Observed, p *Plan) bool {
	if o.Claim.Phase != claims.Absent || o.established() {
		return false
	}
	if o.InfraMissing {
		p.wait(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForMetal3ClusterReason, fmt.Sprintf(
			"Waiting for the Metal3Cluster of Cluster %q to exist", o.Cluster.Name))
		return true
	}
	if infrastructureProvisioned(o.Cluster) {
		return false
	}
	p.wait(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForClusterInfrastructureReadyReason, fmt.Sprintf(
		"Waiting for the infrastructure of Cluster %q to be provisioned", o.Cluster.Name))
	return true
}

// needsBootstrap waits for the user data, since a server without it is of no use.
func needsBootstrap(o Observed, p *Plan) bool {
	if o.started() {
		return false
	}
	if o.Bootstrap.Reason != "" {
		p.wait(infrav1.AssociateBareMetalHostCondition, o.Bootstrap.Reason, o.Bootstrap.Message)
		return true
	}
	p.Secrets.UserData = o.Bootstrap.Secret
	return false
}

// reusesHost adopts the claim of a machine that was replaced, or waits for one.
func reusesHost(o Observed, p *Plan) bool {
	if o.Claim.Phase != claims.Absent || o.established() || o.TakenOver || o.formerHost() != "" {
		return false
	}
	p.Reuse = nextReserved(o.Group, claims.Desired(*wanted(o)))
	if p.Reuse.Adopt == "" && !p.Reuse.Wait {
		return false
	}
	p.wait(infrav1.AssociateBareMetalHostCondition, infrav1.WaitingForReservedHostReason,
		"Waiting for the host of a machine that is replaced: it is deprovisioned, and kept for this one. "+
			"Set nodeReuse of the Metal3MachineTemplate to false to ask for any host")
	return true
}

// wantsClaim desires the claim and waits until a host is bound to it.
func wantsClaim(o Observed, p *Plan) bool {
	if host := o.formerHost(); host != "" && o.takeOverAsked() {
		return takesOver(o, p, host)
	}
	if reason, message := claimLost(o); reason != "" {
		p.wait(infrav1.AssociateBareMetalHostCondition, reason, message)
		return true
	}
	p.Claim = wanted(o)
	if o.Claim.HasHost() {
		return false
	}
	p.TakeOver = o.Claim.TakeOver != ""
	p.wait(infrav1.AssociateBareMetalHostCondition, infrav1.HostClaimNotBoundReason, whyUnbound(o.Claim))
	asksEarly(o, p)
	return true
}

// asksEarly asks for data while a host is being bound, so that the Metal3Data only waits for the
// facts of the host. It does not where the template depends on the failure domain of the host.
func asksEarly(o Observed, p *Plan) {
	if !o.Claim.Binding || len(o.Data.ByDomain) > 0 || o.Data.Unlisted != "" {
		return
	}
	var ahead Plan
	wantsData(o, &ahead)
	p.DataTemplate, p.DataDomain = ahead.DataTemplate, ahead.DataDomain
}

// whyUnbound returns the claim's own explanation, with a remedy where the claim only counts
// hosts.
func whyUnbound(claim claims.State) string {
	switch {
	case claim.Message == "", claim.Binding:
		return "Waiting for the hostclaim manager to bind a host"
	case claim.Reason == bmov1alpha1.NoBareMetalHostReason:
		return claim.Message + ". The first host that fits will be bound: " +
			"have one freed or added, or ask for others with hostSelector and failureDomain in a new template"
	default:
		return claim.Message
	}
}

// former reports whether the claim in the way was that of an earlier machine of the same name, and whether that is
// being deleted: then its host is wiped, but for a paused one, which does not go before it is unpaused.
func (o Observed) former() (found, wiped, stuck bool) {
	if o.InTheWay == nil || !claims.BelongedTo(o.InTheWay, claims.OwnerOf(o.Machine)) {
		return false, false, false
	}
	goes, paused := ends(o.InTheWay), annotations.HasPaused(o.InTheWay)
	return true, goes && !paused, goes && paused
}

// claimLost returns why no claim must be written; empty if one may be. An equal name transfers no server from an
// earlier machine, which was deleted without its claim: a client that may write the claim does, by the UID.
func claimLost(o Observed) (reason, message string) {
	claim := fmt.Sprintf("HostClaim %q", cmp.Or(o.Claim.Name, claims.NameFor(o.Machine.Name, o.Remote)))
	former, wiped, stuck := o.former()
	deleting := o.Claim.Deleting || wiped
	absent := o.Claim.Phase == claims.Absent
	replace := ""
	if o.established() {
		replace = ". The Machine must be replaced"
	}
	neverHad := ""
	if o.formerHost() != "" {
		neverHad = "If CAPM3 made this machine, write \"true\" to annotation " + infrav1.TakeOverAnnotation + " of the Metal3Cluster. Else: "
	}
	for _, lost := range []struct {
		holds           bool
		reason, message string
	}{
		{o.Claim.Phase == claims.Lost, infrav1.HostLostReason, "The host is gone or no longer names the HostClaim: the Machine must be replaced"},
		{deleting && o.started(), infrav1.HostLostReason, claim + " is being deleted and its host wiped: the Machine must be replaced"},
		{deleting, infrav1.HostClaimNotBoundReason, claim + " is being deleted; a new one will follow"},
		{
			o.TakenOver, infrav1.HostClaimTakenOverReason,
			"The HostClaim of this machine belongs to a copy of it in another management cluster: delete the copy that is not needed; " +
				"if that is the other one, set spec.consumerRef.uid of the HostClaim to the UID of this Metal3Machine first",
		},
		{
			stuck, infrav1.HostClaimNameTakenReason,
			claim + " of an earlier machine of this name is being deleted and is paused: its server was not given back, runs on, " +
				"and cannot be taken over any more. To have it wiped and given back, remove annotation " + clusterv1.PausedAnnotation +
				" from the HostClaim" + replace,
		},
		{
			former, infrav1.HostClaimNameTakenReason,
			claim + " belongs to an earlier machine of this name, and its server was not given back. To go on with that server, " +
				"make this Metal3Machine, by its UID, the controller in metadata.ownerReferences of the HostClaim; " +
				"to have it wiped, delete the HostClaim",
		},
		{
			absent && o.established() && o.Remote != nil, infrav1.HostLostReason,
			"No HostClaim of the other cluster has the origin of this machine. If it was deleted, " +
				"its host was given back, and the Machine must be replaced; if the Metal3Machine was made anew, put the annotations " +
				infrav1.OriginKey + " and " + infrav1.EffectiveIdentityAnnotation + " of the former one back",
		},
		{
			absent && o.established(), infrav1.HostLostReason,
			neverHad + "The HostClaim of this machine was deleted, and with it the host was given back: the Machine must be replaced",
		},
		{o.InTheWay != nil, infrav1.HostClaimNameTakenReason, claim + " belongs to something else: delete it, or give the Machine another name"},
	} {
		if lost.holds {
			return lost.reason, lost.message
		}
	}
	return "", ""
}

// wanted is the claim as it should be at least; deploysImage adds to it. What
// a claim asks its host to run is changed by a rebuild only, once it has been written.
func wanted(o Observed) *claims.Wanted {
	w := &claims.Wanted{
		Name:          cmp.Or(o.Claim.Name, claims.NameFor(o.Machine.Name, o.Remote)),
		Owner:         claims.OwnerOf(o.Machine),
		Remote:        o.Remote,
		ClusterName:   o.Cluster.Name,
		WatchFilter:   o.Machine.Labels[clusterv1.WatchLabel],
		Class:         o.Machine.Spec.HostClass,
		Selector:      o.Machine.Spec.HostSelector,
		FailureDomain: cmp.Or(o.Owner.Spec.FailureDomain, o.Machine.Spec.FailureDomain),
		Deployment:    o.Claim.Deployment,
		PoweredOn:     o.Claim.PoweredOn,
		TakeOver:      o.Claim.TakeOver,

		SoftFailureDomain: o.Machine.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
	if o.Claim.Rebuild == o.rebuildText() {
		w.Rebuild = o.Claim.Rebuild // else the tenant has asked by the claim itself
	}
	return w
}

// needsFacts waits until the facts of the host are known, from which templates
// and addresses are made.
func needsFacts(o Observed, p *Plan) bool {
	if o.Facts || o.started() {
		p.achieve(infrav1.AssociateBareMetalHostCondition, infrav1.AssociateBareMetalHostSuccessReason)
		return false
	}
	p.wait(infrav1.AssociateBareMetalHostCondition, cmp.Or(o.Claim.FactsReason, infrav1.HardwareDataMissingReason),
		cmp.Or(o.Claim.FactsMessage, "Waiting for the hardware facts of the bound host to be published"))
	return true
}

// Observed is everything that the plan depends on.
type Observed struct {
	// Machine is the Metal3Machine.
	Machine *infrav1.Metal3Machine
	// Owner, Cluster and Infra are what stands above it. Nil means that Cluster API has set no owner yet, or that
	// the object is gone; for Infra also that the Cluster has infrastructure of another kind.
	Owner   *clusterv1.Machine
	Cluster *clusterv1.Cluster
	Infra   *infrav1.Metal3Cluster
	// InfraMissing reports whether the Cluster names a Metal3Cluster that does not exist.
	// Without that object it is not known which cluster holds the machine's hosts.
	InfraMissing bool
	// Bootstrap is the secret with the user data.
	Bootstrap BootstrapFacts
	// Claim is the HostClaim of the machine.
	Claim claims.State
	// Remote is the place of the claim in another cluster, also before the claim is made; nil
	// means the machine's own namespace.
	Remote *claims.Remote
	// InTheWay is a foreign claim that has the name which the claim of the machine would get; nil if there is
	// none, or if the machine has a claim.
	InTheWay *bmov1alpha1.HostClaim
	// TakenOver reports whether a copy of the machine has taken over its claim in another
	// cluster.
	TakenOver bool
	// Facts reports whether the hardware facts of the bound host have been published.
	Facts bool
	// Host is what is published of the bound host; the zero value without Facts.
	Host hardware.Host
	// Data is the metadata and network data of the machine.
	Data DataFacts
	// Group is what the machine shares with others of its control plane or MachineDeployment.
	Group Group
	// Left is the claim that the machine, which is being deleted, has reserved and that has
	// its host still; nil if there is none.
	Left *bmov1alpha1.HostClaim
	// Unhealthy reports whether the machine is replaced after a failed health check.
	Unhealthy bool
	// Name is the secret that names the server; the zero value unless needsName.
	Name NameFacts
	// Uncopied is the condition that shows why secrets are not yet copied next to a claim in another cluster;
	// without a reason if all are.
	Uncopied metav1.Condition
	// Node is the Node of the machine.
	Node nodes.Result
}

// BootstrapFacts are the facts about the secret with the user data.
type BootstrapFacts struct {
	// Secret is the name of the secret; empty while the Machine names none.
	Secret string
	// Reason and Message are why no server can be given the user data now; empty when one can, or has it.
	Reason, Message string
}

// DataFacts are the facts about the data that the machine gets from a template.
type DataFacts struct {
	// ClaimExists reports whether the Metal3DataClaim of the machine exists.
	ClaimExists bool
	// ClaimHeld reports whether the claim carries our finalizer, or is not deleted yet.
	ClaimHeld bool
	// Template is the name of the Metal3DataTemplate that the claim asks for.
	Template string
	// NameTaken reports whether a Metal3DataClaim of that name belongs to another owner.
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
	// Ready reports whether its secrets exist.
	Ready bool
	// MetaData and NetworkData are the names of the secrets; empty where the
	// template has nothing to render.
	MetaData, NetworkData string
	// Reason and Message are the data's own explanation why it is not ready;
	// empty when it has given none.
	Reason, Message string
}

// started reports whether the server runs, or is being provisioned with, what the machine asked
// for. What was needed for that is not asked for again.
func (o Observed) started() bool {
	return o.Claim.Deployment != nil || o.established()
}

// established reports whether the machine is tied to its server, which no other one can replace
// from then on.
func (o Observed) established() bool {
	return provisioned(o.Machine) || o.Machine.Spec.ProviderID != ""
}
