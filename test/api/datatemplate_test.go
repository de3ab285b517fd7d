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

package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// entries is one list of the metadata grammar with an entry that is complete.
var entries = map[string]string{
	"strings":             "{key: k, value: x}",
	"objectNames":         "{key: k, object: machine}",
	"indexes":             "{key: k, offset: 0, step: 1, prefix: p, suffix: s}",
	"namespaces":          "{key: k}",
	"ipAddressesFromPool": "{key: k, name: pool}",
	"prefixesFromPool":    "{key: k, name: pool, kind: IPPool, apiGroup: ipam.metal3.io}",
	"gatewaysFromPool":    "{key: k, name: pool, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}",
	"dnsServersFromPool":  "{key: k, name: pool}",
	"fromHostInterfaces":  "{key: k, interface: eth0}",
	"fromLabels":          "{key: k, object: baremetalhost, label: rack}",
	"fromAnnotations":     "{key: k, object: metal3machine, annotation: a}",
}

func TestMetaDataLists(t *testing.T) {
	examples := map[string]example{}
	add := func(name, list, items string, refused ...string) {
		examples[list+name] = example{
			kind:    "Metal3DataTemplate",
			spec:    fmt.Sprintf("metaData: {%s: [%s]}", list, items),
			refused: refused,
		}
	}
	for list, entry := range entries {
		path := "spec.metaData." + list
		add(" take a full entry", list, entry)
		add(" refuse an empty list", list, "", path, "should have at least 1 items")
		add(" refuse a key that is there twice", list, entry+", "+entry, path+"[1]: Duplicate value", `"key":"k"`)
		add(" refuse an entry without a key", list, strings.NewReplacer("key: k, ", "", "key: k", "").Replace(entry), path+"[0].key: Required value")
		add(" refuse an empty key", list, strings.Replace(entry, "key: k", "key: ''", 1), path+"[0].key", "should be at least 1 chars long")
		many := make([]string, 0, 513)
		for i := range 513 {
			many = append(many, strings.Replace(entry, "key: k", fmt.Sprintf("key: k%d", i), 1))
		}
		add(" take 512 entries", list, strings.Join(many[:512], ", "))
		add(" refuse more than 512 entries", list, strings.Join(many, ", "), path+": Too many", "must have at most 512 items")
	}
	checkExamples(t, examples)
}

func TestMetaDataEntries(t *testing.T) {
	const (
		objects   = `supported values: "machine", "metal3machine", "baremetalhost"`
		eitherNIC = "set either interface, to the name of a network interface, or fromBootMAC: true, not both and not none"
	)
	tests := map[string]struct {
		metaData string
		refused  []string
	}{
		"lists may share a key":         {metaData: "{strings: [{key: k, value: x}], namespaces: [{key: k}]}"},
		"a string needs a value":        {metaData: "{strings: [{key: k}]}", refused: []string{"strings[0].value: Required value"}},
		"a string is at most 512 long":  {metaData: "{strings: [{key: k, value: " + strings.Repeat("v", 513) + "}]}", refused: []string{"strings[0].value: Too long"}},
		"an index needs only a key":     {metaData: "{indexes: [{key: k}]}"},
		"an index steps forward":        {metaData: "{indexes: [{key: k, step: 0}]}", refused: []string{"indexes[0].step", "should be greater than or equal to 1"}},
		"an offset is not negative":     {metaData: "{indexes: [{key: k, offset: -1}]}", refused: []string{"indexes[0].offset", "should be greater than or equal to 0"}},
		"a name is that of some object": {metaData: "{objectNames: [{key: k}]}", refused: []string{"objectNames[0].object: Required value"}},
		"a name is that of a known object": {
			metaData: "{objectNames: [{key: k, object: host}]}",
			refused:  []string{"objectNames[0].object: Unsupported value: \"host\"", objects},
		},
		"a label is that of a known object": {
			metaData: "{fromLabels: [{key: k, object: node, label: l}]}",
			refused:  []string{"fromLabels[0].object: Unsupported value: \"node\"", objects},
		},
		"a label needs its key":       {metaData: "{fromLabels: [{key: k, object: machine}]}", refused: []string{"fromLabels[0].label: Required value"}},
		"an annotation needs its key": {metaData: "{fromAnnotations: [{key: k, object: machine}]}", refused: []string{"fromAnnotations[0].annotation: Required value"}},
		"an annotation is that of a known object": {
			metaData: "{fromAnnotations: [{key: k, object: node, annotation: a}]}",
			refused:  []string{"fromAnnotations[0].object: Unsupported value: \"node\"", objects},
		},
		"an address needs a pool": {metaData: "{ipAddressesFromPool: [{key: k}]}", refused: []string{"ipAddressesFromPool[0].name: Required value"}},
		"a pool that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: My_Pool}]}",
			refused:  []string{`gatewaysFromPool[0].name: Invalid value: "My_Pool"`, "should match '^[a-z0-9]"},
		},
		"a kind of pool that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: p, kind: ip pool}]}",
			refused:  []string{`gatewaysFromPool[0].kind: Invalid value: "ip pool"`, "should match '^[a-zA-Z]"},
		},
		"a group of pools that cannot exist is refused": {
			metaData: "{gatewaysFromPool: [{key: k, name: p, apiGroup: ipam/v1}]}",
			refused:  []string{`gatewaysFromPool[0].apiGroup: Invalid value: "ipam/v1"`, "should match '^[a-z0-9]"},
		},
		"one name may not stand for two pools": {
			metaData: "{ipAddressesFromPool: [{key: a, name: pool}], gatewaysFromPool: [{key: b, name: pool, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}]}",
			refused: []string{
				`spec: Invalid value: "pool": the name stands for two pools`, `InClusterIPPool.ipam.cluster.x-k8s.io "pool"`, "give one of them another name",
			},
		},
		"the list of v1beta1 for addresses is unknown": {
			metaData: "{ipAddressesFromIPPool: [{key: k, name: pool}]}",
			refused:  []string{"unknown field", "metaData.ipAddressesFromIPPool"},
		},
		"an interface may be the one that the host boots from": {metaData: "{fromHostInterfaces: [{key: k, fromBootMAC: true}]}"},
		"an interface by name may say that it is no boot interface": {
			metaData: "{fromHostInterfaces: [{key: k, interface: eth0, fromBootMAC: false}]}",
		},
		"an interface by name and by boot is refused": {
			metaData: "{fromHostInterfaces: [{key: k, interface: eth0, fromBootMAC: true}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
		"no interface at all is refused": {
			metaData: "{fromHostInterfaces: [{key: k}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
		"an interface that is not even the boot interface is refused": {
			metaData: "{fromHostInterfaces: [{key: k, fromBootMAC: false}]}",
			refused:  []string{"spec.metaData.fromHostInterfaces[0]", eitherNIC},
		},
	}
	examples := map[string]example{
		"a template without a spec is fine":              {kind: "Metal3DataTemplate"},
		"the cluster name of old templates may stay":     {kind: "Metal3DataTemplate", spec: "clusterName: old"},
		"the cluster name of old templates may be empty": {kind: "Metal3DataTemplate", spec: "clusterName: ''"},
		"the template reference of v1beta1 is unknown": {
			kind: "Metal3DataTemplate", spec: "templateReference: old", refused: []string{"unknown field", "spec.templateReference"},
		},
	}
	for name, test := range tests {
		examples[name] = example{kind: "Metal3DataTemplate", spec: "metaData: " + test.metaData, refused: test.refused}
	}
	checkExamples(t, examples)
}
