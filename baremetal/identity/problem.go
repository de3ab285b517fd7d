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

package identity

import (
	"cmp"
	"fmt"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Cause is one way in which an identityRef, its record or its connection cannot be used: the text of its
// problem, which names what is wrong and what the owner of the identityRef can do. No text of a remote
// cluster is in it, which could mislead the reader.
type Cause string

// The causes. The condition has the reason that reasons gives for each.
const (
	Connecting      Cause = "The connection to the cluster that holds the hosts is being made"
	SecretNotFound  Cause = "Secret %q does not exist in namespace %q: create it, with a kubeconfig in the key %q" //nolint:gosec // a message
	KeyMissing      Cause = "Secret %q has no key %q: put the kubeconfig there"
	SecretForbidden Cause = "The provider may not get secrets in namespace %q: " +
		"create a RoleBinding in that namespace from its service account to the ClusterRole capm3-tenant-secrets"
	TooManyConnections Cause = "The identityRefs of namespace %q already have %d connections, as many as one namespace may have: " +
		"use fewer Secrets and contexts, or have the administrator of this manager raise --identity-connections-per-namespace"
	TooManyWorkloads Cause = "namespace %q has connections to %d other workload clusters, as many as one namespace may have: " +
		"spread the Clusters over more namespaces, or have the administrator of this manager raise --workload-connections-per-namespace"
	ConnectionTooLarge Cause = "The HostClaims, HardwareData and Secrets of this provider in namespace %q of %s take more than the %d MiB that one connection may take: " +
		"delete there what no machine uses, or have the administrator of this manager raise --identity-connection-memory"
	ConnectionsTooLarge Cause = "The HostClaims, HardwareData and Secrets of this provider in namespace %q of %s take the largest part of the %d MiB that all connections may take together: " +
		"delete there what no machine uses, or have the administrator of this manager raise --identity-memory"
	HostClaimAPIMissing Cause = "The API server %s does not serve hostclaims.metal3.io: " +
		"install the hostclaim manager there, or name the cluster that has it"
	HardwareDataAPIMissing Cause = "The API server %s does not serve hardwaredata.metal3.io: " +
		"install baremetal-operator there, or name the cluster that has it"
	RightsMissing Cause = "The credentials may not %s in namespace %q of %s: have a Role there that permits it bound to their user"
	RightsUnknown Cause = "The credentials may not list or watch hostclaims.metal3.io, hardwaredata.metal3.io or secrets in namespace %q of %s, and may not ask for their rights: " +
		"have a Role there that permits it bound to their user"
	Unauthorized Cause = "The API server %s does not accept the credentials: they may be expired or revoked; " +
		"put a kubeconfig with valid ones into the Secret"
	RecordUnreadable Cause = "Annotation %s cannot be understood: " +
		"put back what the provider has written, or remove it if this machine never had a HostClaim in another cluster"
	Moved Cause = "Secret %q now leads to %s, and the HostClaim of this machine was made in %s: " +
		"put the former kubeconfig back, or, if the HostClaim has moved along, set annotation %s of this Metal3Machine to %q"
)

const unusable = "The API server %s cannot be used: "

// The causes by which an API server cannot be used. The first argument of Problem is its URL.
const (
	BadSettings      Cause = unusable + "the connection cannot be made; %v"
	BadURL           Cause = unusable + "its URL cannot be read; check clusters[].cluster.server in the kubeconfig"
	Silent           Cause = unusable + "it does not answer in time; check that it runs, and the way to it"
	Slow             Cause = unusable + "it answers too slowly; other requests are still under way"
	Denied           Cause = unusable + "its address is one that this manager never connects to; ask the administrator of the manager"
	Unresolved       Cause = unusable + "its name cannot be resolved; check clusters[].cluster.server in the kubeconfig"
	NotTLS           Cause = unusable + "it does not speak TLS as it should; check the port in the kubeconfig"
	Refused          Cause = unusable + "it refuses connections; check that it runs, and the port in the kubeconfig"
	NoRoute          Cause = unusable + "there is no way to it from this manager; check networks and firewalls"
	UnknownAuthority Cause = unusable + "its certificate is signed by an authority that is not trusted; " +
		"check certificate-authority-data in the kubeconfig"
	OtherName      Cause = unusable + "its certificate is for another name; check server and tls-server-name in the kubeconfig"
	Expired        Cause = unusable + "its certificate is expired, or not valid yet; renew it, or check the clocks"
	BadCertificate Cause = unusable + "its certificate is not valid; renew it"
	BrokenOff      Cause = unusable + "the connection broke off; check that it runs, and the way to it"
	BadStatus      Cause = unusable + "it answers with status %d; check that it is an API server of Kubernetes, and in order"
	NoAPIServer    Cause = unusable + "it answers with something that is no answer of an API server of Kubernetes; check the address in the kubeconfig"
	AnswerTooLarge Cause = unusable + "an answer of it is larger than what this manager reads"
	TooManyNodes   Cause = unusable + "it has more than 10,000 Nodes, which is more than this manager reads; take out those that it does not need"
	TooManyAnswers Cause = unusable + "this manager reads too many large answers at once; it tries again"
	Redirected     Cause = unusable + "it redirects to another address, which this manager does not follow; " +
		"name the right one in clusters[].cluster.server of the kubeconfig"
)

// reasons are those of the condition IdentityReady, for all causes but those by which an API server cannot be used.
var reasons = map[Cause]string{
	Connecting:             infrav1.IdentityConnectingReason,
	SecretNotFound:         infrav1.IdentitySecretNotFoundReason,
	KeyMissing:             infrav1.IdentityKeyMissingReason,
	SecretForbidden:        infrav1.IdentityForbiddenReason,
	TooManyConnections:     infrav1.IdentityConnectionLimitReason,
	TooManyWorkloads:       infrav1.IdentityConnectionLimitReason,
	ConnectionTooLarge:     infrav1.IdentityMemoryLimitReason,
	ConnectionsTooLarge:    infrav1.IdentityMemoryLimitReason,
	HostClaimAPIMissing:    infrav1.HostClaimAPIMissingReason,
	HardwareDataAPIMissing: infrav1.HostClaimAPIMissingReason,
	RightsMissing:          infrav1.IdentityForbiddenReason,
	RightsUnknown:          infrav1.IdentityForbiddenReason,
	Unauthorized:           infrav1.IdentityUnauthorizedReason,
	RecordUnreadable:       infrav1.InvalidEffectiveIdentityReason,
	Moved:                  infrav1.IdentityMovedReason,
}

// Problem is why a cluster cannot be used now. It is an error without any part of a credential.
type Problem struct { //nolint:errname // it is the content of a condition before it is an error
	// Reason of the condition IdentityReady.
	Reason string
	// Message for the owner of the identityRef: what is wrong and what to do.
	Message string
}

// Error is the message.
func (p *Problem) Error() string {
	return p.Message
}

// Problem returns the problem that a cause is, with the arguments of its text.
func (c Cause) Problem(arguments ...any) *Problem {
	return &Problem{Reason: cmp.Or(reasons[c], infrav1.IdentityUnreachableReason), Message: fmt.Sprintf(string(c), arguments...)}
}
