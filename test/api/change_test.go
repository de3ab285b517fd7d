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
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// bonded is network data with a bond whose links are looked at so often.
func bonded(miimon int) string {
	return fmt.Sprintf("{links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth0}}], "+
		"bonds: [{id: b, bondMode: 802.3ad, bondLinks: [a], parameters: [{name: miimon, value: %d}]}]}}", miimon)
}

// TestChanges applies an object and then applies it again in another form.
func TestChanges(t *testing.T) {
	const (
		newTemplate = "make a new Metal3DataTemplate and name it in a new Metal3MachineTemplate"
		newClaim    = "cannot be changed: delete the claim and make a new one"
		newData     = "cannot be changed: delete the Metal3DataClaim and make a new one"
	)
	tests := map[string]struct {
		kind, name    string
		before, after string
		refused       []string
	}{
		"the metadata of a template stays": {
			kind: "Metal3DataTemplate", name: "a",
			before: "metaData: {strings: [{key: k, value: x}]}", after: "metaData: {strings: [{key: k, value: z}]}",
			refused: []string{"spec: Forbidden", "metaData cannot be changed", newTemplate},
		},
		"metadata is not added to a template": {
			kind: "Metal3DataTemplate", name: "b",
			before: "networkData: {services: {dns: [192.0.2.1]}}", after: "metaData: {namespaces: [{key: k}]}\nnetworkData: {services: {dns: [192.0.2.1]}}",
			refused: []string{"metaData cannot be changed", newTemplate},
		},
		"metadata is not taken from a template": {
			kind: "Metal3DataTemplate", name: "c",
			before: "metaData: {namespaces: [{key: k}]}\nclusterName: x", after: "clusterName: x",
			refused: []string{"metaData cannot be changed", newTemplate},
		},
		"the network data of a template stays": {
			kind: "Metal3DataTemplate", name: "d",
			before: "networkData: {services: {dns: [192.0.2.1]}}", after: "networkData: {services: {dns: [192.0.2.2]}}",
			refused: []string{"spec: Forbidden", "networkData cannot be changed", newTemplate},
		},
		"network data is not taken from a template": {
			kind: "Metal3DataTemplate", name: "e",
			before: "networkData: {services: {dns: [192.0.2.1]}}\nclusterName: x", after: "clusterName: x",
			refused: []string{"networkData cannot be changed", newTemplate},
		},
		"the parameters of a bond stay": {
			kind: "Metal3DataTemplate", name: "f",
			before:  "networkData: " + bonded(100),
			after:   "networkData: " + bonded(200),
			refused: []string{"networkData cannot be changed", newTemplate},
		},
		"data is not taken from a template with its spec": {
			kind: "Metal3DataTemplate", name: "g",
			before: "metaData: {namespaces: [{key: k}]}", after: "",
			refused: []string{"metaData and networkData cannot be added or removed", newTemplate},
		},
		"data is not added to a template with its spec": {
			kind: "Metal3DataTemplate", name: "i",
			before: "", after: "networkData: {services: {dns: [192.0.2.1]}}",
			refused: []string{"metaData and networkData cannot be added or removed", newTemplate},
		},
		"a spec without data may come": {kind: "Metal3DataTemplate", name: "j", before: "", after: "clusterName: x"},
		"a spec without data may go":   {kind: "Metal3DataTemplate", name: "k", before: "clusterName: x", after: ""},
		"the cluster name of an old template may go": {
			kind: "Metal3DataTemplate", name: "h",
			before: "clusterName: x\nmetaData: {namespaces: [{key: k}]}", after: "metaData: {namespaces: [{key: k}]}",
		},

		"a claim keeps its template": {
			kind: "Metal3DataClaim", name: "a", before: "template: {name: x}", after: "template: {name: z}",
			refused: []string{"spec: Forbidden", "template " + newClaim},
		},
		"a claim keeps the namespace of its template": {
			kind: "Metal3DataClaim", name: "b", before: "template: {name: x}", after: "template: {name: x, namespace: z}",
			refused: []string{"template " + newClaim},
		},

		"data keeps its index": {
			kind: "Metal3Data", name: "t-1", before: "index: 1\ntemplate: {name: t}", after: "index: 2\ntemplate: {name: t}",
			refused: []string{"index " + newData},
		},
		"data keeps its template": {
			kind: "Metal3Data", name: "t-2", before: "index: 2\ntemplate: {name: t}", after: "index: 2\ntemplate: {name: t, namespace: z}",
			refused: []string{"spec: Forbidden", "template " + newData},
		},
		"data keeps its claim": {
			kind: "Metal3Data", name: "t-3", before: "index: 3\ntemplate: {name: t}\nclaim: {name: x}", after: "index: 3\ntemplate: {name: t}\nclaim: {name: z}",
			refused: []string{"claim " + newData},
		},
		"data does not lose its claim": {
			kind: "Metal3Data", name: "t-4", before: "index: 4\ntemplate: {name: t}\nclaim: {name: x}", after: "index: 4\ntemplate: {name: t}",
			refused: []string{"claim " + newData},
		},
		"an index of 0 may be written or left out": {
			kind: "Metal3Data", name: "t-0", before: "template: {name: t}", after: "index: 0\ntemplate: {name: t}",
		},
		"data learns the names of its secrets": {
			kind: "Metal3Data", name: "t-5", before: "index: 5\ntemplate: {name: t}",
			after: "index: 5\ntemplate: {name: t}\nmetaData: {name: a}\nnetworkData: {name: b}",
		},

		"a machine may be given another image": {
			kind: "Metal3Machine", name: "a",
			before: "image: {url: 'http://i/1', checksum: a}", after: "image: {url: 'http://i/2', checksum: b}",
		},
		"a template of clusters may change": {
			kind: "Metal3ClusterTemplate", name: "a",
			before: "template: {spec: {controlPlaneEndpoint: {host: a}}}", after: "template: {spec: {controlPlaneEndpoint: {host: b}}}",
		},
		"a reference of a machine is not turned to another namespace": {
			kind: "Metal3Machine", name: "c",
			before: "customDeploy: {method: m}\nuserData: {name: a}", after: "customDeploy: {method: m}\nuserData: {name: a, namespace: elsewhere}",
			refused: []string{`spec.userData.namespace: Invalid value: "elsewhere": only secrets of the same namespace`},
		},
		"a selector is checked when it changes": {
			kind: "Metal3Machine", name: "d",
			before: "customDeploy: {method: m}", after: "customDeploy: {method: m}\nhostSelector: {matchLabels: {rack: a b}}",
			refused: []string{"spec.hostSelector.matchLabels: Invalid value", `"a b"`},
		},
		"a change is checked like a new object": {
			kind: "Metal3Machine", name: "b",
			before: "image: {url: 'http://i/1', checksum: a}", after: "image: {url: 'http://i/1'}",
			refused: []string{"image.checksum is empty"},
		},
		"an endpoint that is set stays": {
			kind: "Metal3Cluster", name: "b",
			before: "controlPlaneEndpoint: {host: h, port: 6443}", after: "controlPlaneEndpoint: {host: h, port: 16555}",
			refused: []string{
				`spec.controlPlaneEndpoint: Invalid value: "h:16555": cannot be changed from h:6443`,
				"to make a second cluster, give it another name", "the annotation cluster.x-k8s.io/paused",
			},
		},
		"an endpoint that is set is not taken away": {
			kind: "Metal3Cluster", name: "c", before: "controlPlaneEndpoint: {host: h}", after: "{}",
			refused: []string{"spec.controlPlaneEndpoint: Invalid value", "cannot be changed from h:6443"},
		},
		"the default port of an endpoint may be written out": {
			kind: "Metal3Cluster", name: "d", before: "controlPlaneEndpoint: {host: h}", after: "controlPlaneEndpoint: {host: h, port: 6443}",
		},
		"a data template of another namespace is not added": {
			kind: "Metal3MachineTemplate", name: "a",
			before:  "template: {spec: {customDeploy: {method: m}, dataTemplate: {name: d}}}",
			after:   "failureDomainDataTemplates: [{failureDomain: a, dataTemplate: {name: x, namespace: elsewhere}}]\ntemplate: {spec: {customDeploy: {method: m}, dataTemplate: {name: d}}}",
			refused: []string{`spec.failureDomainDataTemplates[0].dataTemplate.namespace: Invalid value: "elsewhere": only templates of the same namespace`},
		},
		"an endpoint may be set later": {
			kind: "Metal3Cluster", name: "a", before: "{}", after: "controlPlaneEndpoint: {host: h, port: 6443}",
		},
	}
	namespace := server.Namespace(t, "changes", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := newObject(t, test.kind, test.before), newObject(t, test.kind, test.after)
			for _, object := range []interface {
				SetNamespace(namespace string)
				SetName(name string)
			}{before, after} {
				object.SetNamespace(namespace)
				object.SetName(test.name)
			}
			if err := apply(t.Context(), before); err != nil {
				t.Fatalf("the first form is refused: %v", err)
			}
			checkAnswer(t, apply(t.Context(), after), test.refused)
		})
	}
}

