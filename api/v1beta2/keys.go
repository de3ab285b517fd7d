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
// owners that the two managers write or read. docs/reference/keys.md shows the
// same table to users.

// Keys of the HostClaim boundary. All of them carry the prefix
// hostclaim.metal3.io/, so that they never meet a key of baremetal-operator.
const (
	// HostClaimFinalizer is on a HostClaim from before its bind until its host
	// is clean and free again. Written and removed by the hostclaim manager.
	HostClaimFinalizer = "hostclaim.metal3.io/finalizer"

	// FenceAnnotation is on a BareMetalHost. The hostclaim manager bumps it
	// before it drops an intent to bind that host, so that a writer that slept
	// on the old intent loses a resourceVersion conflict. Its value is the UID
	// and the resourceVersion of the claim. It is taken off again at once, by
	// the next pass if the manager died in between, or when the intent is lost.
	FenceAnnotation = "hostclaim.metal3.io/fence"

	// BoundHostUIDAnnotation is on a bound BareMetalHost: the UID that the host
	// had when it was bound. Where it differs from the host's UID, the host was
	// moved or restored since.
	BoundHostUIDAnnotation = "hostclaim.metal3.io/bound-host-uid"

	// BoundClaimUIDAnnotation is on a HostClaim that has a host, or is about to get
	// one: its own UID. Where it differs from the claim's UID, the claim was moved or
	// restored, and gets no host but the one that it had. Written and removed by the
	// hostclaim manager; a tenant removes it from a claim that may have any host.
	BoundClaimUIDAnnotation = "hostclaim.metal3.io/bound-claim-uid"

	// IntendedHostAnnotation is on a HostClaim that has a host, or was about to get one: the
	// UID of the claim, then namespace, name, UID and resourceVersion of the host, with slashes
	// between them. Where the status does not name that host, since it was lost, the host may be bound
	// to the claim any moment. Written by the hostclaim manager; one that begins with another UID, as after a
	// move, counts for nothing.
	IntendedHostAnnotation = "hostclaim.metal3.io/intended-host"

	// FormerCleaningModeAnnotation is on a bound BareMetalHost: the
	// spec.automatedCleaningMode that the administrator had set before the
	// bind. The release restores it.
	FormerCleaningModeAnnotation = "hostclaim.metal3.io/former-cleaning-mode"

	// ReleaseAnnotation is set on an orphaned BareMetalHost by an administrator
	// to release it before its time, or although a HostClaim of the same name
	// exists again. Any value will do. The release takes it off.
	ReleaseAnnotation = "hostclaim.metal3.io/release"

	// OrphanedSinceAnnotation is on a BareMetalHost whose HostClaim does not exist
	// any more: when the hostclaim manager first saw that, as RFC 3339. It goes
	// with the release, or when the claim turns up again.
	OrphanedSinceAnnotation = "hostclaim.metal3.io/orphaned-since"

	// SoftFailureDomainAnnotation is on a HostClaim. With the value "true" the
	// claim's failureDomain is a preference; without it, it is a condition. On a
	// Metal3Machine, it is what its claim gets.
	SoftFailureDomainAnnotation = "hostclaim.metal3.io/soft-failure-domain"

	// PullSecretAnnotation is on a Metal3Machine: the name of a Secret of its namespace,
	// of type kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg, with the
	// credentials for the registry of its image, whose URL begins with oci://. It counts
	// when the machine is provisioned.
	PullSecretAnnotation = "hostclaim.metal3.io/image-pull-secret"

	// RebootRequestAnnotation is on a HostClaim: the one-shot reboot that is on
	// its way to the host, as JSON with an ID of its own. Written by the hostclaim
	// manager when it takes the tenant's annotation reboot.metal3.io over, and
	// removed when the host has it.
	RebootRequestAnnotation = "hostclaim.metal3.io/reboot-request"

	// LastRebootAnnotation is on a bound BareMetalHost: the ID of the one-shot
	// reboot that the host was given last, so that none is given twice.
	LastRebootAnnotation = "hostclaim.metal3.io/last-reboot"

	// PowerChangesAnnotation is on a bound BareMetalHost: when the hostclaim manager has
	// switched or rebooted it for its claim in the last minutes, as RFC 3339 times with
	// commas between them. No more than ten within ten minutes are made.
	PowerChangesAnnotation = "hostclaim.metal3.io/power-changes"

	// HeldRebootPrefix begins the reboot annotations that the hostclaim manager
	// keeps on a bound BareMetalHost for those of its claim. Whatever has another
	// beginning is of administrators or of remediation and stays.
	HeldRebootPrefix = "reboot.metal3.io/hostclaim."

	// RebuildAnnotation is on a HostClaim: any new text lets the same server be
	// written anew in place, with the image that the claim has then. On the bound
	// BareMetalHost it is the text that was acted on last, empty if there was none.
	// On a KubeadmConfig it is the update in place that its data was withdrawn for last.
	// On a Metal3Machine, any new text lets its server be written anew, with what spec
	// and bootstrap data of the machine say then.
	RebuildAnnotation = "hostclaim.metal3.io/rebuild"

	// MaxRebuildLength is how many characters the text of RebuildAnnotation may have, since it
	// is repeated on the host. A longer one asks for nothing.
	MaxRebuildLength = 63

	// RebuiltAnnotation is on a Metal3Machine: the text of RebuildAnnotation that its server
	// was written anew for last, or that was refused since it came from a template.
	RebuiltAnnotation = "hostclaim.metal3.io/rebuilt"

	// UpdatePause is the value of the annotation cluster.x-k8s.io/paused on a KubeadmConfig
	// that makes no bootstrap data until the server of its Machine is empty.
	UpdatePause = "hostclaim.metal3.io/update-in-place"

	// ReservedUntilAnnotation is on a HostClaim that is reserved by NodeReuseLabel:
	// the time (RFC 3339) at which the hostclaim manager deletes the claim.
	ReservedUntilAnnotation = "hostclaim.metal3.io/reserved-until"

	// ReservedByAnnotation is on a HostClaim that the provider manager has reserved: name and
	// UID of the Metal3Machine that left it, which waits until its host is at rest.
	ReservedByAnnotation = "hostclaim.metal3.io/reserved-by"

	// SkipCleaningAnnotation is on a HostClaim that is reserved, and on one that was until its
	// host has the next image. With the value "true" the server is not cleaned between these
	// two workloads of the claim, where policy permits that. Metal3Machines set and remove it
	// by their automatedCleaningMode.
	SkipCleaningAnnotation = "hostclaim.metal3.io/skip-cleaning"

	// ParkedAnnotation is on the BareMetalHost of a reserved claim that skips
	// cleaning: the host is off and keeps what is on it until the claim is adopted.
	// Its value is the UID of the claim.
	ParkedAnnotation = "hostclaim.metal3.io/parked"

	// FastTrackAnnotation is on a BareMetalHost, set by its administrator. With the value "true"
	// a host that runs when its claim is released stays on: through its cleaning, in the pool, and
	// until the next claim asks for something, so that its next start is faster.
	FastTrackAnnotation = "hostclaim.metal3.io/fast-track"

	// UncleanedAnnotation is on a BareMetalHost that was deprovisioned without
	// cleaning, until a new image is provisioned on it. Such a host goes to no
	// other claim. Its value is the UID of the claim. An administrator who has
	// cleaned the host otherwise removes it.
	UncleanedAnnotation = "hostclaim.metal3.io/uncleaned"

	// ClaimUIDLabel is on a bound BareMetalHost and on the HardwareData that is
	// published for it: the UID of the HostClaim. On a host, spec.consumerRef is
	// the truth, and the label makes a live list of a claim's host cheap. On a
	// host that names nobody, the label books nothing, and is taken off.
	ClaimUIDLabel = "hostclaim.metal3.io/claim-uid"

	// ClusterctlLabel is the label on a CustomResourceDefinition by which clusterctl finds
	// the objects that it moves.
	ClusterctlLabel = "clusterctl.cluster.x-k8s.io"

	// BlockMoveAnnotation is the annotation that clusterctl waits for to go before
	// it moves an object. It is on each HostClaim that is bound, or about to be bound,
	// and on each bound BareMetalHost, from the bind on, since clusterctl waits only for
	// what carried it before the move began. It goes while the claim is paused and its
	// host is safe to move. The hostclaim manager takes off only what it wrote itself:
	// its value is HostClaimManagerFieldOwner. The Metal3Machine of such a claim
	// carries it as long, with the value MachineFieldOwner.
	BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"

	// MoveHierarchyLabel is the label by which clusterctl moves an object and what it
	// owns. It is on a bound BareMetalHost whose claim is in the same namespace and
	// belongs to a Cluster, so that the host, its BMC Secret and its HardwareData are
	// moved with the claim. Written at the bind, removed at the release, if its value is
	// HostClaimManagerFieldOwner.
	MoveHierarchyLabel = "clusterctl.cluster.x-k8s.io/move-hierarchy"

	// MovingAnnotation is the record of a move on a bound BareMetalHost: the UID of
	// the HostClaim and, behind a slash, its resourceVersion when the host was made
	// ready. Written in one request with the pause and the status of the host, before
	// BlockMoveAnnotation goes; removed when the claim is not paused any more. A host
	// with it whose claim does not exist is reported, never wiped by the grace alone.
	MovingAnnotation = "hostclaim.metal3.io/moving"

	// MovePausedValue is the value with which the hostclaim manager sets
	// baremetalhost.metal3.io/paused on a host that is ready to be moved. It takes
	// off no pause with another value.
	MovePausedValue = "hostclaim.metal3.io/move"

	// HostsMayMoveAnnotation is set on a Namespace by the infrastructure team
	// ("true"), to say that Ironic knows the hosts of the namespace wherever they are
	// moved, or hands them over. Without it, no host of the namespace is made ready
	// for a move, so that no tenant parks servers by pausing claims.
	HostsMayMoveAnnotation = "hostclaim.metal3.io/hosts-may-move"

	// SecretClaimUIDLabel is on each Secret that the hostclaim manager copied
	// next to a host: the UID of the HostClaim that it was copied for.
	SecretClaimUIDLabel = "hostclaim.metal3.io/claim-uid"

	// SecretKindLabel is on the same copies: which reference of the claim the
	// copy serves (userdata, metadata, networkdata or ociauth).
	SecretKindLabel = "hostclaim.metal3.io/secret-kind"

	// SecretHostUIDLabel is on the same copies: the UID of the BareMetalHost that
	// they were made for, so that all copies next to a host are found at its
	// release, also those that a manager left which was no leader any more.
	SecretHostUIDLabel = "hostclaim.metal3.io/host-uid"

	// SecretSourceAnnotation is on the same copies: <namespace>/<name> of the
	// Secret that was copied, in the namespace of the claim.
	SecretSourceAnnotation = "hostclaim.metal3.io/source"

	// UserDataLabel is set on a Secret by its owner ("true"), to say that its content may
	// go to the server of any machine that names it. Secrets that a bootstrap provider
	// made for the machine do not need it.
	UserDataLabel = "hostclaim.metal3.io/user-data"

	// BareMetalSecretLabel is the label that baremetal-operator caches Secrets
	// by; its value is BareMetalSecretLabelValue.
	BareMetalSecretLabel = "environment.metal3.io"

	// BareMetalSecretLabelValue is the value of BareMetalSecretLabel.
	BareMetalSecretLabelValue = "baremetal"
)

