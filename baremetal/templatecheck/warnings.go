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
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Warnings lists what an author would want to know of a template that is taken
// nevertheless, since CAPM3 takes it.
func Warnings(spec infrav1.Metal3DataTemplateSpec, path *field.Path) []string {
	var warnings []string
	if ptr.Deref(spec.ClusterName, "") != "" { //nolint:staticcheck // the warning is about its use
		warnings = append(warnings, path.Child("clusterName").String()+" is not used any more: leave it out")
	}
	if spec.MetaData != nil {
		warnings = append(warnings, hiddenKeys(spec.MetaData, path.Child("metaData"))...)
	}
	if spec.NetworkData != nil && spec.NetworkData.Links != nil {
		warnings = append(warnings, nestedParameters(spec.NetworkData.Links.Bonds, path.Child("networkData", "links", "bonds"))...)
	}
	return warnings
}

// providerIDKey is the key of the metadata that no template can set.
const providerIDKey = "providerid"

// hiddenKeys finds keys that several lists set: only one of them counts.
func hiddenKeys(spec *infrav1.MetaData, path *field.Path) []string {
	lists := map[string][]string{}
	for _, list := range keysByRank(spec) {
		for _, key := range list.keys {
			lists[key] = append(lists[key], list.name)
		}
	}
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		switch in := lists[key]; {
		case key == providerIDKey:
			warnings = append(warnings, fmt.Sprintf("%s: key %q always holds the provider ID: what %s says does not count",
				path, key, strings.Join(in, " and ")))
		case len(in) > 1:
			warnings = append(warnings, fmt.Sprintf("%s: key %q is in %s: only %s counts", path, key, strings.Join(in, " and "), in[0]))
		}
	}
	return warnings
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
func nestedParameters(bonds []infrav1.NetworkDataLinkBond, path *field.Path) []string {
	var warnings []string
	for i, b := range bonds {
		for j, p := range b.Parameters {
			var parsed any
			if p.Value != nil {
				_ = json.Unmarshal(p.Value.Raw, &parsed)
			}
			switch parsed.(type) {
			case string, bool, float64:
			default:
				warnings = append(warnings, fmt.Sprintf("%s: the value of option %q is no number, string or boolean: "+
					"no network data is rendered until a new template gives it one",
					path.Index(i).Child("parameters").Index(j).Child("value"), p.Name))
			}
		}
	}
	return warnings
}
