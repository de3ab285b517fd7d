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

package remote

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// Messages of problems never repeat what a remote cluster says: it could be made to
// mislead the reader of a condition.

const (
	forbiddenFeature  = infrav1.ForbiddenKubeconfigFeatureReason
	contextNotFound   = infrav1.IdentityContextNotFoundReason
	invalidKubeconfig = infrav1.InvalidKubeconfigReason
)

func connecting() *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityConnectingReason,
		Message: "The connection to the cluster that holds the hosts is being made",
	}
}

func ofSecret(reason string, ref identity.Ref, err error) *identity.Problem {
	return &identity.Problem{Reason: reason, Message: fmt.Sprintf("Secret %q: %v", ref.Secret, err)}
}

func secretNotFound(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentitySecretNotFoundReason,
		Message: fmt.Sprintf("Secret %q does not exist in namespace %q: create it, with a kubeconfig in the key %q",
			ref.Secret, ref.Namespace, kubeconfigKey),
	}
}

func keyMissing(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason:  infrav1.IdentityKeyMissingReason,
		Message: fmt.Sprintf("Secret %q has no key %q: put the kubeconfig there", ref.Secret, kubeconfigKey),
	}
}

// secretForbidden is a right that the manager lacks in its own cluster.
func secretForbidden(ref identity.Ref) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityForbiddenReason,
		Message: fmt.Sprintf("The provider may not get secrets in namespace %q: create a RoleBinding in that namespace "+
			"from its service account to the ClusterRole capm3-tenant-secrets", ref.Namespace),
	}
}

func tooManyConnections(ref identity.Ref, most int) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityConnectionLimitReason,
		Message: fmt.Sprintf("The identityRefs of namespace %q already have %d connections, as many as one namespace may have: use fewer Secrets and contexts, "+
			"or have the administrator of this manager raise --identity-connections-per-namespace", ref.Namespace, most),
	}
}

func overMemory(target identity.Target, what, flag string) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityMemoryLimitReason,
		Message: fmt.Sprintf("The HostClaims, HardwareData and Secrets of this provider in namespace %q of %s take %s: delete there what no machine uses, "+
			"or have the administrator of this manager raise %s", target.Namespace, target.Server, what, flag),
	}
}

func kindMissing(target identity.Target, resource, bringer string) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.HostClaimAPIMissingReason,
		Message: fmt.Sprintf("The API server %s does not serve %s: install %s there, or name the cluster that has it",
			target.Server, resourceName(resource), bringer),
	}
}

// rightsMissing names verbs by resource, in the order of the resources.
func rightsMissing(target identity.Target, missing []right) *identity.Problem {
	var resources []string
	verbs := map[string][]string{}
	for _, r := range missing {
		name := resourceName(r.resource)
		if !slices.Contains(resources, name) {
			resources = append(resources, name)
		}
		verbs[name] = append(verbs[name], r.verb)
	}
	for i, name := range resources {
		resources[i] = strings.Join(verbs[name], ", ") + " " + name
	}
	return &identity.Problem{
		Reason: infrav1.IdentityForbiddenReason,
		Message: fmt.Sprintf("The credentials may not %s in namespace %q of %s: have a Role there that permits it bound to their user",
			strings.Join(resources, "; "), target.Namespace, target.Server),
	}
}

// rightUnknown is a refused request where the server does not tell which right is missing:
// the credentials may not create SelfSubjectAccessReviews.
func rightUnknown(target identity.Target) *identity.Problem {
	return &identity.Problem{
		Reason: infrav1.IdentityForbiddenReason,
		Message: fmt.Sprintf("The credentials may not list or watch hostclaims.metal3.io, hardwaredata.metal3.io or secrets in namespace %q of %s, "+
			"and may not ask for their rights: have a Role there that permits it bound to their user", target.Namespace, target.Server),
	}
}

func resourceName(resource string) string {
	if resource == "secrets" {
		return resource
	}
	return resource + ".metal3.io"
}

// internal is a problem that only a bug of this program can cause.
func internal(err error) *identity.Problem {
	return &identity.Problem{Reason: infrav1.IdentityUnreachableReason, Message: "The connection cannot be made: " + err.Error()}
}

// errMissing says that a SelfSubjectAccessReview denied a right.
var errMissing = errors.New("the right is missing")