// Annotations of the HardwareData that the hostclaim manager publishes in the
// claim's namespace. The provider manager reads host facts from there only.
const (
	// HostUIDAnnotation is the UID of the bound BareMetalHost. Nodes carry it
	// as the label NodeUUIDLabel.
	HostUIDAnnotation = "hostclaim.metal3.io/host-uid"

	// HostNameAnnotation is the name of the bound BareMetalHost.
	HostNameAnnotation = "hostclaim.metal3.io/host-name"

	// HostNamespaceAnnotation is the namespace of the bound BareMetalHost.
	HostNamespaceAnnotation = "hostclaim.metal3.io/host-namespace"

	// BootMACAddressAnnotation is spec.bootMACAddress of the bound host.
	BootMACAddressAnnotation = "hostclaim.metal3.io/boot-mac-address"

	// HostFailureDomainAnnotation is the value of FailureDomainLabel on the
	// bound host; absent when the host has none. On a Metal3DataClaim it is the failure
	// domain that the template of the claim was chosen for; absent for the template that
	// the Metal3Machine names.
	HostFailureDomainAnnotation = "hostclaim.metal3.io/failure-domain"

	// HardwareDataSuffix ends the name of the published HardwareData:
	// <claim>-hostclaim.
	HardwareDataSuffix = "-hostclaim"
)

