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
	"fmt"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Cause is one way in which an identityRef, its record or its connection cannot be used.
type Cause int

// The causes, with the arguments of Problem.
const (
	Connecting             Cause = iota
	SecretNotFound               // secret, namespace, key
	KeyMissing                   // secret, key
	SecretForbidden              // namespace
	KubeconfigInvalid            // secret, error
	KubeconfigForbidden          // secret, error
	ContextNotFound              // secret, error
	TooManyConnections           // namespace, number of connections
	TooManyWorkloads             // namespace, number of connections
	ConnectionTooLarge           // namespace, server, MiB
	ConnectionsTooLarge          // namespace, server, MiB
	HostClaimAPIMissing          // server
	HardwareDataAPIMissing       // server
	RightsMissing                // verbs and resources, namespace, server
	RightsUnknown                // namespace, server
	Unauthorized                 // server
	RecordUnreadable             // annotation
	Moved                        // secret, where it leads, where the HostClaim was made, annotation, value
)

// The causes by which an API server cannot be used. The argument of Problem is its URL.
const (
	BadSettings Cause = iota + Moved + 1 // and the error
	BadURL
	Silent
	Slow
	Denied
	Unresolved
	NotTLS
	Refused
	NoRoute
	UnknownAuthority
	OtherName
	Expired
	BadCertificate
	BrokenOff
	BadStatus // and the status code
	NoAPIServer
	AnswerTooLarge
	TooManyNodes
	TooManyAnswers
	Redirected
)

const (
	unreachable = infrav1.IdentityUnreachableReason
	unusable    = "The API server %s cannot be used: "
)

