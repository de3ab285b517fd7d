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

package v1beta2

// This file is the one table of the labels, annotations, finalizers and field
// owners that the two managers write or read. docs/reference/keys.md is generated
// from its comments.

// Keys of hosts, claims and copied secrets.
const (
	// HostClaimFinalizer is on a HostClaim from before its bind until its host is clean and free
	// again. The hostclaim manager writes and removes it.
	HostClaimFinalizer = "hostclaim.metal3.io/finalizer"

	// ClassLabel is on a HostClaim: the name of its HostClaimClass, which names the controller that answers the claim. It
	// cannot be changed once one does. Without it the hostclaim manager puts the default class there if there is one,
	// and answers the claim otherwise.
	ClassLabel = "hostclaim.metal3.io/class"

	// ClassArgumentsAnnotation is on a HostClaim: what the controller of its class is to know of this claim, as a JSON
	// object of strings, of up to 8192 characters. It cannot be changed once a controller answers the claim.
	ClassArgumentsAnnotation = "hostclaim.metal3.io/class-arguments"

	// DefaultClassAnnotation is on a HostClaimClass: "true" has claims without a class get this one, in the namespaces
	// that it is for. Of several, the newest counts. The infrastructure team writes it.
	DefaultClassAnnotation = "hostclaim.metal3.io/is-default-class"

	// FenceAnnotation is on a BareMetalHost. The hostclaim manager writes it before it drops an intent
	// to bind that host, so that a writer that slept on the old intent loses a resourceVersion
	// conflict, and takes it off at once. Its value is the UID and the resourceVersion of the claim.
	FenceAnnotation = "hostclaim.metal3.io/fence"

	// BoundHostUIDAnnotation is on a bound BareMetalHost: the UID that the host had when it was bound.
	// A host with another UID was moved or restored, and goes to the claim of the same name in its
	// namespace.
	BoundHostUIDAnnotation = "hostclaim.metal3.io/bound-host-uid"

	// BoundClaimUIDAnnotation is on a HostClaim from its bind on: its own UID. A claim with another
	// UID was moved or restored, and gets no host but its own. The hostclaim manager writes it; a
	// tenant removes it from a claim that may have any host.
	BoundClaimUIDAnnotation = "hostclaim.metal3.io/bound-claim-uid"

	// IntendedHostAnnotation is on a HostClaim that has a host, or is about to get one: the UID of the
	// claim, then namespace, name, UID and resourceVersion of the host, with slashes between them. The
	// hostclaim manager writes it before the bind, and fences that host where the status of the claim
	// does not name it. One that begins with another UID does not count.
	IntendedHostAnnotation = "hostclaim.metal3.io/intended-host"

	// FormerCleaningModeAnnotation is on a bound BareMetalHost: the spec.automatedCleaningMode of the
	// administrator. The hostclaim manager writes it at the bind and restores the mode at the release.
	FormerCleaningModeAnnotation = "hostclaim.metal3.io/former-cleaning-mode"

	// ReleaseAnnotation is on a BareMetalHost whose HostClaim is gone. An administrator writes it,
	// with any value, to have the host released before its time, or although another claim has the
	// name. The release removes it.
	ReleaseAnnotation = "hostclaim.metal3.io/release"

	// OrphanedSinceAnnotation is on a BareMetalHost whose HostClaim is gone: when the hostclaim
	// manager first saw that, as RFC 3339. It goes with the release, or when the claim turns up again.
	OrphanedSinceAnnotation = "hostclaim.metal3.io/orphaned-since"

	// SoftFailureDomainAnnotation is on a HostClaim. With the value "true", failureDomain is a
	// preference instead of a condition. A tenant writes it on a Metal3Machine, by its template, for
	// the claim.
	SoftFailureDomainAnnotation = "hostclaim.metal3.io/soft-failure-domain"

	// PullSecretAnnotation is on a Metal3Machine: the name of a Secret of its namespace, of type
	// kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg, with the credentials for the registry
	// of an oci:// image. A tenant writes it, by the template. It counts when the machine is
	// provisioned.
	PullSecretAnnotation = "hostclaim.metal3.io/image-pull-secret"

	// RebootRequestAnnotation is on a HostClaim: the one-shot reboot that is on its way to the host,
	// as JSON. The hostclaim manager writes it when it takes over reboot.metal3.io, and removes it
	// when the host has it.
	RebootRequestAnnotation = "hostclaim.metal3.io/reboot-request"

	// LastRebootAnnotation is on a bound BareMetalHost: the ID of the last one-shot reboot that the
	// host was given.
	LastRebootAnnotation = "hostclaim.metal3.io/last-reboot"

	// PowerChangesAnnotation is on a bound BareMetalHost: when the hostclaim manager switched or
	// rebooted it lately, as RFC 3339 times with commas between them. It does so at most ten times
	// within ten minutes.
	PowerChangesAnnotation = "hostclaim.metal3.io/power-changes"

	// HeldRebootPrefix begins the reboot annotations of a bound BareMetalHost that mirror those of its
	// HostClaim, reboot.metal3.io/<id>. The hostclaim manager leaves all others alone.
	HeldRebootPrefix = "reboot.metal3.io/hostclaim."

	// RebuildAnnotation is on a HostClaim or Metal3Machine: a tenant writes any new text to have the
	// server provisioned anew. On a bound BareMetalHost it is the text that was acted on last, on a
	// KubeadmConfig the update in place that its data was withdrawn for last.
	RebuildAnnotation = "hostclaim.metal3.io/rebuild"

	// MaxRebuildLength is how many characters the text of RebuildAnnotation may have, since it
	// is repeated on the host. A longer one asks for nothing.
	MaxRebuildLength = 63

	// RebuiltAnnotation is on a Metal3Machine: the text of RebuildAnnotation that its server was
	// provisioned for last, or that was refused since it came from a template.
	RebuiltAnnotation = "hostclaim.metal3.io/rebuilt"

	// UpdatePause is the value of the annotation cluster.x-k8s.io/paused on a KubeadmConfig that makes
	// no bootstrap data until the server of its Machine is empty.
	UpdatePause = "hostclaim.metal3.io/update-in-place"

	// HeldConfigAnnotation is on a Metal3Machine: the KubeadmConfig that an update in place has paused. The
	// provider manager ends that pause and removes the annotation, once the server is empty or Cluster API has
	// called the update off.
	HeldConfigAnnotation = "hostclaim.metal3.io/held-kubeadm-config"

	// ReservedUntilAnnotation is on a reserved HostClaim: the time, as RFC 3339, at which the
	// hostclaim manager deletes the claim. The writer of the reservation sets it, else the hostclaim
	// manager.
	ReservedUntilAnnotation = "hostclaim.metal3.io/reserved-until"

	// ReservedByAnnotation is on a HostClaim that the provider manager reserved: name and UID of the
	// Metal3Machine that left it, which waits until the host is at rest.
	ReservedByAnnotation = "hostclaim.metal3.io/reserved-by"

	// SkipCleaningAnnotation is on a HostClaim from its reservation until its host has the next image.
	// With the value "true" the server is not cleaned in between, where policy permits that.
	// Metal3Machines write it by their automatedCleaningMode.
	SkipCleaningAnnotation = "hostclaim.metal3.io/skip-cleaning"

	// ParkedAnnotation is on the BareMetalHost of a reserved claim that skips cleaning: the UID of the
	// claim. The host is off and keeps its data until the claim is adopted.
	ParkedAnnotation = "hostclaim.metal3.io/parked"

	// FastTrackAnnotation is on a BareMetalHost. An administrator writes "true" to let a host that
	// runs stay on when it is released, in the pool, and until the next claim asks for something.
	FastTrackAnnotation = "hostclaim.metal3.io/fast-track"

	// UncleanedAnnotation is on a BareMetalHost that was deprovisioned without cleaning, until it has
	// a new image: the UID of the claim. Such a host is not released. An administrator who has cleaned
	// it removes the annotation.
	UncleanedAnnotation = "hostclaim.metal3.io/uncleaned"

	// ClaimUIDLabel is on a bound BareMetalHost and on the HardwareData that a controller of claims
	// publishes: the UID of the HostClaim. On a host, spec.consumerRef decides, and the label makes a live
	// list of a claim's host cheap. Of HardwareData in another cluster, only that with it is read.
	ClaimUIDLabel = "hostclaim.metal3.io/claim-uid"

	// ClusterctlLabel is on the CustomResourceDefinitions of HostClaim, BareMetalHost and
	// HardwareData. clusterctl finds by it the objects that it moves.
	ClusterctlLabel = "clusterctl.cluster.x-k8s.io"

	// BlockMoveAnnotation is on a HostClaim and its BareMetalHost from the bind on, with the value
	// HostClaimManagerFieldOwner, and on the Metal3Machine of such a claim, with the value
	// MachineFieldOwner. clusterctl moves an object only when it is gone. Each manager removes what it
	// wrote while the claim is paused and its host is ready to move.
	BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

	// MoveHierarchyLabel is on a bound BareMetalHost whose claim is in the same namespace and belongs
	// to a Cluster, from the bind to the release, with the value HostClaimManagerFieldOwner.
	// clusterctl moves the host by it, with its BMC Secret and its HardwareData.
	MoveHierarchyLabel = "clusterctl.cluster.x-k8s.io/move-hierarchy"

	// MovingAnnotation is on a bound BareMetalHost that is ready to move: UID and resourceVersion of
	// the HostClaim, with a slash between them. The hostclaim manager writes it together with the
	// pause and the status of the host, and removes it when the claim is not paused any more. A host
	// with it whose claim is gone is reported, never wiped by the grace alone.
	MovingAnnotation = "hostclaim.metal3.io/moving"

	// MovePausedValue is the value of baremetalhost.metal3.io/paused on a host that is ready to move.
	// The hostclaim manager removes no other value.
	MovePausedValue = "hostclaim.metal3.io/move"

	// HostsMayMoveAnnotation is on a Namespace with hosts. The infrastructure team writes "true" once
	// Ironic serves these hosts where they are moved. Without it, no host of the namespace is made
	// ready for a move.
	HostsMayMoveAnnotation = "hostclaim.metal3.io/hosts-may-move"

	// SecretClaimUIDLabel is on a Secret that the hostclaim manager copied next to a host: the UID of
	// the HostClaim.
	SecretClaimUIDLabel = "hostclaim.metal3.io/claim-uid"

	// SecretKindLabel is on the same copies: the reference that the copy serves, userdata, metadata,
	// networkdata or ociauth.
	SecretKindLabel = "hostclaim.metal3.io/secret-kind"

	// SecretHostUIDLabel is on the same copies: the UID of the BareMetalHost, at whose release all its
	// copies are deleted.
	SecretHostUIDLabel = "hostclaim.metal3.io/host-uid"

	// SecretSourceAnnotation is on the same copies: <namespace>/<name> of the Secret that was copied.
	SecretSourceAnnotation = "hostclaim.metal3.io/source"

	// UserDataLabel is on a Secret. Its owner writes "true" to let any machine that names it send its
	// content to a server. Bootstrap data of the machine needs no label.
	UserDataLabel = "hostclaim.metal3.io/user-data"

	// BareMetalSecretLabel is on the same copies, with the value BareMetalSecretLabelValue.
	// baremetal-operator caches Secrets by it.
	BareMetalSecretLabel = "environment.metal3.io"

	// BareMetalSecretLabelValue is the value of BareMetalSecretLabel.
	BareMetalSecretLabelValue = "baremetal"
)

