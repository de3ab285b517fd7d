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
	// IdentityReadyCondition reports whether the cluster that holds the hosts can be used with the
	// credentials of identityRef.
	IdentityReadyCondition = "IdentityReady"
	// IdentityConnectedReason surfaces when the claims can be read and written.
	IdentityConnectedReason = "Connected"
	// IdentityNotUsedReason surfaces when the machine had a HostClaim in its own cluster before the
	// identityRef came, and keeps it.
	IdentityNotUsedReason = "NotUsed"
	// IdentityConnectingReason surfaces when a connection is being made for the first time.
	IdentityConnectingReason = "Connecting"
	// IdentitySecretNotFoundReason surfaces when the secret does not exist.
	IdentitySecretNotFoundReason = "SecretNotFound"
	// IdentityKeyMissingReason surfaces when the secret has no key kubeconfig.
	IdentityKeyMissingReason = "KeyMissing"
	// InvalidKubeconfigReason surfaces when the kubeconfig cannot be used as it is.
	InvalidKubeconfigReason = "InvalidKubeconfig"
	// ForbiddenKubeconfigFeatureReason surfaces when the kubeconfig names a program, a file, a proxy or a
	// server without checked https.
	ForbiddenKubeconfigFeatureReason = "ForbiddenKubeconfigFeature"
	// IdentityContextNotFoundReason surfaces when the kubeconfig does not have the context.
	IdentityContextNotFoundReason = "ContextNotFound"
	// IdentityUnreachableReason surfaces when the API server does not answer.
	IdentityUnreachableReason = "Unreachable"
	// IdentityUnauthorizedReason surfaces when the API server does not accept the credentials.
	IdentityUnauthorizedReason = "Unauthorized"
	// IdentityForbiddenReason surfaces when the credentials lack a right, which the message names.
	IdentityForbiddenReason = "Forbidden"
	// IdentityConnectionLimitReason surfaces when the namespace has all the connections that it may have.
	IdentityConnectionLimitReason = "ConnectionLimitReached"
	// IdentityMemoryLimitReason surfaces when the objects of the cluster take more memory than they may.
	IdentityMemoryLimitReason = "MemoryLimitReached"
	// HostClaimAPIMissingReason surfaces when the cluster does not serve HostClaims.
	HostClaimAPIMissingReason = "HostClaimAPIMissing"
	// IdentityMovedReason surfaces when the kubeconfig now leads to another API server or namespace than
	// the one in which the claim of the machine was made.
	IdentityMovedReason = "IdentityMoved"
	// InvalidEffectiveIdentityReason surfaces when the record of the claim on the machine was edited.
	InvalidEffectiveIdentityReason = "InvalidEffectiveIdentity"
)
