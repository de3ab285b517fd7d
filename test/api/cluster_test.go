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

func TestClusterSpec(t *testing.T) {
	domains := func(count int) string {
		var list strings.Builder
		for i := range count {
			fmt.Fprintf(&list, "- {name: d%d, controlPlane: true}\n", i)
		}
		return "failureDomains:\n" + list.String()
	}
	tests := map[string]struct {
		spec    string
		refused []string
	}{
		"an endpoint is host and port":                   {spec: "controlPlaneEndpoint: {host: 192.0.2.10, port: 6443}"},
		"a host is enough, the port has a default":       {spec: "controlPlaneEndpoint: {host: api.example.com}"},
		"no endpoint is fine, since others may set it":   {spec: "cloudProviderEnabled: false"},
		"an empty spec is fine, since others may set it": {spec: "{}"},
		"a port is at most 65535": {
			spec:    "controlPlaneEndpoint: {host: h, port: 65536}",
			refused: []string{"controlPlaneEndpoint.port", "should be less than or equal to 65535"},
		},
		"a port is at least 1": {
			spec:    "controlPlaneEndpoint: {host: h, port: -1}",
			refused: []string{"controlPlaneEndpoint.port", "should be greater than or equal to 1"},
		},
		"an empty host is refused": {
			spec:    "controlPlaneEndpoint: {host: '', port: 6443}",
			refused: []string{"controlPlaneEndpoint.host", "should be at least 1 chars long"},
		},
		"a port alone is no endpoint": {
			spec: "controlPlaneEndpoint: {port: 6443}",
			refused: []string{
				"controlPlaneEndpoint: Required value: host is empty", "set it to a DNS name or an IP address, or remove controlPlaneEndpoint",
			},
		},
		"an empty endpoint is none": {
			spec: "controlPlaneEndpoint: {}", refused: []string{"controlPlaneEndpoint: Required value: host is empty"},
		},
		"a failure domain may have the name of any label": {spec: "failureDomains: [{name: Room_1.a}]"},
		"a failure domain that no host could be labeled with is refused": {
			spec: "failureDomains: [{name: a1}, {name: Room 2}]",
			refused: []string{
				"failureDomains: Invalid value", "no host can have a label with the name of one of the failure domains",
				"use at most 63 letters, digits, '-', '_' and '.'",
			},
		},
		"a hundred failure domains are the most": {spec: domains(100)},
		"more than a hundred failure domains are refused": {
			spec:    domains(101),
			refused: []string{"failureDomains: Too many", "must have at most 100 items"},
		},
		"a list of no failure domains is refused": {
			spec:    "failureDomains: []",
			refused: []string{"failureDomains", "should have at least 1 items"},
		},
		"two failure domains of one name are refused": {
			spec:    "failureDomains: [{name: a}, {name: a}]",
			refused: []string{"failureDomains[1]: Duplicate value", `"name":"a"`},
		},
		"an identity may name a context": {spec: "identityRef: {name: infra-kubeconfig, context: tenant-a}"},
		"an identity needs the name of a secret": {
			spec:    "identityRef: {context: tenant-a}",
			refused: []string{"identityRef.name: Required value"},
		},
		"the secret of an identity may be any": {spec: "identityRef: {name: infra.kubeconfig-2}"},
		"a context may have the name that a cloud gives it": {
			spec: "identityRef: {name: k, context: 'arn:aws:eks:eu-west-1:1234:cluster/infra'}",
		},
		"an identity whose secret cannot exist is refused": {
			spec: "identityRef: {name: Infra_Kubeconfig}",
			refused: []string{
				`identityRef.name: Invalid value: "Infra_Kubeconfig": no secret can have this name`,
				"use lower-case letters, digits, '-' and '.'",
			},
		},
		"an empty name of a secret is refused": {
			spec: "identityRef: {name: ''}", refused: []string{"identityRef.name", "should be at least 1 chars long"},
		},
		"an empty context is refused": {
			spec: "identityRef: {name: k, context: ''}", refused: []string{"identityRef.context", "should be at least 1 chars long"},
		},
		"a context has at most 253 letters": {
			spec: "identityRef: {name: k, context: " + strings.Repeat("c", 254) + "}", refused: []string{"identityRef.context: Too long"},
		},
		"the namespace of an identity cannot be chosen": {
			spec: "identityRef: {name: k, namespace: elsewhere}", refused: []string{"unknown field", "identityRef.namespace"},
		},
		"the field of v1beta1 for the cloud provider is refused by strict clients": {
			spec:    "noCloudProvider: true",
			refused: []string{"unknown field", "noCloudProvider"},
		},
	}
	examples := map[string]example{
		"a Metal3Cluster without a spec is fine": {kind: "Metal3Cluster"},
		"a template needs a spec":                {kind: "Metal3ClusterTemplate", refused: []string{"spec: Required value"}},
		"a template needs a cluster":             {kind: "Metal3ClusterTemplate", spec: "{}", refused: []string{"spec.template: Required value"}},
		"labels and annotations go to the clusters": {
			kind: "Metal3ClusterTemplate",
			spec: "template:\n  metadata: {labels: {a: b}, annotations: {c: d}}\n  spec: {}",
		},
		"a label that no cluster could have is refused": {
			kind: "Metal3ClusterTemplate", spec: "template:\n  metadata: {labels: {a: no value}}\n  spec: {}",
			refused: []string{`spec.template.metadata.labels: Invalid value: "no value"`, "must be an empty string or consist of alphanumeric characters"},
		},
		"prefixes of labels that Nodes may have are fine": {
			kind: "Metal3ClusterTemplate",
			spec: "template:\n  metadata: {annotations: {metal3.io/metal3-label-sync-prefixes: 'a.example,b.example'}}\n  spec: {}",
		},
		"a prefix that would give Nodes a role is refused": {
			kind: "Metal3ClusterTemplate",
			spec: "template:\n  metadata: {annotations: {metal3.io/metal3-label-sync-prefixes: node-role.kubernetes.io}}\n  spec: {}",
			refused: []string{
				"spec.template.metadata.annotations[metal3.io/metal3-label-sync-prefixes]: Invalid value",
				`"node-role.kubernetes.io" is refused`,
			},
		},
		"a port of 0 is refused in a template": {
			kind: "Metal3ClusterTemplate", spec: template("controlPlaneEndpoint: {host: h, port: 0}"),
			refused: []string{"controlPlaneEndpoint.port", "should be greater than or equal to 1"},
		},
	}
	for name, test := range tests {
		examples[name+" in a Metal3Cluster"] = example{kind: "Metal3Cluster", spec: test.spec, refused: test.refused}
		examples[name+" in a Metal3ClusterTemplate"] = example{kind: "Metal3ClusterTemplate", spec: template(test.spec), refused: test.refused}
	}
	checkExamples(t, examples)
}
