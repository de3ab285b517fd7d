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
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/addresses"
)

// Grant is what the claims of one namespace may do with the hosts of one
// namespace: the union over the policies that admit them. The zero value is no
// grant at all.
type Grant struct {
	// Admitted is whether the hosts may be used.
	Admitted bool

	// own is whether claim and hosts share their namespace, so that nothing is
	// held back.
	own bool

	publishLabels, publishAnnotations []*expression

	// anyImageURL is whether at least one policy does not narrow the URLs.
	anyImageURL                                                                    bool
	imageURLs                                                                      []*expression
	allowCustomDeploy, allowSkipCleaning, allowUnhealthyMark, sharePreprovisioning bool
}

// Decision is what all policies together permit to the claims of one namespace.
type Decision struct {
	// Grants has an entry for each namespace whose hosts may be used.
	Grants map[string]Grant
	// Invalid are the policies that were skipped, as InvalidErrors.
	Invalid []error
}

// Namespaces returns the namespaces whose hosts may be used, sorted.
func (d Decision) Namespaces() []string {
	return slices.Sorted(maps.Keys(d.Grants))
}

// Own is how the claims of a namespace may use the hosts of that namespace.
type Own bool

const (
	// OwnWithoutPolicy lets a claim use hosts of its own namespace as it is.
	OwnWithoutPolicy Own = false
	// OwnByPolicy asks for a policy there too, for namespaces that are shared
	// by teams that do not trust each other.
	OwnByPolicy Own = true
)

// Evaluate applies all policies to the claims of one namespace. The order of
// the policies does not matter.
func Evaluate(policies []*Compiled, ns Namespace, own Own) Decision {
	d := Decision{Grants: map[string]Grant{}}
	for _, p := range policies {
		if p.err != nil {
			d.Invalid = append(d.Invalid, p.err)
			continue
		}
		if p.Admits(ns) {
			hosts := p.rule.policy.Namespace
			d.Grants[hosts] = d.Grants[hosts].with(p.rule)
		}
	}
	if _, admitted := d.Grants[ns.Name]; admitted || own == OwnWithoutPolicy {
		d.Grants[ns.Name] = Grant{Admitted: true, own: true}
	}
	return d
}

// with adds what one more admitting policy permits.
func (g Grant) with(r rule) Grant {
	g.Admitted = true
	if r.publishLabels != nil {
		g.publishLabels = append(g.publishLabels, r.publishLabels)
	}
	if r.publishAnnotations != nil {
		g.publishAnnotations = append(g.publishAnnotations, r.publishAnnotations)
	}
	if r.allowedImageURLs != nil {
		g.imageURLs = append(g.imageURLs, r.allowedImageURLs)
	} else {
		g.anyImageURL = true
	}
	g.allowCustomDeploy = g.allowCustomDeploy || r.allowCustomDeploy
	g.allowSkipCleaning = g.allowSkipCleaning || r.allowSkipCleaning
	g.allowUnhealthyMark = g.allowUnhealthyMark || r.allowUnhealthyMark
	g.sharePreprovisioning = g.sharePreprovisioning || r.sharePreprovisioning
	return g
}

// SharesPreprovisioningNetworkData reports whether a claim without network data of
// its own may get the one that the infrastructure keeps for the host.
func (g Grant) SharesPreprovisioningNetworkData() bool {
	return g.own || g.sharePreprovisioning
}

// PermitsSkippingCleaning reports whether a host may go from one workload of a
// claim to the next without being cleaned.
func (g Grant) PermitsSkippingCleaning() bool {
	return g.own || g.allowSkipCleaning
}

// PermitsUnhealthyMark reports whether a claim may keep its host out of the pool when it is
// released, until an administrator has looked at it.
func (g Grant) PermitsUnhealthyMark() bool {
	return g.own || g.allowUnhealthyMark
}

// PublishedLabels returns the labels of a host that claims may see.
func (g Grant) PublishedLabels(labels map[string]string) map[string]string {
	return g.published(labels, g.publishLabels)
}

// PublishedAnnotations returns the annotations of a host that claims may see.
func (g Grant) PublishedAnnotations(annotations map[string]string) map[string]string {
	return g.published(annotations, g.publishAnnotations)
}

func (g Grant) published(from map[string]string, by []*expression) map[string]string {
	out := map[string]string{}
	for key, value := range from {
		if !neverPublished(key) && (g.own || matchesAny(by, key)) {
			out[key] = value
		}
	}
	return out
}

// privateDomains are the domains of keys that steer other controllers or show
// what the infrastructure keeps to itself.
var privateDomains = [...]string{
	"kubectl.kubernetes.io",
	"baremetalhost.metal3.io",
	"inspect.metal3.io",
	"reboot.metal3.io",
	"clusterctl.cluster.x-k8s.io",
	"hostclaim.metal3.io",
}

// neverPublished reports whether a key is never copied from the host, by any policy.
func neverPublished(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.Contains(privateDomains[:], domain)
}

func matchesAny(expressions []*expression, value string) bool {
	return slices.ContainsFunc(expressions, func(e *expression) bool { return e.matchesWhole(value) })
}

// imageSchemes are the schemes that a claim may use across namespaces. A file
// URL, for one, would be read on the machine that provisions.
var imageSchemes = [...]string{"http", "https", "oci"}

// RefusedError is something that a claim asks for and policy does not permit.
type RefusedError struct {
	// Field is the path of the field in the claim.
	Field string
	// Problem is what is not permitted, and Remedy what would be.
	Problem, Remedy string
}

// Error returns what is refused, why, and what to do.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is refused: %s; %s", e.Field, e.Problem, e.Remedy)
}

// Permit reports whether a claim may have what it asks for put on a host, which fetches
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
