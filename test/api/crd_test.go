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
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// shape is what clusterctl, kubectl and Cluster API look at in a CRD.
type shape struct {
	Labels     map[string]string
	Versions   []string
	Scope      apiextensionsv1.ResourceScope
	Plural     string
	ShortNames []string
	Categories []string
	HasStatus  bool
}

func TestCRDs(t *testing.T) {
	provider := map[string]string{
		"cluster.x-k8s.io/provider": "infrastructure-metal3", "cluster.x-k8s.io/v1beta1": "v1beta1",
		"cluster.x-k8s.io/v1beta2": "v1beta2", "clusterctl.cluster.x-k8s.io": "",
	}
	moved := maps.Clone(provider)
	moved["clusterctl.cluster.x-k8s.io/move"] = ""
	ours := func(plural string, hasStatus bool, labels map[string]string, shortNames ...string) shape {
		return shape{
			Labels: labels, Versions: []string{"v1beta1", "v1beta2"}, Scope: apiextensionsv1.NamespaceScoped,
			Plural: plural, ShortNames: shortNames, Categories: []string{"cluster-api"}, HasStatus: hasStatus,
		}
	}
	theirs := func(plural string, labels map[string]string) shape {
		return shape{
			Labels: labels, Versions: []string{"v1alpha1"}, Scope: apiextensionsv1.NamespaceScoped, Plural: plural, HasStatus: true,
		}
	}
	want := map[string]shape{
		"Metal3Cluster":             ours("metal3clusters", true, provider, "m3c", "m3cluster", "m3clusters", "metal3c", "metal3cluster"),
		"Metal3ClusterTemplate":     ours("metal3clustertemplates", false, provider, "m3ct"),
		"Metal3Machine":             ours("metal3machines", true, provider, "m3m", "m3machine", "m3machines", "metal3m", "metal3machine"),
		"Metal3MachineTemplate":     ours("metal3machinetemplates", true, provider, "m3mt", "m3machinetemplate", "m3machinetemplates", "metal3mt", "metal3machinetemplate"),
		"Metal3DataTemplate":        ours("metal3datatemplates", true, moved, "m3dt", "m3datatemplate", "m3datatemplates", "metal3dt", "metal3datatemplate"),
		"Metal3DataClaim":           ours("metal3dataclaims", true, provider, "m3dc", "m3dataclaim", "m3dataclaims", "metal3dc", "metal3dataclaim"),
		"Metal3Data":                ours("metal3datas", true, provider, "m3d", "m3data", "m3datas", "metal3d", "metal3data"),
		"Metal3Remediation":         ours("metal3remediations", true, provider, "m3r", "m3remediation"),
		"Metal3RemediationTemplate": ours("metal3remediationtemplates", true, provider, "m3rt", "m3remediationtemplate", "m3remediationtemplates", "metal3rt", "metal3remediationtemplate"),
		"HostClaim":                 theirs("hostclaims", map[string]string{"clusterctl.cluster.x-k8s.io": ""}),
		"HostDeployPolicy":          theirs("hostdeploypolicies", nil),
	}
	got := map[string]shape{}
	for kind, crd := range crds {
		seen := shape{
			Labels: crd.Labels, Scope: crd.Spec.Scope, Plural: crd.Spec.Names.Plural,
			ShortNames: crd.Spec.Names.ShortNames, Categories: crd.Spec.Names.Categories,
		}
		for _, version := range crd.Spec.Versions {
			seen.Versions = append(seen.Versions, version.Name)
			seen.HasStatus = version.Subresources != nil && version.Subresources.Status != nil
			old := version.Name == "v1beta1"
			if !version.Served || version.Storage == old || version.Deprecated != old {
				t.Errorf("%s %s: served %t, stored %t, deprecated %t", kind, version.Name, version.Served, version.Storage, version.Deprecated)
			}
		}
		got[kind] = seen
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// clusterctl derives the name of a CRD from its kind; the plural of Metal3Data
// is another, and only this annotation makes clusterctl take it.
func TestIrregularPlural(t *testing.T) {
	for kind, crd := range crds {
		_, found := crd.Annotations["clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check"]
		if found != (kind == "Metal3Data") {
			t.Errorf("%s: the check of the name is skipped: %t", kind, found)
		}
	}
}

// Manifests and stored objects of CAPM3 are taken unchanged, by the schema and by
// the webhooks; the server may add defaults and loses nothing.
func TestObjectsOfCAPM3(t *testing.T) {
	namespace := server.Namespace(t, "capm3", nil)
	for _, object := range readObjects(t, "capm3-v1beta2.yaml", namespace) {
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			stored, err := store(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range lost(object.Object, stored.Object, "") {
				t.Errorf("not stored as it was sent: %s", path)
			}
		})
	}
}

// lost lists the paths at which stored lacks what was sent, or has another value.
func lost(sent, stored any, path string) []string {
	switch sent := sent.(type) {
	case map[string]any:
		object, _ := stored.(map[string]any)
		var paths []string
		for name, value := range sent {
			if _, found := object[name]; !found {
				paths = append(paths, path+"."+name+" is missing")
				continue
			}
			paths = append(paths, lost(value, object[name], path+"."+name)...)
		}
		return paths
	case []any:
		list, _ := stored.([]any)
		if len(list) != len(sent) {
			return []string{fmt.Sprintf("%s has %d items instead of %d", path, len(list), len(sent))}
		}
		var paths []string
		for i, value := range sent {
			paths = append(paths, lost(value, list[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return paths
	}
	if !reflect.DeepEqual(sent, stored) {
		return []string{fmt.Sprintf("%s is %v instead of %v", path, stored, sent)}
	}
	return nil
}

// The API server cannot delete an object that fills a request to etcd, so a machine that has a
// server does not grow so large, by its metadata alone or with its spec. test/tenant grows claims to
// the last byte.
func TestAttackMachineGrownUntilNobodyCanDeleteIt(t *testing.T) {
	labels := func(n int) map[string]string {
		all := make(map[string]string, n)
		for i := range n {
			all[fmt.Sprint("l", i)] = strings.Repeat("v", 63)
		}
		return all
	}
	machine := func(name string, labels map[string]string) *infrav1.Metal3Machine {
		return &infrav1.Metal3Machine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: server.Namespace(t, "large", nil), Name: name, Labels: labels, Finalizers: []string{"example.com/f"},
			},
			Spec: infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "m"}},
		}
	}
	says := []string{"bytes as JSON, and at most 524288 are allowed", "shorten its labels"}
	checkAnswer(t, server.Client.Create(t.Context(), machine("new", labels(8000))), says)

	m := machine("old", nil)
	if err := server.Client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	grow := func(n int, also ...func(*infrav1.Metal3Machine)) error {
		grown := m.DeepCopy()
		grown.Labels = labels(n)
		for _, change := range also {
			change(grown)
		}
		return server.Client.Patch(t.Context(), grown, client.MergeFrom(m))
	}
	checkAnswer(t, grow(8000), says)
	checkAnswer(t, grow(8000, func(m *infrav1.Metal3Machine) { m.Spec.CustomDeploy.Method = "n" }), says)
	checkAnswer(t, grow(100), nil)
	checkAnswer(t, server.Client.Delete(t.Context(), m), nil)
	checkAnswer(t, grow(8000), says) // it may not come so far while it is being deleted, either
	checkAnswer(t, grow(0, func(m *infrav1.Metal3Machine) { m.Finalizers = nil }), nil)
}

// column is one column of kubectl get with what it shows for the object of
// testdata/every-field.yaml. Wide columns show with -o wide only.
type column struct {
	Name  string
	Value any
	Wide  bool
}

func TestColumns(t *testing.T) {
	name := func(value string) column { return column{Name: "Name", Value: value} }
	// The age depends on the clock; it is compared as being there.
	age := column{Name: "Age", Value: "some"}
	tests := map[string][]column{
		"Metal3Cluster": {
			name("every"),
			{Name: "Cluster", Value: "blue"},
			{Name: "Endpoint", Value: "192.0.2.10"},
			{Name: "Port", Value: float64(8443)},
			{Name: "Infrastructure", Value: "WaitingForControlPlaneEndpoint"},
			{Name: "Provisioned", Value: true},
			{Name: "Ready", Value: "True"},
			{Name: "Identity", Value: "infra-kubeconfig", Wide: true},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3ClusterTemplate": {name("every"), age},
		"Metal3Machine": {
			name("every"),
			{Name: "Cluster", Value: "blue"},
			{Name: "Host", Value: "infra/host-1"},
			{Name: "Claim", Value: "every"},
			{Name: "Node", Value: "node-1"},
			{Name: "Ready", Value: "False"},
			{Name: "Reason", Value: "NotReady"},
			{Name: "Provisioned", Value: true, Wide: true},
			{Name: "Failure Domain", Value: "a1", Wide: true},
			{Name: "ProviderID", Value: "metal3://tenant-a/host-1/every", Wide: true},
			{Name: "Message", Value: "the image is being written", Wide: true},
			age,
		},
		"Metal3MachineTemplate": {
			name("every"),
			{Name: "Data Template", Value: "nodes"},
			{Name: "CPU", Value: "64"},
			{Name: "Memory", Value: "256Gi"},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "CapacityGiven"},
			{Name: "Image", Value: "http://images.example.com/node.qcow2", Wide: true},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3DataTemplate": {
			name("every"),
			{Name: "Cluster", Value: "blue"},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready"},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3DataClaim": {
			name("every"),
			{Name: "Template", Value: "nodes"},
			{Name: "Data", Value: "nodes-3"},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready"},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3Data": {
			name("nodes-3"),
			{Name: "Template", Value: "nodes"},
			{Name: "Index", Value: float64(3)},
			{Name: "Claim", Value: "every"},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready"},
			{Name: "Meta Data", Value: "every-metadata", Wide: true},
			{Name: "Network Data", Value: "every-networkdata", Wide: true},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3Remediation": {
			name("every"),
			{Name: "Strategy", Value: "Reboot"},
			{Name: "Phase", Value: "Waiting"},
			{Name: "Retry limit", Value: float64(3)},
			{Name: "Retry count", Value: float64(2)},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready"},
			{Name: "Last Remediated", Value: "2026-01-02T03:04:05Z", Wide: true},
			{Name: "Message", Value: "all is well", Wide: true},
			age,
		},
		"Metal3RemediationTemplate": {
			name("every"),
			{Name: "Strategy", Value: "Reboot"},
			{Name: "Retry limit", Value: float64(3)},
			{Name: "Timeout", Value: float64(300)},
			age,
		},
		"HostClaim": {
			name("every"),
			{Name: "Phase", Value: "Provisioning"},
			{Name: "Host", Value: "host-1"},
			{Name: "Power", Value: true},
			{Name: "Ready", Value: "False"},
			{Name: "Reason", Value: "Provisioning"},
			{Name: "Host namespace", Value: "infra", Wide: true},
			{Name: "Consumer", Value: "every", Wide: true},
			{Name: "Admitted", Value: "False", Wide: true},
			{Name: "Message", Value: "the image is being written", Wide: true},
			age,
		},
		"HostDeployPolicy": {
			name("every"),
			{Name: "Names", Value: `["tenant-a","tenant-b"]`},
			{Name: "Name matches", Value: "tenant-.*"},
			{Name: "Labels", Value: `[{"name":"pool","value":"big"},{"name":"department"}]`},
			{Name: "Images", Value: `https://images\.example\.com/.*`, Wide: true},
			{Name: "Custom deploy", Value: "true", Wide: true},
			{Name: "Published labels", Value: "rack|size", Wide: true},
			{Name: "Published annotations", Value: "asset", Wide: true},
			{Name: "Deleting", Wide: true},
			age,
		},
	}
	namespace := server.Namespace(t, "columns", nil)
	for kind := range crds {
		t.Run(kind, func(t *testing.T) {
			object := everyField(t, kind, namespace)
			if _, err := store(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			rows, err := show(t, kind, namespace)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != 1 {
				t.Fatalf("%d rows, want 1", len(rows))
			}
			got := rows[0]
			if diff := cmp.Diff(tests[kind], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// show asks for the objects of a kind as kubectl get does, and returns their rows.
func show(t *testing.T, kind, namespace string) ([][]column, error) {
	t.Helper()
	crd := crds[kind]
	address, err := url.JoinPath(server.Config.Host, "apis", crd.Spec.Group, storedVersion(t, kind).Name, "namespaces", namespace, crd.Spec.Names.Plural)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	connection, err := rest.HTTPClientFor(server.Config)
	if err != nil {
		return nil, err
	}
	response, err := connection.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, err
	}
	rows := make([][]column, len(table.Rows))
	for r, row := range table.Rows {
		for i, definition := range table.ColumnDefinitions {
			value := row.Cells[i]
			if definition.Name == "Age" && value != nil {
				value = "some"
			}
			rows[r] = append(rows[r], column{Name: definition.Name, Value: value, Wide: definition.Priority > 0})
		}
	}
	return rows, nil
}
