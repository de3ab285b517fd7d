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
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// ociScheme begins the URL of an image in a registry, which alone can need credentials.
const ociScheme = "oci://"

// wantsData asks for metadata and network data and waits for their secrets. A
// secret that the spec names is used instead of a rendered one.
func wantsData(o Observed, p *Plan) bool {
	spec := o.Machine.Spec
	if d := o.Claim.Deployment; d != nil {
		p.Secrets = ownSecrets(o, *d)
		if o.rebuild() != notRebuilding {
			p.Secrets = rebuiltSecrets(o, p.Secrets)
		}
		p.achieve(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataSuccessReason)
		p.achieve(infrav1.Metal3DataReadyCondition, whoseSecrets(spec, p.Secrets))
		return false
	}
	if foreign := foreignSecret(o.Machine.Namespace, spec.MetaData, spec.NetworkData); foreign != "" {
		p.wait(infrav1.Metal3DataReadyCondition, infrav1.InvalidConfigurationReason, foreign)
		return true
	}
	if waits := wantsTemplate(o, p); waits {
		return true
	}
	p.Secrets.MetaData = firstName(spec.MetaData, o.Data.MetaData)
	p.Secrets.NetworkData = firstName(spec.NetworkData, o.Data.NetworkData)
	if p.Secrets.PullSecret = o.pullSecret(); p.Secrets.PullSecret == "" && o.needsPullSecret() {
		p.wait(infrav1.Metal3DataReadyCondition, infrav1.InvalidConfigurationReason, fmt.Sprintf(
			"Annotation %s is %.80q, which is no name of a Secret: correct it", infrav1.PullSecretAnnotation, o.Machine.Annotations[infrav1.PullSecretAnnotation]))
		return true
	}
	if waits := namesServer(o, p); waits {
		return true
	}
	p.achieve(infrav1.Metal3DataReadyCondition, whoseSecrets(spec, p.Secrets))
	return false
}

// needsPullSecret reports whether the image is in a registry and its user names credentials.
func (o Observed) needsPullSecret() bool {
	image := o.Machine.Spec.Image
	return o.Machine.Annotations[infrav1.PullSecretAnnotation] != "" && image != nil &&
		strings.HasPrefix(strings.ToLower(image.URL), ociScheme)
}

// pullSecret returns the name of the pull secret; empty if none is needed, or if the name is
// invalid.
func (o Observed) pullSecret() string {
	name := o.Machine.Annotations[infrav1.PullSecretAnnotation]
	if !o.needsPullSecret() || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return name
}

// ownSecrets returns the machine's own secrets behind those that the claim names. A claim in
// another cluster names copies, whose sources are those of the spec.
func ownSecrets(o Observed, d claims.Deployment) Secrets {
	if o.Remote == nil {
		return Secrets{
			UserData: d.UserData, MetaData: d.MetaData, NetworkData: d.NetworkData, PullSecret: claims.PullSecretOf(d.Image),
		}
	}
	rendered := o.Data.MetaData
	if !usesTemplate(o.Machine.Spec) {
		rendered = metadata.SecretName(o.Machine.Name)
	}
	source := func(copied, name string) string {
		if copied == "" {
			return ""
		}
		return name
	}
	return Secrets{
		UserData:    source(d.UserData, o.Bootstrap.Secret),
		MetaData:    source(d.MetaData, firstName(o.Machine.Spec.MetaData, rendered)),
		NetworkData: source(d.NetworkData, firstName(o.Machine.Spec.NetworkData, o.Data.NetworkData)),
		PullSecret:  source(claims.PullSecretOf(d.Image), o.pullSecret()),
	}
}

// whoseSecrets returns the reason of Metal3DataReady: whether this provider renders any of the
// secrets, or all are set externally.
func whoseSecrets(spec infrav1.Metal3MachineSpec, secrets Secrets) string {
	if usesTemplate(spec) || secrets.MetaData != firstName(spec.MetaData, "") {
		return infrav1.Metal3DataSecretsReadyReason
	}
	return infrav1.SecretsSetExternallyReason
}

