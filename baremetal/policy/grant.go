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
	"errors"
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

	// by are the policies that admit the claims.
	by []*Compiled
}

// Decision is what all policies together permit to the claims of one namespace.
type Decision struct {
	// Grants has an entry for each namespace whose hosts may be used.
	Grants map[string]Grant
	// Invalid are the faults of the policies that were skipped.
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
			hosts := p.policy.Namespace
			d.Grants[hosts] = Grant{Admitted: true, by: append(d.Grants[hosts].by, p)}
		}
	}
	if _, admitted := d.Grants[ns.Name]; admitted || own == OwnWithoutPolicy {
		d.Grants[ns.Name] = Grant{Admitted: true, own: true}
	}
	return d
}

// Permits reports whether a policy has a flag, one of its annotations, set.
func (g Grant) Permits(flag string) bool {
	return g.own || slices.ContainsFunc(g.by, func(c *Compiled) bool { return c.flags[flag] })
}

// Published returns which labels or annotations of a host claims may see, by the annotation that permits it.
func (g Grant) Published(from map[string]string, by string) map[string]string {
	out := map[string]string{}
	for key, value := range from {
		permits := func(c *Compiled) bool {
			published := c.expressions[by]
			return published != nil && matchesWhole(published, key)
		}
		if !neverPublished(key) && (g.own || slices.ContainsFunc(g.by, permits)) {
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

// imageSchemes are the schemes that a claim may use across namespaces. A file
// URL, for one, would be read on the machine that provisions.
var imageSchemes = [...]string{"http", "https", "oci"}

// Permit returns nil if a claim may have what it asks for put on a host, which fetches images from none of
// the denied addresses, and otherwise what is refused, why, and what to do.
func (g Grant) Permit(image *bmov1alpha1.Image, custom *bmov1alpha1.CustomDeploy, denied []netip.Prefix) error {
	if g.own {
		return nil
	}
	if custom != nil && !g.Permits(infrav1.AllowCustomDeployAnnotation) {
		return errors.New("spec.customDeploy is refused: no HostDeployPolicy that admits this namespace permits it; " +
			"remove it, or ask the infrastructure team for the annotation " + infrav1.AllowCustomDeployAnnotation + ": \"true\" on the policy")
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
		return fmt.Errorf("%s is refused: its scheme is none of %s; serve the image over one of them", field, strings.Join(imageSchemes[:], ", "))
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return fmt.Errorf("%s is refused: it is no valid URL with a host; write scheme://host/path, with special characters escaped", field)
	}
	if addresses.MayLeadTo(denied, parsed.Hostname()) {
		return fmt.Errorf("%s is refused: its host is an address that images must not come from, or may be read as one; "+
			"serve the image from another address (the infrastructure team sets --image-denied-addresses of the hostclaim manager)", field)
	}
	permits := func(c *Compiled) bool {
		allowed := c.expressions[infrav1.AllowedImageURLsAnnotation]
		return allowed == nil || matchesWhole(allowed, text)
	}
	if slices.ContainsFunc(g.by, permits) {
		return nil
	}
	return fmt.Errorf("%s is refused: no HostDeployPolicy that admits this namespace permits the URL; "+
		"use an image that the infrastructure team permits (annotation %s on the policy)", field, infrav1.AllowedImageURLsAnnotation)
}
