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
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestMachineTemplatesStay applies a template and then applies it in another form,
// as users and as Cluster API's topology controller do.
func TestMachineTemplatesStay(t *testing.T) {
	const (
		remedy = "cannot be changed: make a new Metal3MachineTemplate, and name it instead of this one, so that machines are replaced"
		before = "template: {spec: {image: {url: 'http://i/1', checksum: a}, hostSelector: {matchLabels: {rack: a}}, dataTemplate: {name: t}}}"
		other  = "template: {spec: {image: {url: 'http://i/2', checksum: a}, hostSelector: {matchLabels: {rack: a}}, dataTemplate: {name: t}}}"
	)
	dryRun := []client.ApplyOption{client.DryRunAll}
	tests := map[string]struct {
		after string
		// rehearsed says that the object carries the annotation of the topology controller.
		rehearsed bool
		options   []client.ApplyOption
		refused   []string
	}{
		"the image stays": {
			after: other, refused: []string{`spec.template.spec.image: Invalid value: {"checksum":"a","url":"http://i/2"}`, remedy},
		},
		"every field that changes is named": {
			after: "template: {spec: {customDeploy: {method: m}, image: {url: 'http://i/1', checksum: a}}}",
			refused: []string{
				`spec.template.spec.customDeploy: Invalid value: {"method":"m"}`, "spec.template.spec.hostSelector: Invalid value: null", remedy,
			},
		},
		"an identity is not added": {
			after:   "template: {spec: {identityRef: {name: k}, image: {url: 'http://i/1', checksum: a}, hostSelector: {matchLabels: {rack: a}}, dataTemplate: {name: t}}}",
			refused: []string{`spec.template.spec.identityRef: Invalid value: {"name":"k"}`, remedy},
		},
		"a dry run of a user is refused like the write": {after: other, options: dryRun, refused: []string{"spec.template.spec.image", remedy}},
		"a dry run of the topology controller is not refused": {
			after: other, rehearsed: true, options: dryRun,
		},
		"the annotation of the topology controller does not let a write pass": {
			after: other, rehearsed: true, refused: []string{"spec.template.spec.image", remedy},
		},
		"a dry run of the topology controller hears of what is wrong with a new template": {
			after:     "template: {spec: {image: {url: 'http://i/2', checksum: a}, hostSelector: {matchLabels: {rack: a b}}}}",
			rehearsed: true, options: dryRun, refused: []string{"spec.template.spec.hostSelector.matchLabels", `"a b"`},
		},
		"templates of failure domains may be added": {
			after: "failureDomainDataTemplates: [{failureDomain: rack-a, dataTemplate: {name: a}}]\n" + before,
		},
		"node reuse may be switched on":         {after: "nodeReuse: true\n" + before},
		"the cleaning mode may change":          {after: "template: {spec: {automatedCleaningMode: disabled, image: {url: 'http://i/1', checksum: a}, hostSelector: {matchLabels: {rack: a}}, dataTemplate: {name: t}}}"},
		"labels for new machines may change":    {after: "template: {metadata: {labels: {a: b}}, spec: {image: {url: 'http://i/1', checksum: a}, hostSelector: {matchLabels: {rack: a}}, dataTemplate: {name: t}}}"},
		"a template may be applied as it is":    {after: before},
		"what means the same may be written so": {after: "nodeReuse: false\n" + before},
	}
	namespace := server.Namespace(t, "stay", nil)
	count := 0
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			count++
			first, second := newObject(t, "Metal3MachineTemplate", before), newObject(t, "Metal3MachineTemplate", test.after)
			for _, object := range []*unstructured.Unstructured{first, second} {
				object.SetNamespace(namespace)
				object.SetName(fmt.Sprintf("template-%d", count))
			}
			if err := apply(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if test.rehearsed {
				second.SetAnnotations(map[string]string{"topology.cluster.x-k8s.io/dry-run": ""})
			}
			checkAnswer(t, apply(t.Context(), second, test.options...), test.refused)
		})
	}
}

