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

package lease

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// hostClaimKind is the kind of consumerRefs that are ours.
const hostClaimKind = "HostClaim"

// ConsumerKey identifies the claim that a host names: namespace, name and UID.
// It is empty for a host that names no HostClaim.
func ConsumerKey(host *bmov1alpha1.BareMetalHost) string {
	ref := host.Spec.ConsumerRef
	group, _, _ := strings.Cut(refOrEmpty(ref).APIVersion, "/")
	if ref == nil || ref.Kind != hostClaimKind || group != bmov1alpha1.GroupVersion.Group {
		return ""
	}
	return ref.Namespace + "/" + ref.Name + "/" + string(ref.UID)
}

// ClaimKey is the ConsumerKey of the hosts that name a claim.
func ClaimKey(claim *bmov1alpha1.HostClaim) string {
	return claim.Namespace + "/" + claim.Name + "/" + string(claim.UID)
}

// Owned says that a host names the claim. An equal name with another UID is
// another claim.
func Owned(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return ConsumerKey(host) == ClaimKey(claim)
}

func refOrEmpty(ref *corev1.ObjectReference) corev1.ObjectReference {
	if ref == nil {
		return corev1.ObjectReference{}
	}
	return *ref
}

// Bind returns the host as it is while the claim has it, before anything is
// provisioned.
func Bind(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	out.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: bmov1alpha1.GroupVersion.String(),
		Kind:       hostClaimKind,
		Namespace:  claim.Namespace,
		Name:       claim.Name,
		UID:        claim.UID,
	}
	setLabel(out, infrav1.ClaimUIDLabel, string(claim.UID))
	setAnnotation(out, infrav1.BoundHostUIDAnnotation, string(host.UID))
	setAnnotation(out, infrav1.FormerCleaningModeAnnotation, string(host.Spec.AutomatedCleaningMode))
	delete(out.Annotations, infrav1.FenceAnnotation)
	return out
}

// FencedHost returns the host with a mark of the claim, which bumps its version.
// The mark is taken off again at once, see UnfencedHost.
func FencedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	setAnnotation(out, infrav1.FenceAnnotation, string(claim.UID)+"/"+claim.ResourceVersion)
	return out
}

// HasFence says that a fence of the claim was left on the host by a pass that
// ended before it could take the fence off.
func HasFence(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return strings.HasPrefix(host.Annotations[infrav1.FenceAnnotation], string(claim.UID)+"/")
}

// UnfencedHost returns the host without a fence, which bumps its version too.
func UnfencedHost(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Annotations, infrav1.FenceAnnotation)
	return out
}

func setLabel(host *bmov1alpha1.BareMetalHost, key, value string) {
	if host.Labels == nil {
		host.Labels = map[string]string{}
	}
	host.Labels[key] = value
}

func setAnnotation(host *bmov1alpha1.BareMetalHost, key, value string) {
	if host.Annotations == nil {
		host.Annotations = map[string]string{}
	}
	host.Annotations[key] = value
}