// problems are all that conditions report about identityRefs and their connections: the reason,
// what is wrong, and what the owner of the identityRef can do. Nothing in them is text of a remote
// cluster, which could mislead the reader.
var problems = [...]struct{ reason, cause, remedy string }{
	Connecting: {infrav1.IdentityConnectingReason, "The connection to the cluster that holds the hosts is being made", ""},
	SecretNotFound: {
		infrav1.IdentitySecretNotFoundReason,
		"Secret %q does not exist in namespace %q", "create it, with a kubeconfig in the key %q",
	},
	KeyMissing: {infrav1.IdentityKeyMissingReason, "Secret %q has no key %q", "put the kubeconfig there"},
	SecretForbidden: {
		infrav1.IdentityForbiddenReason,
		"The provider may not get secrets in namespace %q",
		"create a RoleBinding in that namespace from its service account to the ClusterRole capm3-tenant-secrets",
	},
	KubeconfigInvalid:   {infrav1.InvalidKubeconfigReason, "Secret %q", "%v"},
	KubeconfigForbidden: {infrav1.ForbiddenKubeconfigFeatureReason, "Secret %q", "%v"},
	ContextNotFound:     {infrav1.IdentityContextNotFoundReason, "Secret %q", "%v"},
	TooManyConnections: {
		infrav1.IdentityConnectionLimitReason,
		"The identityRefs of namespace %q already have %d connections, as many as one namespace may have",
		"use fewer Secrets and contexts, or have the administrator of this manager raise --identity-connections-per-namespace",
	},
	TooManyWorkloads: {
		infrav1.IdentityConnectionLimitReason,
		"namespace %q has connections to %d other workload clusters, as many as one namespace may have",
		"spread the Clusters over more namespaces, or have the administrator of this manager raise --workload-connections-per-namespace",
	},
	ConnectionTooLarge: {
		infrav1.IdentityMemoryLimitReason,
		"The HostClaims, HardwareData and Secrets of this provider in namespace %q of %s take more than the %d MiB that one connection may take",
		"delete there what no machine uses, or have the administrator of this manager raise --identity-connection-memory",
	},
	ConnectionsTooLarge: {
		infrav1.IdentityMemoryLimitReason,
		"The HostClaims, HardwareData and Secrets of this provider in namespace %q of %s take the largest part of the %d MiB that all connections may take together",
		"delete there what no machine uses, or have the administrator of this manager raise --identity-memory",
	},
	HostClaimAPIMissing: {
		infrav1.HostClaimAPIMissingReason,
		"The API server %s does not serve hostclaims.metal3.io", "install the hostclaim manager there, or name the cluster that has it",
	},
	HardwareDataAPIMissing: {
		infrav1.HostClaimAPIMissingReason,
		"The API server %s does not serve hardwaredata.metal3.io", "install baremetal-operator there, or name the cluster that has it",
	},
	RightsMissing: {
		infrav1.IdentityForbiddenReason,
		"The credentials may not %s in namespace %q of %s", "have a Role there that permits it bound to their user",
	},
	RightsUnknown: {
		infrav1.IdentityForbiddenReason,
		"The credentials may not list or watch hostclaims.metal3.io, hardwaredata.metal3.io or secrets in namespace %q of %s, and may not ask for their rights",
		"have a Role there that permits it bound to their user",
	},
	Unauthorized: {
		infrav1.IdentityUnauthorizedReason,
		"The API server %s does not accept the credentials: they may be expired or revoked", "put a kubeconfig with valid ones into the Secret",
	},
	RecordUnreadable: {
		infrav1.InvalidEffectiveIdentityReason,
		"Annotation %s cannot be understood",
		"put back what the provider has written, or remove it if this machine never had a HostClaim in another cluster",
	},
	Moved: {
		infrav1.IdentityMovedReason,
		"Secret %q now leads to %s, and the HostClaim of this machine was made in %s",
		"put the former kubeconfig back, or, if the HostClaim has moved along, set annotation %s of this Metal3Machine to %q",
	},

	BadSettings:      {unreachable, unusable + "the connection cannot be made", "%v"},
	BadURL:           {unreachable, unusable + "its URL cannot be read", "check clusters[].cluster.server in the kubeconfig"},
	Silent:           {unreachable, unusable + "it does not answer in time", "check that it runs, and the way to it"},
	Slow:             {unreachable, unusable + "it answers too slowly", "other requests are still under way"},
	Denied:           {unreachable, unusable + "its address is one that this manager never connects to", "ask the administrator of the manager"},
	Unresolved:       {unreachable, unusable + "its name cannot be resolved", "check clusters[].cluster.server in the kubeconfig"},
	NotTLS:           {unreachable, unusable + "it does not speak TLS as it should", "check the port in the kubeconfig"},
	Refused:          {unreachable, unusable + "it refuses connections", "check that it runs, and the port in the kubeconfig"},
	NoRoute:          {unreachable, unusable + "there is no way to it from this manager", "check networks and firewalls"},
	UnknownAuthority: {unreachable, unusable + "its certificate is signed by an authority that is not trusted", "check certificate-authority-data in the kubeconfig"},
	OtherName:        {unreachable, unusable + "its certificate is for another name", "check server and tls-server-name in the kubeconfig"},
	Expired:          {unreachable, unusable + "its certificate is expired, or not valid yet", "renew it, or check the clocks"},
	BadCertificate:   {unreachable, unusable + "its certificate is not valid", "renew it"},
	BrokenOff:        {unreachable, unusable + "the connection broke off", "check that it runs, and the way to it"},
	BadStatus:        {unreachable, unusable + "it answers with status %d", "check that it is an API server of Kubernetes, and in order"},
	NoAPIServer:      {unreachable, unusable + "it answers with something that is no answer of an API server of Kubernetes", "check the address in the kubeconfig"},
	AnswerTooLarge:   {unreachable, unusable + "an answer of it is larger than what this manager reads", ""},
	TooManyNodes:     {unreachable, unusable + "it has more than 10,000 Nodes, which is more than this manager reads", "take out those that it does not need"},
	TooManyAnswers:   {unreachable, unusable + "this manager reads too many large answers at once", "it tries again"},
	Redirected: {
		unreachable, unusable + "it redirects to another address, which this manager does not follow",
		"name the right one in clusters[].cluster.server of the kubeconfig",
	},
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

// Problem returns the problem that a cause is, with arguments for its cause and its remedy.
func (c Cause) Problem(arguments ...any) *Problem {
	row := problems[c]
	message := row.cause
	switch {
	case row.remedy == "":
	case strings.Contains(message, ": "):
		message += "; " + row.remedy
	default:
		message += ": " + row.remedy
	}
	return &Problem{Reason: row.reason, Message: fmt.Sprintf(message, arguments...)}
}