// Annotations of the published HardwareData. The hostclaim manager writes them in the
// namespace of the claim, for the provider manager.
const (
	// HostUIDAnnotation is the UID of the bound BareMetalHost. Nodes carry it as the label
	// NodeUUIDLabel.
	HostUIDAnnotation = "hostclaim.metal3.io/host-uid"

	// HostNameAnnotation is the name of the bound BareMetalHost.
	HostNameAnnotation = "hostclaim.metal3.io/host-name"

	// HostNamespaceAnnotation is the namespace of the bound BareMetalHost.
	HostNamespaceAnnotation = "hostclaim.metal3.io/host-namespace"

	// BootMACAddressAnnotation is spec.bootMACAddress of the bound host.
	BootMACAddressAnnotation = "hostclaim.metal3.io/boot-mac-address"

	// HostFailureDomainAnnotation is the value of FailureDomainLabel on the bound host; absent without
	// one. On a Metal3DataClaim it is the failure domain that its template was chosen for, if that is
	// not the template of the machine.
	HostFailureDomainAnnotation = "hostclaim.metal3.io/failure-domain"

	// HardwareDataSuffix ends the name of the published HardwareData:
	// <claim>-hostclaim.
	HardwareDataSuffix = "-hostclaim"
)

// Options of a HostDeployPolicy. An administrator writes them as annotations, for admitted
// claims of other namespaces. Regular expressions must match the whole value.
const (
	// PublishLabelsAnnotation is a regular expression on the keys of host labels that admitted claims
	// may see.
	PublishLabelsAnnotation = "hostclaim.metal3.io/publish-labels"

	// PublishAnnotationsAnnotation is the same for host annotations.
	PublishAnnotationsAnnotation = "hostclaim.metal3.io/publish-annotations"

	// AllowedImageURLsAnnotation is a regular expression on the image and checksum URLs that admitted
	// claims may use.
	AllowedImageURLsAnnotation = "hostclaim.metal3.io/allowed-image-urls"

	// AllowCustomDeployAnnotation with the value "true" permits spec.customDeploy.
	AllowCustomDeployAnnotation = "hostclaim.metal3.io/allow-custom-deploy"

	// AllowSkipCleaningAnnotation with the value "true" permits SkipCleaningAnnotation.
	AllowSkipCleaningAnnotation = "hostclaim.metal3.io/allow-skip-cleaning"

	// AllowUnhealthyMarkAnnotation with the value "true" permits UnhealthyClaimAnnotation.
	AllowUnhealthyMarkAnnotation = "hostclaim.metal3.io/allow-unhealthy-mark"

	// SharePreprovisioningNetworkDataAnnotation with the value "true" gives a claim without network
	// data that of the host's preprovisioningNetworkDataName.
	SharePreprovisioningNetworkDataAnnotation = "hostclaim.metal3.io/share-preprovisioning-network-data"
)