// Annotations of a HostDeployPolicy. Regular expressions are RE2 and must match
// the whole value.
const (
	// PublishLabelsAnnotation is a regular expression on the keys of host
	// labels that a policy lets out to the claims it admits.
	PublishLabelsAnnotation = "hostclaim.metal3.io/publish-labels"

	// PublishAnnotationsAnnotation is the same for host annotations.
	PublishAnnotationsAnnotation = "hostclaim.metal3.io/publish-annotations"

	// AllowedImageURLsAnnotation narrows the image and checksum URLs that an
	// admitted claim of another namespace may ask for.
	AllowedImageURLsAnnotation = "hostclaim.metal3.io/allowed-image-urls"

	// AllowCustomDeployAnnotation with the value "true" permits
	// spec.customDeploy on admitted claims of other namespaces.
	AllowCustomDeployAnnotation = "hostclaim.metal3.io/allow-custom-deploy"

	// AllowSkipCleaningAnnotation with the value "true" permits
	// SkipCleaningAnnotation on admitted claims of other namespaces.
	AllowSkipCleaningAnnotation = "hostclaim.metal3.io/allow-skip-cleaning"

	// AllowUnhealthyMarkAnnotation with the value "true" lets UnhealthyClaimAnnotation of
	// admitted claims of other namespaces count.
	AllowUnhealthyMarkAnnotation = "hostclaim.metal3.io/allow-unhealthy-mark"

	// SharePreprovisioningNetworkDataAnnotation with the value "true" lets an
	// admitted claim of another namespace that has no network data of its own
	// use the one in the host's preprovisioningNetworkDataName.
	SharePreprovisioningNetworkDataAnnotation = "hostclaim.metal3.io/share-preprovisioning-network-data"
)