// A paused Metal3Cluster may have its endpoint set right.
func TestEndpointOfAPausedCluster(t *testing.T) {
	cluster := &infrav1.Metal3Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t, "paused", nil), Name: "c"},
		Spec:       infrav1.Metal3ClusterSpec{ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "h", Port: 16555}},
	}
	if err := server.Client.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		about   string
		change  func()
		refused []string
	}{
		{"pause and change at once", func() {
			cluster.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			cluster.Spec.ControlPlaneEndpoint.Port = 6443
		}, []string{"cannot be changed"}},
		{"pause", func() { cluster.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }, nil},
		{"change", func() { cluster.Spec.ControlPlaneEndpoint.Port = 6443 }, nil},
		{"go on", func() { cluster.Annotations = nil }, nil},
		{"change again", func() { cluster.Spec.ControlPlaneEndpoint.Port = 6444 }, []string{"cannot be changed from h:6443"}},
	} {
		t.Run(step.about, func(t *testing.T) {
			before := cluster.DeepCopy()
			step.change()
			err := server.Client.Patch(t.Context(), cluster, client.MergeFrom(before))
			checkAnswer(t, err, step.refused)
			if err != nil {
				before.DeepCopyInto(cluster)
			}
		})
	}
}

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
		// rehearsed is true if the object carries the annotation of the topology controller.
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

