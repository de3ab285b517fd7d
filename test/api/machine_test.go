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

// TestMachineSpec sends each spec as a Metal3Machine and in a
// Metal3MachineTemplate: the author of a template hears of a mistake at once.
func TestMachineSpec(t *testing.T) {
	const image = "image: {url: 'http://images/u.qcow2', checksum: 'http://images/u.qcow2.sha256', checksumType: sha256, diskFormat: qcow2}\n"
	tests := map[string]struct {
		spec    string
		refused []string
	}{
		"an image with the URL of a checksum file is enough": {spec: image},
		"a custom deployment is enough":                      {spec: "customDeploy: {method: install_coreos}"},
		"neither image nor custom deployment is too little": {
			spec:    "hostSelector: {matchLabels: {rack: a1}}",
			refused: []string{"neither image nor customDeploy is set", "set image.url, or customDeploy.method"},
		},
		"an empty spec is too little": {
			spec:    "{}",
			refused: []string{"neither image nor customDeploy is set", "set image.url, or customDeploy.method"},
		},
		"an image needs a URL": {
			spec:    "image: {checksum: abc}",
			refused: []string{"image.url: Required value"},
		},
		"the URL of an image must be one": {
			spec:    "image: {url: images/u.qcow2, checksum: abc}",
			refused: []string{"image.url", "must be of type uri"},
		},
		"a custom deployment needs a method": {
			spec:    "customDeploy: {}",
			refused: []string{"customDeploy.method: Required value"},
		},

		"a checksum may be the sum itself": {spec: "image: {url: 'https://images/u.raw', checksum: d41d8cd98f00b204e9800998ecf8427e, diskFormat: raw}"},
		"an image without a checksum is refused": {
			spec:    "image: {url: 'http://images/u.qcow2', diskFormat: qcow2}",
			refused: []string{"image.checksum is empty", "set it to the checksum of the image or to the URL of a checksum file"},
		},
		"an image with an empty checksum is refused": {
			spec:    "image: {url: 'http://images/u.qcow2', checksum: ''}",
			refused: []string{"image.checksum is empty", "only live-iso and oci:// images need none"},
		},
		"a live ISO needs no checksum":                       {spec: "image: {url: 'http://images/u.iso', diskFormat: live-iso}"},
		"a live ISO may have a checksum":                     {spec: "image: {url: 'http://images/u.iso', diskFormat: live-iso, checksum: abc}"},
		"an OCI image needs no checksum":                     {spec: "image: {url: 'oci://registry/u:1'}"},
		"an OCI image is known by its scheme in any case":    {spec: "image: {url: 'OCI://registry/u:1'}"},
		"an OCI image may have an empty checksum":            {spec: "image: {url: 'oci://registry/u:1', checksum: ''}"},
		"a custom deployment makes the checksum unnecessary": {spec: "customDeploy: {method: m}\nimage: {url: 'http://images/u.qcow2'}"},
		"a checksum of an OCI image is refused": {
			spec:    "image: {url: 'oci://registry/u:1', checksum: abc}",
			refused: []string{"image.checksum and image.checksumType are not used with oci:// images: remove them"},
		},
		"a checksum type of an OCI image is refused": {
			spec:    "image: {url: 'oci://registry/u:1', checksumType: md5}",
			refused: []string{"image.checksum and image.checksumType are not used with oci:// images: remove them"},
		},
		"a broken URL of a checksum file is refused": {
			spec:    "image: {url: 'http://images/u.qcow2', checksum: 'http://images:port/sum'}",
			refused: []string{"image.checksum looks like a URL and is not a valid one: correct the URL"},
		},
		"an unknown checksum type is refused with the known ones": {
			spec:    "image: {url: 'http://images/u.qcow2', checksum: abc, checksumType: sha1}",
			refused: []string{"image.checksumType: Unsupported value: \"sha1\"", `"md5", "sha256", "sha512"`},
		},
		"an unknown disk format is refused with the known ones": {
			spec:    "image: {url: 'http://images/u.qcow2', checksum: abc, diskFormat: vhd}",
			refused: []string{"image.diskFormat: Unsupported value: \"vhd\"", `"raw", "qcow2", "vdi", "vmdk", "live-iso"`},
		},
		"the field of v1beta1 for the disk format is refused by strict clients": {
			spec:    "image: {url: 'http://images/u.qcow2', checksum: abc, format: qcow2}",
			refused: []string{`unknown field`, "image.format"},
		},

		"a class with parameters": {spec: image + "hostClass: {name: large.vm-1, parameters: {example.com/cores: '8', disk: ''}}"},
		"a class needs a name": {
			spec: image + "hostClass: {parameters: {cores: '8'}}", refused: []string{"hostClass.name: Required value"},
		},
		"a class whose name is none": {
			spec: image + "hostClass: {name: Large}", refused: []string{"hostClass.name", "no HostClaimClass can have this name"},
		},
		"a class whose name is longer than the value of a label": {
			spec: image + "hostClass: {name: " + strings.Repeat("x", 64) + "}", refused: []string{"hostClass.name: Too long"},
		},
		"a parameter of a class with a wrong key": {
			spec: image + "hostClass: {name: large, parameters: {'no key': '8'}}", refused: []string{"hostClass.parameters", "a key has more than 63 characters, or others than letters"},
		},
		"a parameter of a class that is too long": {
			spec: image + "hostClass: {name: large, parameters: {cores: '" + strings.Repeat("x", 129) + "'}}", refused: []string{"hostClass.parameters.cores: Too long"},
		},
		"a parameter of a class with a line break": {
			spec: image + "hostClass: {name: large, parameters: {cores: \"8\\n\"}}", refused: []string{"hostClass.parameters.cores", "should match"},
		},
		"too many parameters of a class": {
			spec:    image + "hostClass: {name: large, parameters: {" + manyParameters() + "}}",
			refused: []string{"hostClass.parameters: Too many"},
		},

		"operators of Kubernetes and of CAPM3 select hosts": {spec: image + `hostSelector:
  matchExpressions:
  - {key: a, operator: In, values: [x, z]}
  - {key: b, operator: notin, values: [x]}
  - {key: c, operator: =, values: [x]}
  - {key: d, operator: ==, values: [x]}
  - {key: e, operator: '!=', values: [x]}
  - {key: f, operator: Exists}
  - {key: g, operator: '!', values: []}
  - {key: h, operator: DoesNotExist}
`},
		"what no HostClaim may compare by is refused with the remedy": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}",
			refused: []string{"hostSelector.matchExpressions[0].operator", "in place of Gt and Lt, label the hosts by class and use In"},
		},
		"a scheme that no server fetches images by is refused with the others": {
			spec:    "image: {url: 'file:///os.raw', checksum: abc}",
			refused: []string{"image.url", "use http, https, ftp, gopher or oci"},
		},
		"an unknown operator is refused with the known ones": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: Like, values: [x]}]}",
			refused: []string{"hostSelector.matchExpressions[0].operator", "a HostClaim cannot have this operator: use one of In, NotIn, =, ==, !=, Exists and DoesNotExist"},
		},
		"a requirement needs an operator": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, values: [x]}]}",
			refused: []string{"hostSelector.matchExpressions[0].operator: Required value"},
		},
		"a list to compare with must not be empty": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: In}]}",
			refused: []string{"hostSelector.matchExpressions[0]", "operators In and NotIn compare with a list: set values to at least one"},
		},
		"an operator that compares with one value refuses two": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: '=', values: [x, z]}]}",
			refused: []string{"hostSelector.matchExpressions[0]", "operators =, == and != compare with one value: set values to exactly one"},
		},
		"an operator that compares with one value refuses none": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: '!='}]}",
			refused: []string{"hostSelector.matchExpressions[0]", "set values to exactly one"},
		},
		"an operator that compares with nothing refuses a value": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: DoesNotExist, values: [x]}]}",
			refused: []string{"hostSelector.matchExpressions[0]", "operators Exists, DoesNotExist and ! compare with nothing: remove the values"},
		},
		"labels with prefixes and without a value are fine": {spec: image + "hostSelector: {matchLabels: {site.example.com/rack: A_1.b, spare: ''}}"},
		"a label that no host can have is refused by its key": {
			spec: image + "hostSelector: {matchLabels: {'no key': x}}",
			refused: []string{
				"hostSelector.matchLabels: Invalid value", `"no key": name part must consist of alphanumeric characters`, "correct it, or leave it out to take any host",
			},
		},
		"a label that no host can have is refused by its value": {
			spec: image + "hostSelector: {matchLabels: {rack: a b}}",
			refused: []string{
				"hostSelector.matchLabels: Invalid value", `"a b": a valid label must be an empty string or consist of alphanumeric characters`,
				"correct it, or leave it out to take any host",
			},
		},
		"a selector has at most 128 values": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: in, values: [" + values(129) + "]}]}",
			refused: []string{"hostSelector: Invalid value", "it has 129 values in all", "at most 128 are allowed", "correct it, or leave it out to take any host"},
		},
		"a selector has at most 32 requirements": {
			spec:    image + "hostSelector:\n  matchLabels:" + labels(33),
			refused: []string{"hostSelector: Invalid value", "it has 33 requirements", "at most 32 are allowed"},
		},
		"two requirements on one label are refused": {
			spec:    image + "hostSelector: {matchExpressions: [{key: a, operator: exists}, {key: a, operator: '!=', values: [x]}]}",
			refused: []string{"hostSelector.matchExpressions[1]: Duplicate value", `"key":"a"`},
		},
		"hosts of one namespace can be asked for": {spec: image + "hostSelector: {inNamespace: infra}"},
		"a namespace has at most 63 letters": {
			spec:    image + "hostSelector: {inNamespace: " + strings.Repeat("n", 64) + "}",
			refused: []string{"hostSelector.inNamespace: Too long"},
		},

		"a namespace that cannot exist is refused": {
			spec:    image + "hostSelector: {inNamespace: Infra_1}",
			refused: []string{`hostSelector.inNamespace: Invalid value: "Infra_1": no namespace can have this name`, "use lower-case letters, digits and '-'"},
		},

		"the secret of userData may be named with its namespace": {spec: image + "userData: {name: s, namespace: '${NAMESPACE}'}"},
		"userData without a name is refused": {
			spec:    image + "userData: {namespace: '${NAMESPACE}'}",
			refused: []string{"userData: Required value: name is empty: set it to the name of a secret of the same namespace, or remove userData"},
		},
		"the secret of metaData may be named with its namespace": {spec: image + "metaData: {name: s, namespace: '${NAMESPACE}'}"},
		"metaData without a name is refused": {
			spec:    image + "metaData: {namespace: '${NAMESPACE}'}",
			refused: []string{"metaData: Required value: name is empty: set it to the name of a secret of the same namespace, or remove metaData"},
		},
		"the secret of networkData may be named with its namespace": {spec: image + "networkData: {name: s, namespace: '${NAMESPACE}'}"},
		"networkData without a name is refused": {
			spec:    image + "networkData: {namespace: '${NAMESPACE}'}",
			refused: []string{"networkData: Required value: name is empty: set it to the name of a secret of the same namespace, or remove networkData"},
		},
		"a data template may be named with its namespace": {spec: image + "dataTemplate: {name: nodes, namespace: '${NAMESPACE}'}"},
		"a data template without a name is refused": {
			spec: image + "dataTemplate: {namespace: '${NAMESPACE}'}",
			refused: []string{
				"dataTemplate: Required value: name is empty: set it to the name of a Metal3DataTemplate of the same namespace, or remove dataTemplate",
			},
		},

		"an identity whose secret cannot exist is refused": {
			spec: image + "identityRef: {name: Infra_Kubeconfig}",
			refused: []string{
				`identityRef.name: Invalid value: "Infra_Kubeconfig": no secret can have this name`, "use lower-case letters, digits, '-' and '.'",
			},
		},
		"an empty context is refused": {
			spec: image + "identityRef: {name: k, context: ''}", refused: []string{"identityRef.context", "should be at least 1 chars long"},
		},
		"a context has at most 253 letters": {
			spec:    image + "identityRef: {name: k, context: " + strings.Repeat("c", 254) + "}",
			refused: []string{"identityRef.context: Too long"},
		},
		"an identity may name a context": {spec: image + "identityRef: {name: infra-kubeconfig, context: tenant-a}"},
		"an identity needs the name of a secret": {
			spec:    image + "identityRef: {context: tenant-a}",
			refused: []string{"identityRef.name: Required value"},
		},
		"an unknown cleaning mode is refused with the known ones": {
			spec:    image + "automatedCleaningMode: full",
			refused: []string{"automatedCleaningMode: Unsupported value: \"full\"", `"metadata", "disabled"`},
		},
		"a failure domain may be the value of any label": {spec: image + "failureDomain: Room_1.a"},
		"a failure domain that no host could be labeled with is refused": {
			spec: image + "failureDomain: Room 1",
			refused: []string{
				`failureDomain: Invalid value: "Room 1": no host can have a label of this value`, "use at most 63 letters, digits, '-', '_' and '.'",
			},
		},
		"an empty failure domain is refused": {
			spec:    image + "failureDomain: ''",
			refused: []string{"failureDomain", "should be at least 1 chars long"},
		},
	}
	examples := map[string]example{}
	for name, test := range tests {
		examples[name+" in a Metal3Machine"] = example{kind: "Metal3Machine", spec: test.spec, refused: test.refused}
		examples[name+" in a Metal3MachineTemplate"] = example{kind: "Metal3MachineTemplate", spec: template(test.spec), refused: test.refused}
	}
	checkExamples(t, examples)
}

