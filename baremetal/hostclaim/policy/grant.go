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
	"maps"
	"slices"
	"strings"
)

// Grant is what the claims of one namespace may do with the hosts of one
// namespace: the union over the policies that admit them. The zero value is no
// grant at all.
type Grant struct {
	// Admitted says that the hosts may be used.
	Admitted bool

	// own says that claim and hosts share their namespace, so that nothing is
	// held back.
	own bool

	publishLabels, publishAnnotations []*expression

	// anyImageURL says that at least one policy does not narrow the URLs.
	anyImageURL                                                                    bool
	imageURLs                                                                      []*expression
	allowCustomDeploy, allowSkipCleaning, allowUnhealthyMark, sharePreprovisioning bool
}

// Decision is what all policies together say to the claims of one namespace.
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

// Own says how the claims of a namespace may use the hosts of that namespace.
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

// SharesPreprovisioningNetworkData says whether a claim without network data of
// its own may get the one that the infrastructure keeps for the host.
func (g Grant) SharesPreprovisioningNetworkData() bool {
	return g.own || g.sharePreprovisioning
}

// PermitsSkippingCleaning says whether a host may go from one workload of a
// claim to the next without being cleaned.
func (g Grant) PermitsSkippingCleaning() bool {
	return g.own || g.allowSkipCleaning
}

// PermitsUnhealthyMark says whether a claim may keep its host out of the pool when it is
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

// neverPublished says that a key stays with the host whatever policies say.
func neverPublished(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.Contains(privateDomains[:], domain)
}

func matchesAny(expressions []*expression, value string) bool {
	return slices.ContainsFunc(expressions, func(e *expression) bool { return e.matchesWhole(value) })
}