// wantsTemplate asks for the Metal3DataClaim, if the machine has a template.
func wantsTemplate(o Observed, p *Plan) bool {
	if !usesTemplate(o.Machine.Spec) {
		p.achieve(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataSuccessReason)
		return false
	}
	ref, domain := dataTemplate(o)
	foreign := foreignTemplate(o.Machine.Namespace, ref, domain)
	switch {
	case foreign != "":
		p.wait(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.InvalidConfigurationReason, foreign)
		return true
	case o.Data.NameTaken:
		p.wait(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataFailedReason, fmt.Sprintf(
			"Metal3DataClaim %q belongs to something else: delete it, or give the Machine another name", o.Machine.Name))
		return true
	case o.Data.Template == "" && o.Data.Unlisted != "" && hostDomain(o) != "":
		p.wait(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.InvalidConfigurationReason, fmt.Sprintf(
			"Metal3MachineTemplate %q of the machine does not exist, which may list a data template for failure domain %q: "+
				"make it again, or have the Machine replaced", o.Data.Unlisted, hostDomain(o)))
		return true
	}
	p.DataTemplate, p.DataDomain = ref.Name, domain
	if o.Data.ClaimExists {
		p.achieve(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.AssociateMetal3MachineMetaDataSuccessReason)
	}
	if o.Data.Ready {
		return false
	}
	p.wait(infrav1.Metal3DataReadyCondition, cmp.Or(o.Data.Reason, infrav1.WaitingForMetal3DataReason),
		cmp.Or(o.Data.Message, fmt.Sprintf("Waiting for the data of Metal3DataTemplate %q to be rendered", ref.Name)))
	return true
}

// deployment is what the machine wants to run, with these secrets.
func (o Observed) deployment(named Secrets) *claims.Deployment {
	return &claims.Deployment{
		Image:        claims.ImageOf(o.Machine.Spec.Image, named.PullSecret),
		CustomDeploy: (*bmov1alpha1.CustomDeploy)(o.Machine.Spec.CustomDeploy),
		UserData:     named.UserData,
		MetaData:     named.MetaData,
		NetworkData:  named.NetworkData,
	}
}

// deploysImage puts image, secrets and power on the claim in one write, and
// waits until the host runs them.
func deploysImage(o Observed, p *Plan) bool {
	named := p.Secrets
	if o.Remote != nil {
		copies := claims.Copies(named.UserData, named.MetaData, named.NetworkData, named.PullSecret)
		p.Copies = copies[:]
		base := claims.CopyBase(p.Claim.Name, o.Machine.Name, o.Remote.Origin)
		named = Secrets{copies[0].Name(base), copies[1].Name(base), copies[2].Name(base), copies[3].Name(base)}
		p.Claim.Deployment = namingCopies(p.Claim.Deployment, named)
	}
	if o.rebuild() != notRebuilding {
		return rebuildsServer(o, p, named)
	}
	if !o.started() {
		if refusesRebuild(o).Reason != infrav1.InvalidRebuildAnnotationReason {
			p.Claim.Rebuild = o.rebuildText() // no rebuild with the first image
		}
		p.Claim.Deployment = o.deployment(named)
		p.Claim.PoweredOn = true
	}
	switch {
	case o.Claim.Phase == claims.Provisioned && !o.Claim.PoweredOn:
		p.wait(infrav1.HostClaimReadyCondition, infrav1.PoweredOffReason, fmt.Sprintf(
			"The server was switched off by spec.poweredOn of HostClaim %q: set it to true to have the server run", o.Claim.Name))
		return false
	case o.Claim.Phase == claims.Provisioned:
		p.Conditions = append(p.Conditions, metav1.Condition{
			Type: infrav1.HostClaimReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.ProvisionedReason,
			Message: cleaningNote(o.Machine.Spec.AutomatedCleaningMode),
		})
		return false
	}
	reason, message := infrav1.ProvisioningReason, text.Provisioning
	if o.Claim.Phase == claims.Failed {
		reason = o.Claim.Reason
	}
	if o.Claim.Deployment != nil {
		message = cmp.Or(o.Claim.Message, message)
	}
	p.wait(infrav1.HostClaimReadyCondition, reason, message)
	// A machine that has been provisioned once still maintains its Node.
	return !o.established()
}

// cleaningNote is the message about a cleaning mode that has less effect than it seems; empty for another one.
func cleaningNote(mode infrav1.CleaningMode) string {
	if mode != infrav1.CleaningModeDisabled {
		return ""
	}
	return "spec.automatedCleaningMode disabled counts only while the host is kept for the next machine, by nodeReuse and where policy " +
		"permits it: a host that is given back is cleaned, since its next tenant may be another"
}

// awaitsCopies leaves what the claim asks its host to run as it is: the claim does not name copies of secrets
// before all of them are there.
func awaitsCopies(o Observed, p *Plan) {
	p.Claim.Deployment, p.Claim.PoweredOn = nil, false
	if o.Claim.Deployment != nil {
		p.Claim.Deployment, p.Claim.PoweredOn, p.Claim.Rebuild = o.Claim.Deployment, o.Claim.PoweredOn, o.Claim.Rebuild
	}
	p.Conditions = append(p.Conditions, o.Uncopied)
}

