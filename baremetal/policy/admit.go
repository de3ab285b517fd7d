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

// Package policy decides which namespaces a HostDeployPolicy admits, what an admitted
// claim of another namespace may see and ask for, and whether the policy is valid.
//
// Its inputs are HostDeployPolicies and the name and labels of a namespace. It
// performs no IO and keeps no state. An invalid policy never admits a claim: it is
// named in an error and skipped.
package policy

import (
	"cmp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Namespace is what a policy may know of the namespace of a claim.
type Namespace struct {
	// Name is the name of the namespace.
	Name string
	// Labels are the labels of the Namespace object.
	Labels map[string]string
}

// Admits reports whether the policy lets claims of a namespace use the hosts
// of the policy's namespace. All parts of the policy that are set must hold.
//
// A policy without hostClaimNamespaces admits no namespace, an empty one admits all,
// and an empty list of names admits none. nameMatches must match the whole name. An
// invalid policy admits none.
func (c *Compiled) Admits(ns Namespace) bool {
	wanted := c.policy.Spec.HostClaimNamespaces
	switch {
	case c.err != nil, wanted == nil:
		return false
	case wanted.Names != nil && !slices.Contains(wanted.Names, ns.Name):
		return false
	case c.nameMatches != nil && !matchesWhole(c.nameMatches, ns.Name):
		return false
	}
	return !slices.ContainsFunc(wanted.HasLabels, func(want bmov1alpha1.NameValuePair) bool {
		value, found := ns.Labels[want.Name]
		return !found || (want.Value != "" && want.Value != value)
	})
}

// LooksAtLabels reports whether the labels of a namespace decide if the policy admits it.
func (c *Compiled) LooksAtLabels() bool {
	wanted := c.policy.Spec.HostClaimNamespaces
	return c.err == nil && wanted != nil && len(wanted.HasLabels) > 0
}

// AdmitsAll reports whether a policy admits every namespace, which deserves a warning to its
// author.
func AdmitsAll(p *bmov1alpha1.HostDeployPolicy) bool {
	c := p.Spec.HostClaimNamespaces
	return c != nil && c.Names == nil && c.NameMatches == "" && len(c.HasLabels) == 0
}

// AdmitsNobody returns a warning to the author of a policy that admits no namespace since it
// names none; empty for any other.
func AdmitsNobody(p *bmov1alpha1.HostDeployPolicy) string {
	if p.Spec.HostClaimNamespaces != nil {
		return ""
	}
	return "hostClaimNamespaces is not set, so the policy admits no namespace, although an empty policy may read as one for everybody: " +
		"list names, or write hostClaimNamespaces: {} to admit every namespace"
}

// EmptyNames reports whether the names of a policy are a list without entries. It admits no
// namespace, but not for long: a client that knows the type leaves an empty list out
// when it writes the policy back, and then the other fields decide alone.
func EmptyNames(p *bmov1alpha1.HostDeployPolicy) bool {
	c := p.Spec.HostClaimNamespaces
	return c != nil && c.Names != nil && len(c.Names) == 0
}

// MatchesPartOnly reports whether nameMatches is found within the name of a namespace
// without matching all of it. An implementation that does not anchor the
// expression would treat that namespace differently, so its author is warned.
func (c *Compiled) MatchesPartOnly(namespace string) bool {
	return c.err == nil && c.nameMatches != nil && c.nameMatches.MatchString(namespace) && !matchesWhole(c.nameMatches, namespace)
}

// MaxPerNamespace is how many policies of one namespace count. Each pass over a claim
// evaluates them all, also those of pools that have nothing to do with the claim.
const MaxPerNamespace = 100

// Counted returns the policies that count: of each namespace the oldest MaxPerNamespace.
// The others permit nothing.
func Counted(all []bmov1alpha1.HostDeployPolicy) []bmov1alpha1.HostDeployPolicy {
	number, most := map[string]int{}, 0
	for i := range all {
		number[all[i].Namespace]++
		most = max(most, number[all[i].Namespace])
	}
	if most <= MaxPerNamespace {
		return all
	}
	clear(number)
	return slices.DeleteFunc(ByAge(all), func(p bmov1alpha1.HostDeployPolicy) bool {
		number[p.Namespace]++
		return number[p.Namespace] > MaxPerNamespace
	})
}

// ByAge returns the policies sorted, the oldest first.
func ByAge(all []bmov1alpha1.HostDeployPolicy) []bmov1alpha1.HostDeployPolicy {
	return slices.SortedFunc(slices.Values(all), func(a, b bmov1alpha1.HostDeployPolicy) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
}
