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
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Explain returns in one sentence, without a period, why none of the hosts answers a claim:
//
//	41 hosts seen: 30 in use, 6 not available, 4 without label rack=a1, 1 in error
//
// Hosts are counted, never named, since they may be of another namespace. One that could never
// answer the claim counts by what it lacks, even while it is in use: a wrong selector must not read
// like a shortage. Reasons stand in a fixed order, those of the host before those of the claim. A
// host that does fit counts as in use: another claim is about to be bound to it, and if that fails,
// the host is offered again.
//
// The hostclaim manager adds to it after a semicolon, and the Metal3Machine after a period.
func Explain(c Criteria, hosts []*bmov1alpha1.BareMetalHost) string {
	if len(hosts) == 0 {
		return noHosts(c)
	}
	counts, lasting := map[Misfit]int{}, withoutTraces(c)
	for _, host := range hosts {
		state := Free(host)
		if state == "" {
			counts[cmp.Or(Suits(c, host), InUse)]++
		} else {
			counts[cmp.Or(Suits(lasting, host), state)]++
		}
	}
	var parts []string
	for _, misfit := range order(c) {
		if n := counts[misfit]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, misfit))
		}
	}
	noun := "hosts"
	if len(hosts) == 1 {
		noun = "host"
	}
	return fmt.Sprintf("%d %s seen: %s", len(hosts), noun, strings.Join(parts, between))
}

// between stands between two reasons of an explanation, and in none.
const between = ", "

// withoutTraces leaves out what a claim asks of labels that controllers put on a host while it is in use,
// such as the name of a Cluster: they would disclose its tenant.
func withoutTraces(c Criteria) Criteria {
	c.Requirements = slices.DeleteFunc(slices.Clone(c.Requirements), func(r Requirement) bool {
		domain, _, _ := strings.Cut(r.Key(), "/")
		return strings.HasSuffix(domain, "cluster.x-k8s.io") || strings.HasSuffix(domain, "metal3.io")
	})
	return c
}

func noHosts(c Criteria) string {
	if c.InNamespace != "" {
		return "no hosts seen in namespace " + c.InNamespace
	}
	return "no hosts seen"
}

// order lists the misfits that a host can have for this claim: the state of the
// host, then what the claim asks for, errors last.
func order(c Criteria) []Misfit {
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

// counted matches what Explain puts before each reason, see TestSameButCounts.
var counted = regexp.MustCompile(`^(\d+ hosts? seen: )?\d+ `)

// SameButCounts reports whether two explanations differ in numbers at most. A change of counts alone
// is not worth a write.
func SameButCounts(a, b string) bool {
	return slices.EqualFunc(strings.Split(a, between), strings.Split(b, between), func(a, b string) bool {
		return counted.ReplaceAllString(a, "") == counted.ReplaceAllString(b, "")
	})
}