// Keys of machines whose claims live in another cluster (identityRef).
const (
	// OriginKey is an annotation of a Metal3Machine, a random UUID that stays with it in a move,
	// and a label with the same value on its claim in another cluster and on all that is copied
	// there for it. It, not the name, tells whose the claim is.
	OriginKey = "hostclaim.metal3.io/origin"
	// EffectiveIdentityAnnotation is on a Metal3Machine, written before the first write to the other
	// cluster: the Secret and context in effect and where they led, as JSON.
	EffectiveIdentityAnnotation = "hostclaim.metal3.io/effective-identity"
	// ContentHashAnnotation is on a Secret that the provider manager copied next to a claim in another
	// cluster: a hash of the content, by which a change is noticed without the copy being read.
	ContentHashAnnotation = "hostclaim.metal3.io/content-hash"
	// KeepClaimsHereAnnotation is set ("true") on a Metal3Cluster, or on a Metal3Machine, which wins, by
	// its owner, to have machines reach the claims that they have in their own namespace by the
	// identityRef, which must lead to this very namespace. A move by clusterctl then takes the machines
	// and leaves claims and hosts. Taken off, or with another value, it takes the claims back, as long
	// as they are in the namespace of their machines.
	KeepClaimsHereAnnotation = "hostclaim.metal3.io/keep-claims-here"
	// ConfirmIdentityMoveAnnotation is set on a Metal3Machine by its owner, with the new server and
	// namespace as "<server>/<namespace>", to say that the claim really has moved there.
	ConfirmIdentityMoveAnnotation = "hostclaim.metal3.io/confirm-identity-move"
	// AbandonClaimAnnotation is set on a Metal3Machine by its owner ("true") to let it go although
	// its claim in another cluster cannot be deleted. The claim, and its host, stay behind.
	AbandonClaimAnnotation = "hostclaim.metal3.io/abandon-claim"
	// TokenExpiresAnnotation is on a Secret with a kubeconfig that hack/tenant made: when its token
	// ends, as RFC 3339. For people and their alarms; nothing is decided by it.
	TokenExpiresAnnotation = "hostclaim.metal3.io/token-expires"
	// MoveLabel is the label by which clusterctl moves an object that belongs to no Cluster. It is on
	// the same Secret.
	MoveLabel = "clusterctl.cluster.x-k8s.io/move"
)

