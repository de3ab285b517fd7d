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

// Condition IdentityReady of Metal3Cluster and Metal3Machine and its reasons. It is there only where
// an identityRef is in effect, and never final: mending what the message names is enough.
const (
	// IdentityReadyCondition says whether the cluster that holds the hosts can be used with the
	// credentials of identityRef.
	IdentityReadyCondition = "IdentityReady"
	// IdentityConnectedReason says that the claims can be read and written there.
	IdentityConnectedReason = "Connected"
	// IdentityNotUsedReason says that the machine keeps its HostClaim in its own cluster, since it
	// had one before the identityRef came.
	IdentityNotUsedReason = "NotUsed"
	// IdentityConnectingReason says that a connection is being made for the first time.
	IdentityConnectingReason = "Connecting"
	// IdentitySecretNotFoundReason says that the secret does not exist.
	IdentitySecretNotFoundReason = "SecretNotFound"
	// IdentityKeyMissingReason says that the secret has no key kubeconfig.
	IdentityKeyMissingReason = "KeyMissing"
	// InvalidKubeconfigReason says that the kubeconfig cannot be used as it is.
	InvalidKubeconfigReason = "InvalidKubeconfig"
	// ForbiddenKubeconfigFeatureReason says that the kubeconfig asks for something that the manager
	// never does, such as running a program or reading a file.
	ForbiddenKubeconfigFeatureReason = "ForbiddenKubeconfigFeature"
	// IdentityContextNotFoundReason says that the kubeconfig does not have the context.
	IdentityContextNotFoundReason = "ContextNotFound"
	// IdentityUnreachableReason says that the API server does not answer.
	IdentityUnreachableReason = "Unreachable"
	// IdentityUnauthorizedReason says that the API server does not accept the credentials.
	IdentityUnauthorizedReason = "Unauthorized"
	// IdentityForbiddenReason says that the credentials lack a right, which the message names.
	IdentityForbiddenReason = "Forbidden"
	// IdentityConnectionLimitReason says that the namespace has all the connections that it may have.
	IdentityConnectionLimitReason = "ConnectionLimitReached"
	// IdentityMemoryLimitReason says that what the provider holds in memory of the cluster passed a
	// bound, which the message names.
	IdentityMemoryLimitReason = "MemoryLimitReached"
	// HostClaimAPIMissingReason says that the cluster does not serve HostClaims.
	HostClaimAPIMissingReason = "HostClaimAPIMissing"
	// IdentityMovedReason says that the kubeconfig now leads to another API server or namespace than
	// the one in which the claim of the machine was made.
	IdentityMovedReason = "IdentityMoved"
	// IdentityLeadsElsewhereReason says that KeepClaimsHereAnnotation asks to reach a claim of the machine's
	// own namespace by an identityRef that does not lead to it.
	IdentityLeadsElsewhereReason = "LeadsElsewhere"
	// IdentityClaimBusyReason says that the same annotation asks for a claim whose server is not at rest.
	IdentityClaimBusyReason = "ClaimBusy"
	// InvalidEffectiveIdentityReason says that what the provider has recorded on the machine about the
	// cluster of its claim was changed, so that it cannot be understood.
	InvalidEffectiveIdentityReason = "InvalidEffectiveIdentity"
)