// Keys of machines whose claims live in another cluster (identityRef).
const (
	// OriginKey is an annotation of a Metal3Machine, a random UUID that stays with it in a move, and a
	// label with the same value on its claim in another cluster and on the Secrets copied for it. The
	// provider manager writes both; they, not the name, tell whose the claim is.
	OriginKey = "hostclaim.metal3.io/origin"
	// EffectiveIdentityAnnotation is on a Metal3Machine: Secret, context, server and namespace of its
	// claim, as JSON. The provider manager writes it before the first write to the other cluster.
	EffectiveIdentityAnnotation = "hostclaim.metal3.io/effective-identity"
	// ContentHashAnnotation is on a Secret that was copied next to a claim in another cluster, or next to
	// a host: a hash of its content.
	ContentHashAnnotation = "hostclaim.metal3.io/content-hash"
	// ConfirmIdentityMoveAnnotation is on a Metal3Machine. A tenant writes "<server>/<namespace>" to
	// confirm that the claim has moved there.
	ConfirmIdentityMoveAnnotation = "hostclaim.metal3.io/confirm-identity-move"
	// AbandonClaimAnnotation is on a Metal3Machine that is being deleted. A tenant writes "true" to
	// let it go without its claim in another cluster. Claim and host stay behind.
	AbandonClaimAnnotation = "hostclaim.metal3.io/abandon-claim"
	// TokenExpiresAnnotation is on a Secret with a kubeconfig that hack/tenant made: when its token
	// ends, as RFC 3339. Nothing is decided by it.
	TokenExpiresAnnotation = "hostclaim.metal3.io/token-expires"
	// MoveLabel is on the same Secret. clusterctl moves by it an object that belongs to no Cluster.
	MoveLabel = "clusterctl.cluster.x-k8s.io/move"
)