// namingCopies returns what a claim asks for, with the names of copies in place of secrets. A
// claim that was made in the namespace of its machine names the machine's own secrets, which
// move away with the machine. The name of a secret without a known copy stays.
func namingCopies(asked *claims.Deployment, copies Secrets) *claims.Deployment {
	if asked == nil {
		return nil
	}
	out := *asked
	for _, r := range []struct {
		name *string
		copy string
	}{{&out.UserData, copies.UserData}, {&out.MetaData, copies.MetaData}, {&out.NetworkData, copies.NetworkData}} {
		if *r.name != "" && r.copy != "" {
			*r.name = r.copy
		}
	}
	if claims.PullSecretOf(out.Image) != "" && copies.PullSecret != "" {
		out.Image = claims.WithPullSecret(out.Image, copies.PullSecret)
	}
	return &out
}

// joinsCluster names machine and Node. The machine counts as provisioned before
// its Node is known: it is Cluster API that waits for the Node.
func joinsCluster(o Observed, p *Plan) bool {
	p.ProviderID = o.providerID()
	p.Provisioned = p.Provisioned || o.Claim.Phase == claims.Provisioned
	p.NodePatch = nodePatch(o, p.ProviderID)
	if o.Node.Kind != nodes.Unknown { // else the Node was not looked for
		p.NodeName = ""
	}
	switch o.Node.Kind {
	case nodes.Unknown:
		p.wait(infrav1.KubernetesNodeReadyCondition, infrav1.WorkloadClusterUnreachableReason,
			"Waiting for a connection to the workload cluster")
	case nodes.None:
		p.wait(infrav1.KubernetesNodeReadyCondition, infrav1.WaitingForNodeReason,
			"Waiting for a Node with this provider ID, or with the label "+infrav1.NodeUUIDLabel+" that names the host")
	case nodes.Ambiguous:
		p.wait(infrav1.KubernetesNodeReadyCondition, infrav1.NodeAmbiguousReason,
			"Several Nodes claim to run on this host: delete those that do not")
	case nodes.Taken:
		p.wait(infrav1.KubernetesNodeReadyCondition, infrav1.NodeTakenReason, fmt.Sprintf(
			"Node %q runs on this host and carries another provider ID: delete the Node so that it registers anew", o.Node.Node.Name))
	case nodes.ByProviderID, nodes.ByHostUID, nodes.ByHostname:
		p.NodeName = nodeName(o.Node.Node.Name)
		p.achieve(infrav1.KubernetesNodeReadyCondition, infrav1.NodeFoundReason)
	}
	return false
}

// providerID is that of the machine, or the one that it gets.
func (o Observed) providerID() string {
	id := nodes.ProviderID{Namespace: o.Machine.Namespace, Host: o.Claim.HostName, Machine: o.Machine.Name}
	return cmp.Or(o.Machine.Spec.ProviderID, id.String())
}

// nodeName is empty for a name that no API server gives a Node: a tenant's cluster may
// answer with anything, and a name that the status does not take would freeze all of it.
func nodeName(name string) string {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return name
}

// nodePatch is nil when the Node lacks nothing. A cloud provider identifies Nodes itself.
func nodePatch(o Observed, providerID string) *nodes.Patch {
	if !o.Node.Found() {
		return nil
	}
	patch := nodes.Patch{Node: o.Node.Node.Name}
	cloudProvider := o.Infra != nil && ptr.Deref(o.Infra.Spec.CloudProviderEnabled, false)
	if o.Node.Node.ProviderID == "" && !cloudProvider {
		patch.ProviderID = providerID
	}
	if o.Node.Node.HostUID == "" && !cloudProvider {
		patch.HostUID = o.Host.UID
	}
	if prefixes, err := o.labelPrefixes(); o.Facts && err == nil {
		patch.Labels = nodes.LabelChanges(prefixes, o.Host.Labels, o.Node.Node.Labels)
	}
	if patch.ProviderID == "" && patch.HostUID == "" && patch.Labels == nil {
		return nil
	}
	return &patch
}

// labelPrefixes are the prefixes of the labels that the Node takes over from its server, as the owner of the
// Cluster has listed them; none means that its labels are left alone.
func (o Observed) labelPrefixes() ([]string, error) {
	if o.Infra == nil {
		return nil, nil
	}
	return nodes.LabelPrefixes(o.Infra.Annotations[infrav1.LabelSyncPrefixesAnnotation])
}

// sharesLabels reports in NodeLabelsSynchronized whether the Node gets the labels of the
// prefixes that the owner of the Cluster has listed.
func sharesLabels(o Observed, p *Plan) bool {
	const condition = infrav1.NodeLabelsSynchronizedCondition
	prefixes, err := o.labelPrefixes()
	switch missing := nodes.UnpublishedPrefixes(prefixes, o.Host.Labels); {
	case err != nil:
		p.wait(condition, infrav1.InvalidConfigurationReason, fmt.Sprintf(
			"Correct the annotation %s of the Metal3Cluster: %s", infrav1.LabelSyncPrefixesAnnotation, err))
	case len(prefixes) == 0 || !o.Facts || !o.Node.Found():
	case len(missing) > 0:
		p.wait(condition, infrav1.LabelsNotPublishedReason, fmt.Sprintf(
			"The server shows no label under %s: its owner labels it, or lets the label be seen by the option %s of a HostDeployPolicy",
			strings.Join(missing, ", "), infrav1.PublishLabelsAnnotation))
	default:
		p.achieve(condition, infrav1.NodeLabelsSynchronizedReason)
	}
	return false
}

