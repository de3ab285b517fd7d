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

package binding

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// FencedHost returns the host with a fence of the claim, which bumps its version.
// The fence is taken off again at once, see Unfenced.
func FencedHost(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, infrav1.FenceAnnotation, string(claim.UID)+"/"+claim.ResourceVersion)
	return out
}

// HasFence says that a fence of the claim was left on the host by a pass that
// ended before it could take the fence off.
func HasFence(host *bmov1alpha1.BareMetalHost, claim *bmov1alpha1.HostClaim) bool {
	return strings.HasPrefix(host.Annotations[infrav1.FenceAnnotation], string(claim.UID)+"/")
}

// Unfenced returns a fenced host without its fence. Writing that bumps the host's version,
// so it is a fence itself.
func Unfenced(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.BareMetalHost {
	out := host.DeepCopy()
	delete(out.Annotations, infrav1.FenceAnnotation)
	return out
}