// Annotations of claims for addresses, written and read by the provider manager.
const (
	// PoolStateAnnotation is on a metal3 IPClaim: a hash of its IPPool when the claim was made. The
	// provider manager makes a refused claim anew when the pool looks different.
	PoolStateAnnotation = "hostclaim.metal3.io/pool-state"

	// ClaimNetworkAnnotation is on an IPClaim or IPAddressClaim: the network of the data template that
	// the address is for, where several networks of a machine use one pool.
	ClaimNetworkAnnotation = "hostclaim.metal3.io/network"
)

// Annotations of a Metal3MachineTemplate, written by its author for scaling up from zero.
// They win over what the provider manager sees of existing machines.
const (
	// CapacityAnnotation gives resources as name=quantity, with commas between them:
	// cpu=32,memory=128Gi,nvidia.com/gpu=2.
	CapacityAnnotation = "hostclaim.metal3.io/capacity"

	// NodeInfoAnnotation gives architecture=, operatingSystem= or both, with a comma between them.
	NodeInfoAnnotation = "hostclaim.metal3.io/node-info"
)

// TakeOverAnnotation asks for the machines of a cluster that CAPM3 has made to be taken over. On a Metal3Cluster, an
// administrator writes "true"; on a Metal3Machine without a claim, the provider manager repeats that; on its
// HostClaim, the provider manager names the BareMetalHost that the machine has, which is in the same namespace.
const TakeOverAnnotation = "hostclaim.metal3.io/take-over"