func usesTemplate(spec infrav1.Metal3MachineSpec) bool {
	return spec.DataTemplate != nil && spec.DataTemplate.Name != ""
}

func firstName(ref *corev1.SecretReference, rendered string) string {
	if ref != nil && ref.Name != "" {
		return ref.Name
	}
	return rendered
}

// foreignSecret returns a message about a reference into another namespace; empty if there is
// none.
func foreignSecret(namespace string, refs ...*corev1.SecretReference) string {
	for _, ref := range refs {
		if ref != nil && ref.Namespace != "" && ref.Namespace != namespace {
			return fmt.Sprintf("Secret %q is referenced in namespace %q: only secrets of namespace %q can be used",
				ref.Name, ref.Namespace, namespace)
		}
	}
	return ""
}

// dataTemplate is the Metal3DataTemplate of a machine that uses one, and the failure domain that it
// was chosen for; empty for the template that the machine names. A claim that exists keeps its
// template, since its index is one of that template. Before, the failure domain of the host decides.
func dataTemplate(o Observed) (ref infrav1.Metal3ObjectRef, domain string) {
	if o.Data.Template != "" {
		return infrav1.Metal3ObjectRef{Name: o.Data.Template}, o.Data.ChosenFor
	}
	domain = hostDomain(o)
	for _, entry := range o.Data.ByDomain {
		if domain != "" && entry.FailureDomain == domain {
			return entry.DataTemplate, domain
		}
	}
	return *o.Machine.Spec.DataTemplate, ""
}

// hostDomain returns the failure domain of the host; empty when it is not known. Its network depends on
// where it is, not on the domain that was preferred. Without a published failure domain, a required one is
// that of the host.
func hostDomain(o Observed) string {
	if wanted := wanted(o); o.Host.FailureDomain == "" && !wanted.SoftFailureDomain {
		return wanted.FailureDomain
	}
	return o.Host.FailureDomain
}

// foreignTemplate returns a message about a template of another namespace; empty if it is of
// this one.
func foreignTemplate(namespace string, ref infrav1.Metal3ObjectRef, domain string) string {
	if ref.Namespace == "" || ref.Namespace == namespace {
		return ""
	}
	field := "spec.dataTemplate.namespace"
	if domain != "" {
		field = fmt.Sprintf("dataTemplate.namespace for failure domain %q in failureDomainDataTemplates of the Metal3MachineTemplate", domain)
	}
	return fmt.Sprintf("%s is %q: only templates of namespace %q can be used", field, ref.Namespace, namespace)
}

// NameFacts are the facts about the secret with the metadata that gives a server
// the name of its machine, for machines that get no other metadata.
type NameFacts struct {
	// Exists reports whether the secret exists with metadata in it. False unless needsName.
	Exists bool
	// Reason and Message are why it can neither be used nor written; empty when it can.
	Reason, Message string
}

// needsName reports whether a secret of our own has to give the server the name of its machine.
// Names of hosts are unique in one namespace only: two servers of one name from two of them
// would join their cluster as one Node. Metadata of a template names the server itself, and
// metadata that the machine brings is taken as it is.
func needsName(o Observed) bool {
	spec := o.Machine.Spec
	return o.Facts && nameFacts(o).ForeignHost() && o.Claim.Deployment == nil && firstName(spec.MetaData, o.Data.MetaData) == "" &&
		(!usesTemplate(spec) || o.Data.Ready)
}

// nameFacts are what metadata without a template is made of.
func nameFacts(o Observed) metadata.Facts {
	data := &infrav1.Metal3Data{ObjectMeta: metav1.ObjectMeta{Namespace: o.Machine.Namespace}}
	return metadata.NewFacts(data, o.Owner, o.Machine, o.Host)
}

// namesServer asks for the secret and waits for it.
func namesServer(o Observed, p *Plan) (waits bool) {
	const condition = infrav1.Metal3DataReadyCondition
	secret := metadata.SecretName(o.Machine.Name)
	switch {
	case !needsName(o):
		return false
	case o.Name.Exists:
		p.Secrets.MetaData = secret
		return false
	case o.Name.Reason != "":
		p.wait(condition, o.Name.Reason, o.Name.Message)
	default:
		p.WriteName = true
		p.wait(condition, infrav1.WaitingForMetal3DataReason, fmt.Sprintf(
			"Waiting for secret %q to be written, which gives the server the name of its machine", secret))
	}
	return true
}