// TestIdentityOfAMachineStays changes the identityRef of a machine that shows, in one
// way or another, whether it has a claim.
func TestIdentityOfAMachineStays(t *testing.T) {
	const (
		remote = "identityRef: {name: one, context: tenant}\ncustomDeploy: {method: m}\n"
		local  = "customDeploy: {method: m}\n"
		said   = "the machine has a claim on a host already, and it was made with secret \"one\" and context \"tenant\""
		remedy = "to renew credentials, change the content of the secret; to take a host from elsewhere, delete the Machine"
	)
	condition := func(conditionType, status, reason string) string {
		return "conditions: [{type: " + conditionType + ", status: '" + status + "', reason: " + reason +
			", message: '', lastTransitionTime: '2026-01-02T03:04:05Z'}]"
	}
	effective := map[string]string{"hostclaim.metal3.io/effective-identity": `{"name":"one"}`}
	tests := map[string]struct {
		before, status, after string
		annotations           map[string]string
		refused               []string
	}{
		"a machine without a claim may be given another identity": {before: remote, after: "identityRef: {name: two}\n" + local},
		"a machine without a claim may lose its identity":         {before: remote, after: local},
		"a machine that waits for its bootstrap data may be given an identity": {
			before: local, after: remote, status: condition(infrav1.AssociateBareMetalHostCondition, "False", infrav1.WaitingForBootstrapDataReason),
		},
		"a recorded identity stays": {
			before: remote, after: "identityRef: {name: two}\n" + local, annotations: effective,
			refused: []string{`spec.identityRef: Invalid value: {"name":"two"}`, said, remedy},
		},
		"the context of a recorded identity stays": {
			before: remote, after: "identityRef: {name: one}\n" + local, annotations: effective,
			refused: []string{`spec.identityRef: Invalid value: {"name":"one"}`, said, remedy},
		},
		"a recorded identity is not taken away": {
			before: remote, after: local, annotations: effective, refused: []string{"spec.identityRef: Invalid value: null", said, remedy},
		},
		"the recorded identity of the cluster is not overruled later": {
			before: local, after: remote, annotations: effective,
			refused: []string{"spec.identityRef: Invalid value", "it was made without an identityRef of the machine's own", remedy},
		},
		"a machine whose claim waits for a host gets no identity": {
			before: local, after: remote, status: condition(infrav1.AssociateBareMetalHostCondition, "False", infrav1.HostClaimNotBoundReason),
			refused: []string{"spec.identityRef: Invalid value", remedy},
		},
		"a machine with a host gets no identity": {
			before: local, after: remote, status: condition(infrav1.AssociateBareMetalHostCondition, "True", infrav1.AssociateBareMetalHostSuccessReason),
			refused: []string{"spec.identityRef: Invalid value", remedy},
		},
		"a machine that lost its status in a move gets no identity, by its host": {
			before: local, after: remote, annotations: map[string]string{infrav1.HostAnnotation: "infra/host"},
			refused: []string{"spec.identityRef: Invalid value", remedy},
		},
		"a machine that lost its status in a move gets no identity, by its provider ID": {
			before: local + "providerID: 'metal3://a/b/c'", after: remote + "providerID: 'metal3://a/b/c'",
			refused: []string{"spec.identityRef: Invalid value", remedy},
		},
		"everything else of a machine with a claim may change": {
			before: remote, after: remote + "image: {url: 'http://i/2', checksum: a}", annotations: effective,
		},
	}
	namespace := server.Namespace(t, "identity", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			machine := newObject(t, "Metal3Machine", test.before)
			machine.SetNamespace(namespace)
			machine.SetGenerateName("machine-")
			machine.SetAnnotations(test.annotations)
			if test.status != "" {
				machine.Object["status"] = newObject(t, "Metal3Machine", test.status).Object["spec"]
			}
			stored, err := store(t.Context(), machine)
			if err != nil {
				t.Fatal(err)
			}
			changed := stored.DeepCopy()
			changed.Object["spec"] = newObject(t, "Metal3Machine", test.after).Object["spec"]
			checkAnswer(t, server.Client.Patch(t.Context(), changed, client.MergeFrom(stored)), test.refused)
		})
	}
}