// Keys that come from CAPM3 and keep their names.
const (
	// HostAnnotation is on a Metal3Machine: <namespace>/<name> of the BareMetalHost behind its claim. It counts only
	// while a machine of CAPM3 is taken over.
	HostAnnotation = "metal3.io/BareMetalHost"

	// FailureDomainLabel is on a BareMetalHost: its failure domain. An administrator writes it.
	FailureDomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

	// NodeReuseLabel is on a HostClaim that is reserved for the next machine of the same control plane
	// or deployment. A BareMetalHost with it answers no claim.
	NodeReuseLabel = "infrastructure.cluster.x-k8s.io/node-reuse"

	// LabelSyncPrefixesAnnotation is on a Metal3Cluster. A tenant writes prefixes of labels, DNS
	// subdomains with commas between them. Nodes carry the published labels of their servers under
	// these prefixes.
	LabelSyncPrefixesAnnotation = "metal3.io/metal3-label-sync-prefixes"

	// NodeUUIDLabel is on a workload Node: the UID of its BareMetalHost. The kubelet or the provider
	// manager writes it.
	NodeUUIDLabel = "metal3.io/uuid"

	// RemediationRebootPrefix begins the reboot annotation of a HostClaim by which a
	// Metal3Remediation, whose name follows, holds the server off.
	RemediationRebootPrefix = "reboot.metal3.io/metal3-remediation."

	// UnhealthyClaimAnnotation with the value "true" is on a HostClaim whose server is unhealthy. The
	// provider manager writes it when remediation did not help, or a tenant. At the release the host
	// gets UnhealthyAnnotation, where policy permits it.
	UnhealthyClaimAnnotation = "hostclaim.metal3.io/unhealthy"

	// UnhealthyAnnotation is on an unhealthy BareMetalHost, which answers no claim. Only an
	// administrator removes it.
	UnhealthyAnnotation = "capm3.metal3.io/unhealthy"

	// DeprecatedUnhealthyAnnotation is the older spelling of UnhealthyAnnotation, which is still
	// honored.
	DeprecatedUnhealthyAnnotation = "capi.metal3.io/unhealthy"

	// RenderedSecretType is the type of Secrets that hold rendered metaData
	// or networkData.
	RenderedSecretType = "infrastructure.cluster.x-k8s.io/secret"

	// DataNameLabel is on a metal3 IPClaim that was named after a host: its Metal3Data.
	DataNameLabel = "infrastructure.cluster.x-k8s.io/data-name"

	// PoolNameLabel is on the same IPClaim: its pool.
	PoolNameLabel = "infrastructure.cluster.x-k8s.io/pool-name"
)

// Finalizers of the provider manager, with the names of CAPM3.
const (
	// ClusterFinalizer holds a Metal3Cluster until its machines are gone.
	ClusterFinalizer = "metal3cluster.infrastructure.cluster.x-k8s.io"

	// MachineFinalizer holds a Metal3Machine until its claim is gone.
	MachineFinalizer = "metal3machine.infrastructure.cluster.x-k8s.io"

	// DataTemplateFinalizer holds a Metal3DataTemplate until no claim uses it.
	DataTemplateFinalizer = "metal3datatemplate.infrastructure.cluster.x-k8s.io"

	// DataClaimFinalizer holds a Metal3DataClaim until its Metal3Data is gone.
	DataClaimFinalizer = "metal3dataclaim.infrastructure.cluster.x-k8s.io"

	// DataFinalizer holds a Metal3Data until its addresses are given back.
	DataFinalizer = "metal3data.infrastructure.cluster.x-k8s.io"

	// RemediationFinalizer holds a Metal3Remediation until its Node is restored.
	RemediationFinalizer = "metal3remediation.infrastructure.cluster.x-k8s.io"
)

// Field owners of server-side apply and merge patches.
const (
	// HostClaimManagerFieldOwner is the field owner of the hostclaim manager.
	HostClaimManagerFieldOwner = "hostclaim-manager"

	// MachineFieldOwner is the field owner of the Metal3Machine controller.
	MachineFieldOwner = "capm3-metal3machine"

	// DataFieldOwner is the field owner of the Metal3Data controller.
	DataFieldOwner = "capm3-metal3data"

	// DataTemplateFieldOwner is the field owner of the Metal3DataTemplate
	// controller.
	DataTemplateFieldOwner = "capm3-metal3datatemplate"
)