// TestIdentityOfAMachineStays changes the identityRef or the class of a machine that shows, in one
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
		"a machine without a claim may be given another class": {before: "hostClass: {name: large}\n" + local, after: "hostClass: {name: small}\n" + local},
		"the class of a machine with a claim stays": {
			before: "hostClass: {name: large}\n" + remote, after: "hostClass: {name: small}\n" + remote, annotations: effective,
			refused: []string{"spec.hostClass: Invalid value", "to have another class, name it in a new Metal3MachineTemplate"},
		},
		"the class of a machine whose status names a claim stays": {
			before: "hostClass: {name: large}\n" + local, after: "hostClass: {name: small}\n" + local, status: "hostClaim: {name: m}",
			refused: []string{"spec.hostClass: Invalid value"},
		},
		"the parameters of the class of a machine with a claim stay": {
			before: "hostClass: {name: large}\n" + remote, after: "hostClass: {name: large, parameters: {cores: '8'}}\n" + remote,
			annotations: effective, refused: []string{"spec.hostClass: Invalid value"},
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

// TestDefaults compares what is sent with what the server makes of it.
func TestDefaults(t *testing.T) {
	tests := map[string]struct{ kind, spec, want string }{
		"a host gets the usual port, and no cloud provider is expected": {
			kind: "Metal3Cluster", spec: "controlPlaneEndpoint: {host: h}",
			want: "cloudProviderEnabled: false\ncontrolPlaneEndpoint: {host: h, port: 6443}",
		},
		"a port of 0 becomes the usual one, as with CAPM3": {
			kind: "Metal3Cluster", spec: "cloudProviderEnabled: true\ncontrolPlaneEndpoint: {host: h, port: 0}",
			want: "cloudProviderEnabled: true\ncontrolPlaneEndpoint: {host: h, port: 6443}",
		},
		"an endpoint that a control plane provider sets stays empty": {kind: "Metal3Cluster", want: "cloudProviderEnabled: false"},
		"a template of clusters says nothing of a cloud provider": {
			kind: "Metal3ClusterTemplate", spec: "template: {spec: {controlPlaneEndpoint: {host: h}}}",
			want: "template: {spec: {controlPlaneEndpoint: {host: h, port: 6443}}}",
		},
		"nodes are not reused": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}}}",
			want: "nodeReuse: false\ntemplate: {spec: {customDeploy: {method: m}}}",
		},
		"a machine stays as it is": {
			kind: "Metal3Machine", spec: "customDeploy: {method: m}", want: "customDeploy: {method: m}",
		},
		"an index counts in steps of 1, and a pool is an IPPool of metal3": {
			kind: "Metal3DataTemplate", spec: "metaData: {indexes: [{key: k}], gatewaysFromPool: [{key: g, name: p}]}",
			want: "metaData: {indexes: [{key: k, step: 1}], gatewaysFromPool: [{key: g, name: p, kind: IPPool, apiGroup: ipam.metal3.io}]}",
		},
		"a link has the MTU of Ethernet": {
			kind: "Metal3DataTemplate", spec: "networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: e}}]}}",
			want: "networkData: {links: {ethernets: [{type: phy, id: a, mtu: 1500, macAddress: {fromHostInterface: e}}]}}",
		},
		"a remediation without a strategy stays as it is": {kind: "Metal3Remediation", spec: "{}", want: "{}"},
		"a strategy is to reboot once, and to wait 10 minutes": {
			kind: "Metal3RemediationTemplate", spec: "template: {spec: {strategy: {}}}",
			want: "template: {spec: {strategy: {type: Reboot, retryLimit: 1, timeoutSeconds: 600}}}",
		},
	}
	namespace := server.Namespace(t, "defaults", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := server.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Fatal(err)
			}
			want := newObject(t, test.kind, test.want)
			if diff := cmp.Diff(inJSON(t, want.Object["spec"]), inJSON(t, object.Object["spec"])); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