// PoolStateAnnotation is on a metal3 IPClaim: a hash of what its IPPool looked
// like when the claim was made. If the pool refuses the claim and looks different
// later, or its address cannot be used and its spec is different later, the provider
// manager gives the claim back and makes a new one.
const PoolStateAnnotation = "hostclaim.metal3.io/pool-state"

// ClaimNetworkAnnotation is on an IPClaim or IPAddressClaim: the id of the network
// of the data template that the address is for, if another network of the same
// machine has the first address of the pool.
const ClaimNetworkAnnotation = "hostclaim.metal3.io/network"

// Annotations of a Metal3MachineTemplate, written by its author. They say what a
// machine of the template will have, for scaling up from zero, and win over what the
// provider manager sees of existing machines.
const (
	// CapacityAnnotation gives resources as name=quantity, separated by commas:
	// cpu=32,memory=128Gi,nvidia.com/gpu=2.
	CapacityAnnotation = "hostclaim.metal3.io/capacity"

	// NodeInfoAnnotation gives architecture=, operatingSystem= or both, separated by
	// a comma.
	NodeInfoAnnotation = "hostclaim.metal3.io/node-info"
)

// Keys that come from CAPM3 and keep their names.
const (
	// HostAnnotation is on a Metal3Machine: <namespace>/<name> of the
	// BareMetalHost behind its claim. Information only; nothing is decided by it.
	HostAnnotation = "metal3.io/BareMetalHost"

	// FailureDomainLabel is on a BareMetalHost: its failure domain.
	FailureDomainLabel = "infrastructure.cluster.x-k8s.io/failure-domain"

	// NodeReuseLabel marks a host or a claim that is reserved for the next
	// machine of the same control plane or deployment.
	NodeReuseLabel = "infrastructure.cluster.x-k8s.io/node-reuse"

	// LabelSyncPrefixesAnnotation is on a Metal3Cluster: prefixes of labels, DNS
	// subdomains with commas between them. Nodes carry the published labels of their
	// servers under these prefixes, and no others.
	LabelSyncPrefixesAnnotation = "metal3.io/metal3-label-sync-prefixes"

	// NodeUUIDLabel is on a workload Node: the UID of its BareMetalHost.
	NodeUUIDLabel = "metal3.io/uuid"

	// RemediationRebootPrefix begins the reboot annotation by which a
	// Metal3Remediation holds a server off. It is on the HostClaim, and the name
	// of the remediation follows.
	RemediationRebootPrefix = "reboot.metal3.io/metal3-remediation."

	// UnhealthyClaimAnnotation with the value "true" is on a HostClaim whose server is
	// unhealthy, so that the host gets UnhealthyAnnotation when it is released, where
	// policy permits it.
	UnhealthyClaimAnnotation = "hostclaim.metal3.io/unhealthy"

	// UnhealthyAnnotation is on a BareMetalHost that remediation gave up on.
	// Such a host answers no claim.
	UnhealthyAnnotation = "capm3.metal3.io/unhealthy"

	// DeprecatedUnhealthyAnnotation is the older spelling of
	// UnhealthyAnnotation, which is still honored.
	DeprecatedUnhealthyAnnotation = "capi.metal3.io/unhealthy"

	// RenderedSecretType is the type of Secrets that hold rendered metaData
	// or networkData.
	RenderedSecretType = "infrastructure.cluster.x-k8s.io/secret"

	// DataNameLabel is on a metal3 IPClaim that was made by host name: the
	// Metal3Data that it serves.
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
