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

package templatecheck

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Warnings lists what an author would want to know of a template that is taken
// nevertheless, since CAPM3 takes it. The first 20 are enough.
func Warnings(spec infrav1.Metal3DataTemplateSpec, path *field.Path) []string {
	var found []iter.Seq[string]
	if ptr.Deref(spec.ClusterName, "") != "" { //nolint:staticcheck // the warning is about its use
		found = append(found, slices.Values([]string{path.Child("clusterName").String() + " is not used any more: leave it out"}))
	}
	if spec.MetaData != nil {
		found = append(found, hiddenKeys(spec.MetaData, path.Child("metaData")))
	}
	if spec.NetworkData != nil && spec.NetworkData.Links != nil {
		found = append(found, nestedParameters(spec.NetworkData.Links.Bonds, path.Child("networkData", "links", "bonds")))
	}
	return text.Warnings(found...)
}

// hiddenKeys finds keys that several lists set: only one of them counts.
func hiddenKeys(spec *infrav1.MetaData, path *field.Path) iter.Seq[string] {
	return func(yield func(string) bool) {
		lists := map[string][]string{}
		for _, list := range keysByRank(spec) {
			for _, key := range list.keys {
				lists[key] = append(lists[key], list.name)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(lists)) {
			if hidden := hiddenKey(key, lists[key]); hidden != "" && !yield(fmt.Sprintf("%s: key %q %s", path, key, hidden)) {
				return
			}
		}
	}
}

// hiddenKey names the list that sets a key and does not count, if there is one.
func hiddenKey(key string, in []string) string {
	switch {
	case key == metadata.ProviderIDKey:
		return fmt.Sprintf("always holds the provider ID: what %s says does not count", strings.Join(in, " and "))
	case len(in) > 1:
		return fmt.Sprintf("is in %s: only %s counts", strings.Join(in, " and "), in[0])
	default:
		return ""
	}
}

// keyList is a list of the metadata with the keys that it sets.
type keyList struct {
	name string
	keys []string
}

// keysByRank lists the lists of the metadata, the ones that win first.
func keysByRank(spec *infrav1.MetaData) []keyList {
	pool := func(e infrav1.FromPool) string { return e.Key }
	return []keyList{
		{"strings", keys(spec.Strings, func(e infrav1.MetaDataString) string { return e.Key })},
		{"fromAnnotations", keys(spec.FromAnnotations, func(e infrav1.MetaDataFromAnnotation) string { return e.Key })},
		{"fromLabels", keys(spec.FromLabels, func(e infrav1.MetaDataFromLabel) string { return e.Key })},
		{"objectNames", keys(spec.ObjectNames, func(e infrav1.MetaDataObjectName) string { return e.Key })},
		{"namespaces", keys(spec.Namespaces, func(e infrav1.MetaDataNamespace) string { return e.Key })},
		{"indexes", keys(spec.Indexes, func(e infrav1.MetaDataIndex) string { return e.Key })},
		{"dnsServersFromPool", keys(spec.DNSServersFromPool, pool)},
		{"gatewaysFromPool", keys(spec.GatewaysFromPool, pool)},
		{"prefixesFromPool", keys(spec.PrefixesFromPool, pool)},
		{"ipAddressesFromPool", keys(spec.IPAddressesFromPool, pool)},
		{"fromHostInterfaces", keys(spec.FromHostInterfaces, func(e infrav1.MetaDataHostInterface) string { return e.Key })},
	}
}

func keys[E any](entries []E, key func(E) string) []string {
	found := make([]string, 0, len(entries))
	for _, e := range entries {
		found = append(found, key(e))
	}
	return found
}

// nestedParameters finds options of bonds that are no single value. The schema of
// CAPM3 takes nothing else; no server could be configured by them.
func nestedParameters(bonds []infrav1.NetworkDataLinkBond, path *field.Path) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, b := range bonds {
			for j, p := range b.Parameters {
				if !Single(p) && !yield(fmt.Sprintf("%s: the value of option %q is no number, string or boolean: "+
					"no network data is rendered until a new template gives it one",
					path.Index(i).Child("parameters").Index(j).Child("value"), p.Name)) {
					return
				}
			}
		}
	}
}

// Single reports whether the value of an option is a number, a string or a boolean.
func Single(p infrav1.BondParameter) bool {
	var parsed any
	if p.Value != nil {
		_ = json.Unmarshal(p.Value.Raw, &parsed)
	}
	switch parsed.(type) {
	case string, bool, float64:
		return true
	default:
		return false
	}
}
