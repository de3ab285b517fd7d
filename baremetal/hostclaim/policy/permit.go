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

package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
)

// imageSchemes are the schemes that a claim may use across namespaces. A file
// URL, for one, would be read on the machine that provisions.
var imageSchemes = [...]string{"http", "https", "oci"}

// RefusedError is something that a claim asks for and policy does not permit.
type RefusedError struct {
	// Field is the path of the field in the claim.
	Field string
	// Problem says what is not permitted, and Remedy what would be.
	Problem, Remedy string
}

// Error says what is refused, why, and what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is refused: %s; %s", e.Field, e.Problem, e.Remedy)
}

// Permit says whether a claim may have what it asks for put on a host, which fetches
// images from none of the denied addresses. It returns nil or a RefusedError.
func (g Grant) Permit(image *bmov1alpha1.Image, custom *bmov1alpha1.CustomDeploy, denied []netip.Prefix) error {
	if g.own {
		return nil
	}
	if custom != nil && !g.allowCustomDeploy {
		return &RefusedError{
			Field:   "spec.customDeploy",
			Problem: "no HostDeployPolicy that admits this namespace permits it",
			Remedy: "remove it, or ask the infrastructure team for the annotation " +
				infrav1.AllowCustomDeployAnnotation + ": \"true\" on the policy",
		}
	}
	if image == nil {
		return nil
	}
	if err := g.permitURL("spec.image.url", image.URL, denied); err != nil {
		return err
	}
	// A checksum is either the sum itself or a URL where it is found.
	if !strings.ContainsAny(image.Checksum, ":/") {
		return nil
	}
	return g.permitURL("spec.image.checksum", image.Checksum, denied)
}

// permitURL checks scheme and allowed expressions of one URL. The program that fetches
// it may parse it differently, so what is no plain URL with a host is refused too, as
// are line breaks and control characters.
func (g Grant) permitURL(field, text string, denied []netip.Prefix) error {
	scheme, _, found := strings.Cut(text, "://")
	if !found || !slices.Contains(imageSchemes[:], strings.ToLower(scheme)) {
		return &RefusedError{
			Field:   field,
			Problem: "its scheme is none of " + strings.Join(imageSchemes[:], ", "),
			Remedy:  "serve the image over one of them",
		}
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return &RefusedError{
			Field: field, Problem: "it is no valid URL with a host", Remedy: "write scheme://host/path, with special characters escaped",
		}
	}
	if addresses.MayLeadTo(denied, parsed.Hostname()) {
		return &RefusedError{
			Field: field, Problem: "its host is an address that images must not come from, or may be read as one",
			Remedy: "serve the image from another address (the infrastructure team sets --image-denied-addresses of the hostclaim manager)",
		}
	}
	if g.anyImageURL || matchesAny(g.imageURLs, text) {
		return nil
	}
	return &RefusedError{
		Field:   field,
		Problem: "no HostDeployPolicy that admits this namespace permits the URL",
		Remedy: "use an image that the infrastructure team permits (annotation " +
			infrav1.AllowedImageURLsAnnotation + " on the policy)",
	}
}