// inJSON makes numbers that YAML and the server read differently the same.
func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listener hears the warnings of an API server.
type listener struct{ heard []string }

// HandleWarningHeader notes a warning.
func (l *listener) HandleWarningHeader(_ int, _, text string) {
	l.heard = append(l.heard, text)
}

// listen returns a client and what its user is warned of.
func listen(t *testing.T) (client.Client, *listener) {
	t.Helper()
	ear := &listener{}
	config := rest.CopyConfig(server.Config)
	config.WarningHandler = ear
	c, err := client.New(config, client.Options{Scheme: server.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, ear
}

// TestWarnings sends objects that are taken with a warning, such as those that are not
// carried out yet: the answer to kubectl apply is what their author reads.
func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		kind, spec string
		want       []string
	}{
		"a template without a fault is taken without a word": {kind: "Metal3DataTemplate", spec: "metaData: {namespaces: [{key: k}]}"},
		"the cluster name of old templates is out of use": {
			kind: "Metal3DataTemplate", spec: "clusterName: old", want: []string{"spec.clusterName is not used any more: leave it out"},
		},
		"a key of two lists counts once": {
			kind: "Metal3DataTemplate", spec: "metaData: {strings: [{key: k, value: x}], namespaces: [{key: k}]}",
			want: []string{`spec.metaData: key "k" is in strings and namespaces: only strings counts`},
		},
		"a template of machines that only serves another namespace": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}, metaData: {name: x, namespace: elsewhere}}}",
			want: []string{`spec.template.spec.metaData.namespace is "elsewhere": machines of any other namespace, such as this one, are refused; leave it out`},
		},
	}
	namespace := server.Namespace(t, "warnings", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, ear := listen(t)
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ear.heard); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// Machines of two clusters with one endpoint join the one that answers, and nothing else reports
// that.
func TestWarnedOfAnEndpointThatAnotherClusterHas(t *testing.T) {
	warned := func(namespace, name, endpoint string) []string {
		t.Helper()
		c, ear := listen(t)
		object := newObject(t, "Metal3Cluster", "controlPlaneEndpoint: "+endpoint)
		object.SetNamespace(namespace)
		object.SetName(name)
		if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return ear.heard
	}
	namespace, other := server.Namespace(t, "endpoints", nil), server.Namespace(t, "endpoints", nil)
	first := newObject(t, "Metal3Cluster", "controlPlaneEndpoint: {host: 192.0.2.1, port: 443}")
	first.SetNamespace(namespace)
	first.SetName("first")
	if err := server.Client.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	want := []string{"spec.controlPlaneEndpoint: Metal3Cluster first has 192.0.2.1 port 443 as well: give each cluster one of its own"}
	var heard []string
	// The webhook reads from a cache.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		heard = warned(namespace, "second", "{host: 192.0.2.1, port: 443}")
		return cmp.Equal(want, heard), nil
	})
	if err != nil {
		t.Errorf("%v: heard %q, want %q", err, heard, want)
	}
	for _, fine := range [][]string{
		warned(namespace, "second", "{host: 192.0.2.1, port: 444}"), warned(other, "second", "{host: 192.0.2.1, port: 443}"),
	} {
		if len(fine) > 0 {
			t.Errorf("warned without a cause: %q", fine)
		}
	}
}

// TestWebhooksAreAskedAboutSpecs changes objects that get a warning whenever a webhook looks
// at them: those who only label them, or put finalizers on, wait for no webhook.
func TestWebhooksAreAskedAboutSpecs(t *testing.T) {
	tests := map[string]struct{ kind, spec, change string }{
		"a machine": {
			kind: "Metal3Machine", spec: "{customDeploy: {method: m}, automatedCleaningMode: disabled}",
			change: `{"spec": {"userData": {"name": "x"}}}`,
		},
		"a template of machines": {
			kind: "Metal3MachineTemplate", spec: "template: {spec: {customDeploy: {method: m}, automatedCleaningMode: disabled}}",
			change: `{"spec": {"nodeReuse": true}}`,
		},
	}
	namespace := server.Namespace(t, "asked", nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, ear := listen(t)
			object := newObject(t, test.kind, test.spec)
			object.SetNamespace(namespace)
			object.SetName("example")
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			patch := func(text string) (warnings int) {
				ear.heard = nil
				if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
					t.Fatal(err)
				}
				return len(ear.heard)
			}
			if n := patch(`{"metadata": {"labels": {"l": "v"}, "annotations": {"a": "v"}, "finalizers": ["example.com/f"]}}`); n > 0 {
				t.Errorf("a webhook was asked about metadata: %q", ear.heard)
			}
			if n := patch(test.change); n == 0 {
				t.Error("no webhook was asked about a spec")
			}
			patch(`{"metadata": {"finalizers": null}}`)
		})
	}
}
