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
	"cmp"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

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
