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

package selection

import (
	"fmt"
	"regexp"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/selector"
)

// Counts are the hosts that a claim could look at.
type Counts struct {
	// Unfree counts those that no claim can have, by what Free says of them.
	Unfree map[Misfit]int
	// Free are the others.
	Free []*bmov1alpha1.BareMetalHost
}

// Explain says in one sentence why none of the hosts answers a claim:
//
//	41 hosts seen: 30 in use, 6 not available, 4 without label rack=a1, 1 in error
//
// Reasons stand in a fixed order, those of the host before those of the claim.
// Hosts are counted, never named, since they may be of another namespace. A
// host that does fit counts as in use: another claim is about to be bound to it,
// and if that fails, the host is offered again.
func Explain(c selector.Criteria, seen Counts) string {
	counts, total := map[Misfit]int{}, len(seen.Free)
	for misfit, n := range seen.Unfree {
		counts[misfit] += n
		total += n
	}
	for _, host := range seen.Free {
		misfit := Suits(c, host)
		if misfit == "" {
			misfit = InUse
		}
		counts[misfit]++
	}
	if total == 0 {
		return noHosts(c)
	}
	var parts []string
	for _, misfit := range order(c) {
		if n := counts[misfit]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, misfit))
		}
	}
	noun := "hosts"
	if total == 1 {
		noun = "host"
	}
	return fmt.Sprintf("%d %s seen: %s", total, noun, strings.Join(parts, ", "))
}

func noHosts(c selector.Criteria) string {
	if c.InNamespace != "" {
		return "no hosts seen in namespace " + c.InNamespace
	}
	return "no hosts seen"
}

// order lists the misfits that a host can have for this claim: the state of the
// host, then what the claim asks for, errors last.
func order(c selector.Criteria) []Misfit {
	var out []Misfit
	for _, check := range checks {
		if check.misfit != InError {
			out = append(out, check.misfit)
		}
	}
	if c.InNamespace != "" {
		out = append(out, Misfit("outside namespace "+c.InNamespace))
	}
	listed := map[string]bool{}
	for _, r := range c.Requirements {
		if !listed[r.Lack] {
			out = append(out, Misfit(r.Lack))
		}
		listed[r.Lack] = true
	}
	out = append(out, Misfit("outside failure domain "+c.FailureDomain))
	return append(out, InError)
}

// count matches the numbers of an explanation and nothing else in it.
var count = regexp.MustCompile(`(^|seen: |, )\d+ (hosts? |)`)

// SameButCounts says that two explanations differ in numbers at most. A change
// of counts alone is not worth a write.
func SameButCounts(a, b string) bool {
	return count.ReplaceAllString(a, "$1") == count.ReplaceAllString(b, "$1")
}
