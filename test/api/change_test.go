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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
