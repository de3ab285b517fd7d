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
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
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

// unserved are the groups of which this API server has no CRDs.
var unserved = map[string]bool{"bootstrap.cluster.x-k8s.io": true, "controlplane.cluster.x-k8s.io": true}

// The templates and samples that we ship are taken by a dry run of server-side
// apply that knows every field.
func TestShippedManifests(t *testing.T) {
	repo, err := components.FindRepo(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"infra", "tenant-a"} {
		err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(repo.Path("templates", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := manifests.Process(text, variables)
			if err != nil {
				t.Fatal(err)
			}
			dryRun(t, objects)
		})
	}
	t.Run("config/samples", func(t *testing.T) {
		objects, err := manifests.Render(repo.Path("config", "samples"), nil)
		if err != nil {
			t.Fatal(err)
		}
		dryRun(t, objects)
	})
}

// variables are what a user must set for the templates.
var variables = manifests.Variables{
	"NAMESPACE": "tenant-a", "CLUSTER_NAME": "blue",
	"CLUSTER_APIENDPOINT_HOST": "192.0.2.10", "KUBERNETES_VERSION": "v1.36.1",
	"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2",
	"IMAGE_URL": "http://images.example.com/node.qcow2", "IMAGE_CHECKSUM": "http://images.example.com/node.qcow2.sha256",
	"IPPOOL_START": "192.0.2.20", "IPPOOL_END": "192.0.2.40", "IPPOOL_GATEWAY": "192.0.2.1", "DNS_SERVER": "192.0.2.53",
	"IPPOOL6_START": "2001:db8::20", "IPPOOL6_END": "2001:db8::40", "IPPOOL6_GATEWAY": "2001:db8::1",
	"FAILURE_DOMAIN_1": "rack-1", "FAILURE_DOMAIN_2": "rack-2",
}

func dryRun(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	seen := 0
	for _, object := range objects {
		if unserved[object.GroupVersionKind().Group] {
			continue
		}
		seen++
		// clusterctl and kubectl fill in the namespace in the same way.
		namespaced, err := server.Client.IsObjectNamespaced(object)
		if err != nil {
			t.Fatal(err)
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(variables["NAMESPACE"])
		}
		if err := apply(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	if seen == 0 {
		t.Error("there is nothing to check")
	}
}

func TestRemediationSpec(t *testing.T) {
	tests := map[string]struct {
		spec    string
		refused []string
	}{
		"a strategy may be left out":        {spec: "{}"},
		"a strategy may be empty":           {spec: "strategy: {}"},
		"a full strategy is fine":           {spec: "strategy: {type: Reboot, retryLimit: 3, timeoutSeconds: 100}"},
		"an unknown strategy is refused":    {spec: "strategy: {type: Replace}", refused: []string{"strategy.type: Unsupported value: \"Replace\"", `supported values: "Reboot"`}},
		"a retry limit is at least 1":       {spec: "strategy: {retryLimit: 0}", refused: []string{"strategy.retryLimit", "should be greater than or equal to 1"}},
		"a timeout is at least 100 s":       {spec: "strategy: {timeoutSeconds: 99}", refused: []string{"strategy.timeoutSeconds", "should be greater than or equal to 100"}},
		"the timeout of v1beta1 is unknown": {spec: "strategy: {timeout: 5m}", refused: []string{"unknown field", "strategy.timeout"}},
	}
	examples := map[string]example{
		"a Metal3Remediation without a spec is fine": {kind: "Metal3Remediation"},
		"a template needs a remediation":             {kind: "Metal3RemediationTemplate", spec: "{}", refused: []string{"spec.template: Required value"}},
		"the remediation of a template needs a spec": {kind: "Metal3RemediationTemplate", spec: "template: {}", refused: []string{"spec.template.spec: Required value"}},
	}
	for name, test := range tests {
		examples[name+" in a Metal3Remediation"] = example{kind: "Metal3Remediation", spec: test.spec, refused: test.refused}
		examples[name+" in a Metal3RemediationTemplate"] = example{kind: "Metal3RemediationTemplate", spec: template(test.spec), refused: test.refused}
	}
	checkExamples(t, examples)
}

// TestStatus writes statuses as our managers do: what they may come to report
// must fit.
func TestStatus(t *testing.T) {
	items := func(count int, item string) string {
		var list strings.Builder
		for i := range count {
			fmt.Fprintf(&list, "\n- "+item, i)
		}
		return list.String()
	}
	const (
		address   = "{type: InternalIP, address: 192.0.2.%d}"
		index     = "{index: %[1]d, name: m%[1]d}"
		condition = "{type: C%d, status: 'True', reason: R, message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}"
	)
	tests := map[string]struct {
		kind, status string
		refused      []string
	}{
		"a machine may have 32 addresses": {kind: "Metal3Machine", status: "addresses:" + items(32, address)},
		"a machine has at most 32 addresses": {
			kind: "Metal3Machine", status: "addresses:" + items(33, address),
			refused: []string{"status.addresses: Too many", "must have at most 32 items"},
		},
		"an address has a type that Cluster API knows": {
			kind: "Metal3Machine", status: "addresses: [{type: MAC, address: x}]",
			refused: []string{"status.addresses[0].type: Unsupported value", `"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"`},
		},
		"an initialization that says nothing is refused": {
			kind: "Metal3Machine", status: "initialization: {}", refused: []string{"status.initialization", "should have at least 1 properties"},
		},
		"there are at most 32 conditions": {
			kind: "Metal3Machine", status: "conditions:" + items(33, condition),
			refused: []string{"status.conditions: Too many", "must have at most 32 items"},
		},
		"a condition needs a reason": {
			kind: "Metal3Cluster", status: "conditions: [{type: Ready, status: 'True', message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}]",
			refused: []string{"status.conditions[0].reason: Required value"},
		},
		"a template may serve many more than 512 machines": {kind: "Metal3DataTemplate", status: "indexes:" + items(2000, index)},
		"an index is held by one claim": {
			kind: "Metal3DataTemplate", status: "indexes: [{index: 1, name: a}, {index: 1, name: b}]",
			refused: []string{"status.indexes[1]: Duplicate value"},
		},
		"an error may be told at length":            {kind: "Metal3Data", status: "errorMessage: " + strings.Repeat("long ", 1000)},
		"an error of a claim may be told at length": {kind: "Metal3DataClaim", status: "errorMessage: " + strings.Repeat("long ", 1000)},
		"a machine may be on its way out":           {kind: "Metal3Remediation", status: "phase: Deleting machine"},
		"an unknown phase is refused with the known ones": {
			kind: "Metal3Remediation", status: "phase: Done",
			refused: []string{"status.phase: Unsupported value: \"Done\"", `"Running", "Waiting", "Deleting machine", "Failed"`},
		},
	}
	namespace := server.Namespace(t, "status", nil)
	for kind := range crds {
		object := everyField(t, kind, namespace)
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := everyField(t, test.kind, namespace)
			patch, err := yaml.YAMLToJSON([]byte("status:\n" + indented(2, test.status)))
			if err != nil {
				t.Fatal(err)
			}
			err = server.Client.Status().Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", patch),
				client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkAnswer(t, err, test.refused)
		})
	}
}