// labels are so many entries of a map of labels.
func labels(count int) string {
	var list strings.Builder
	for i := range count {
		fmt.Fprintf(&list, "\n    l%d: x", i)
	}
	return list.String()
}

// values are so many values of a requirement.
func values(count int) string {
	list := make([]string, 0, count)
	for i := range count {
		list = append(list, fmt.Sprintf("v%d", i))
	}
	return strings.Join(list, ", ")
}

// References into other namespaces are refused in a machine. In a template only those to data
// templates are: a template of a ClusterClass may serve another namespace than its own.
func TestForeignReferences(t *testing.T) {
	const remedy = "remove the field, and name one that is there"
	examples := map[string]example{}
	for field, what := range map[string]string{"userData": "secrets", "metaData": "secrets", "networkData": "secrets", "dataTemplate": "templates"} {
		spec := fmt.Sprintf("customDeploy: {method: m}\n%s: {name: x, namespace: elsewhere}", field)
		examples[field+" of another namespace is refused"] = example{
			kind: "Metal3Machine", spec: spec, refused: []string{
				fmt.Sprintf(`spec.%s.namespace: Invalid value: "elsewhere": only %s of the same namespace`, field, what), remedy,
			},
		}
		of := example{kind: "Metal3MachineTemplate", spec: template(spec)}
		if what == "templates" {
			of.refused = []string{`spec.template.spec.dataTemplate.namespace: Invalid value: "elsewhere": only templates of the same namespace`, remedy}
		}
		examples[field+" of another namespace in a template"] = of
	}
	checkExamples(t, examples)
}

