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

package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// reserved are domains whose labels on a Node have a meaning to Kubernetes and Cluster
// API, such as its role or where pods may run. They are refused with all below them: the
// owner of a server must not grant them.
var reserved = [...]string{"kubernetes.io", "k8s.io", "x-k8s.io"}

// maxPrefixes bounds the work for each label of a server, of which another cluster may
// publish as many as it likes.
const maxPrefixes = 32

// LabelPrefixes reads the list of prefixes in LabelSyncPrefixesAnnotation: DNS subdomains with
// commas between them, in any order. If some are invalid, it returns none, and an error that
// lists what is wrong with each.
func LabelPrefixes(list string) ([]string, error) {
	if commas := strings.Count(list, ","); commas >= maxPrefixes {
		return nil, fmt.Errorf("there are %d prefixes: list at most %d", commas+1, maxPrefixes)
	}
	var prefixes []string
	var problems []error
	for prefix := range strings.SplitSeq(list, ",") {
		prefix = strings.TrimSpace(prefix)
		if prefix == "" {
			continue
		}
		if err := check(prefix); err != nil {
			problems = append(problems, err)
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes), nil
}

func check(prefix string) error {
	if problems := validation.IsDNS1123Subdomain(prefix); len(problems) > 0 {
		return fmt.Errorf("%.80q is no prefix of a label: give a DNS subdomain such as rack.example.com, without a slash", prefix)
	}
	for _, domain := range reserved {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return fmt.Errorf("%.80q is refused: labels of %s and below have a meaning to Kubernetes", prefix, domain)
		}
	}
	return nil
}

// LabelChanges returns what makes the labels of a Node under the prefixes those of its server:
// the value of each label to be set, and nil for one to be removed. It is nil when
// nothing differs.
func LabelChanges(prefixes []string, server, node map[string]string) map[string]*string {
	var changes map[string]*string
	change := func(key string, value *string) {
		if changes == nil {
			changes = map[string]*string{}
		}
		changes[key] = value
	}
	for key, value := range server {
		if has, found := node[key]; under(prefixes, key) && valid(key, value) && (!found || has != value) {
			change(key, ptr.To(value))
		}
	}
	for key := range node {
		if value, found := server[key]; under(prefixes, key) && (!found || !valid(key, value)) {
			change(key, nil)
		}
	}
	return changes
}

// UnpublishedPrefixes returns the prefixes under which the server has no label.
func UnpublishedPrefixes(prefixes []string, server map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(prefixes), func(prefix string) bool {
		for key := range server {
			if under([]string{prefix}, key) {
				return true
			}
		}
		return false
	})
}

// under reports whether a label has one of the prefixes. The one that identifies the server is
// written by the rules that find the Node.
func under(prefixes []string, key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && key != infrav1.NodeUUIDLabel && slices.Contains(prefixes, prefix)
}

// valid reports whether an API server takes the label: another cluster may publish anything.
func valid(key, value string) bool {
	return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
}
