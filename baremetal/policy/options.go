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
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// options are the annotations of a HostDeployPolicy that parse reads.
var options = [...]string{
	infrav1.PublishLabelsAnnotation,
	infrav1.PublishAnnotationsAnnotation,
	infrav1.AllowedImageURLsAnnotation,
	infrav1.AllowCustomDeployAnnotation,
	infrav1.AllowSkipCleaningAnnotation,
	infrav1.AllowUnhealthyMarkAnnotation,
	infrav1.SharePreprovisioningNetworkDataAnnotation,
}

// optionPrefix begins the key of every option.
const optionPrefix = "hostclaim.metal3.io/"

// UnknownOptions returns a sentence for each annotation and label of a policy that has the prefix
// of options and is none, sorted by key. Such a policy is valid: it may be written for a later
// version, so it is reported to the author and not refused.
func UnknownOptions(p *bmov1alpha1.HostDeployPolicy) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		if strings.HasPrefix(key, optionPrefix) && !slices.Contains(options[:], key) {
			out = append(out, fmt.Sprintf("annotation %s is no option of a HostDeployPolicy and has no effect; did you mean %s?",
				key, nearest(key)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		if strings.HasPrefix(key, optionPrefix) {
			out = append(out, fmt.Sprintf("label %s has no effect, since options of a HostDeployPolicy are annotations; "+
				"did you mean annotation %s?", key, nearest(key)))
		}
	}
	return out
}

// nearest returns the option that takes the fewest changes to write instead of key.
func nearest(key string) string {
	return slices.MinFunc(options[:], func(a, b string) int { return distance(key, a) - distance(key, b) })
}

// distance counts the bytes that have to be added, removed or replaced to make one
// text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the beginning of a so far: the distance to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