func TestMachineTemplate(t *testing.T) {
	const machine = "customDeploy: {method: m}"
	checkExamples(t, map[string]example{
		"labels and annotations go to the machines": {
			kind: "Metal3MachineTemplate",
			spec: "nodeReuse: true\ntemplate:\n  metadata: {labels: {a: b}, annotations: {c: d}}\n  spec: {" + machine + "}",
		},
		"failure domains may have data templates of their own": {
			kind: "Metal3MachineTemplate",
			spec: "failureDomainDataTemplates: [{failureDomain: rack-a, dataTemplate: {name: a}}, {failureDomain: rack-b, dataTemplate: {name: b}}]\n" +
				"template:\n  spec: {dataTemplate: {name: d}, " + machine + "}",
		},
		"a failure domain has one data template": {
			kind: "Metal3MachineTemplate",
			spec: "failureDomainDataTemplates: [{failureDomain: rack-a, dataTemplate: {name: a}}, {failureDomain: rack-a, dataTemplate: {name: b}}]\n" +
				"template:\n  spec: {dataTemplate: {name: d}, " + machine + "}",
			refused: []string{"spec.failureDomainDataTemplates", "rack-a"},
		},
		"the data template for all other failure domains is needed": {
			kind:    "Metal3MachineTemplate",
			spec:    "failureDomainDataTemplates: [{failureDomain: rack-a, dataTemplate: {name: a}}]\ntemplate:\n  spec: {" + machine + "}",
			refused: []string{"template.spec.dataTemplate is not", "for machines in any other failure domain"},
		},
		"the data template of a failure domain needs a name": {
			kind: "Metal3MachineTemplate",
			spec: "failureDomainDataTemplates: [{failureDomain: rack-a, dataTemplate: {namespace: x}}]\n" +
				"template:\n  spec: {dataTemplate: {name: d}, " + machine + "}",
			refused: []string{"spec.failureDomainDataTemplates[0].dataTemplate", "name is empty"},
		},
		"a failure domain that no host could have is refused": {
			kind: "Metal3MachineTemplate",
			spec: "failureDomainDataTemplates: [{failureDomain: rack a, dataTemplate: {name: a}}]\n" +
				"template:\n  spec: {dataTemplate: {name: d}, " + machine + "}",
			refused: []string{"spec.failureDomainDataTemplates[0].failureDomain", "no host can have a label"},
		},
		"a label that no machine could have is refused": {
			kind: "Metal3MachineTemplate", spec: "template:\n  metadata: {labels: {a: no value}}\n  spec: {" + machine + "}",
			refused: []string{`spec.template.metadata.labels: Invalid value: "no value"`, "must be an empty string or consist of alphanumeric characters"},
		},
		"an annotation that no machine could have is refused": {
			kind: "Metal3MachineTemplate", spec: "template:\n  metadata: {annotations: {no key: x}}\n  spec: {" + machine + "}",
			refused: []string{`spec.template.metadata.annotations: Invalid value: "no key"`, "name part must consist of alphanumeric characters"},
		},
		"a Metal3Machine needs a spec":              {kind: "Metal3Machine", refused: []string{"spec: Required value"}},
		"a template needs a spec":                   {kind: "Metal3MachineTemplate", refused: []string{"spec: Required value"}},
		"a template needs a machine":                {kind: "Metal3MachineTemplate", spec: "nodeReuse: true", refused: []string{"spec.template: Required value"}},
		"the machine of a template needs a spec":    {kind: "Metal3MachineTemplate", spec: "template: {metadata: {labels: {a: b}}}", refused: []string{"spec.template.spec: Required value"}},
		"the metadata of a template holds no names": {kind: "Metal3MachineTemplate", spec: "template:\n  metadata: {name: x}\n  spec: {" + machine + "}", refused: []string{"unknown field", "spec.template.metadata.name"}},
	})
}

// manyParameters are one more than a class takes.
func manyParameters() string {
	var keys []string
	for i := range 17 {
		keys = append(keys, fmt.Sprintf("k%d: v", i))
	}
	return strings.Join(keys, ", ")
}
