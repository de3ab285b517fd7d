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

import "testing"

// The schemas of these kinds are baremetal-operator's; see TestSchemasOfUpstream.
// The cases here are those that our two managers rely on.
func TestHostClaim(t *testing.T) {
	checkExamples(t, map[string]example{
		"a claim for any host is fine": {kind: "HostClaim", spec: "poweredOn: false"},
		"a claim needs a power state":  {kind: "HostClaim", spec: "{}", refused: []string{"spec.poweredOn: Required value"}},
		"a claim may select hosts": {
			kind: "HostClaim",
			spec: "poweredOn: true\nhostSelector:\n  inNamespace: infra\n  matchLabels: {rack: a1}\n  matchExpressions: [{key: gpu, operator: Exists, values: []}]",
		},
		"a requirement always lists its values, be it none": {
			kind: "HostClaim", spec: "poweredOn: true\nhostSelector: {matchExpressions: [{key: gpu, operator: Exists}]}",
			refused: []string{"spec.hostSelector.matchExpressions[0].values: Required value"},
		},
		"a requirement with null as its values is refused": {
			kind: "HostClaim", spec: "poweredOn: true\nhostSelector: {matchExpressions: [{key: gpu, operator: Exists, values: null}]}",
			refused: []string{"spec.hostSelector.matchExpressions[0].values"},
		},
		"a workload is an image with its data": {
			kind: "HostClaim",
			spec: "poweredOn: true\nimage: {url: 'oci://registry/u:1', ociAuthSecretName: pull}\nuserData: {name: u}\nmetaData: {name: m}\nnetworkData: {name: net}",
		},
		"the checksum type may be found out by the host": {
			kind: "HostClaim", spec: "poweredOn: true\nimage: {url: 'http://images/u', checksum: abc, checksumType: auto, format: raw}",
		},
		"an unknown checksum type is refused": {
			kind: "HostClaim", spec: "poweredOn: true\nimage: {url: 'http://images/u', checksum: abc, checksumType: sha1}",
			refused: []string{"spec.image.checksumType: Unsupported value: \"sha1\"", `"md5", "sha256", "sha512", "auto"`},
		},
		"an image needs a URL":               {kind: "HostClaim", spec: "poweredOn: true\nimage: {checksum: abc}", refused: []string{"spec.image.url: Required value"}},
		"a custom deployment needs a method": {kind: "HostClaim", spec: "poweredOn: true\ncustomDeploy: {}", refused: []string{"spec.customDeploy.method: Required value"}},
	})
}

func TestHostDeployPolicy(t *testing.T) {
	checkExamples(t, map[string]example{
		"a policy without a spec is fine and admits no claim":     {kind: "HostDeployPolicy"},
		"a policy of empty namespaces admits everybody":           {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {}"},
		"a policy of no names is fine and admits no claim":        {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {names: []}"},
		"names, a pattern and labels may stand side by side":      {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {names: [a], nameMatches: 'tenant-.*', hasLabels: [{name: pool}, {name: size, value: big}]}"},
		"a broken pattern passes the schema and is the webhook's": {kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {nameMatches: '('}"},
		"a label needs a name": {
			kind: "HostDeployPolicy", spec: "hostClaimNamespaces: {hasLabels: [{value: x}]}",
			refused: []string{"spec.hostClaimNamespaces.hasLabels[0].name: Required value"},
		},
	})
}
