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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

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
			rows, err := show(kind, namespace)
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

// TestColumnsOfClaims shows claims on their way from one host to none, as
// kubectl get prints them.
func TestColumnsOfClaims(t *testing.T) {
	namespace := server.Namespace(t, "claims", nil)
	const (
		condition = `{type: %s, status: "%s", reason: %s, message: "%s", lastTransitionTime: "2026-01-02T03:04:05Z"}`
		host      = "bareMetalHost: {namespace: infra, name: host-1}\n"
	)
	conditions := func(list ...[4]any) string {
		var text strings.Builder
		text.WriteString("conditions:\n")
		for _, c := range list {
			fmt.Fprintf(&text, "- "+condition+"\n", c[:]...)
		}
		return text.String()
	}
	tests := map[string]struct {
		status string
		want   []any // phase, host, power, ready, reason
	}{
		"a-new": {"{}", []any{nil, nil, nil, nil, nil}},
		"b-waits": {"poweredOn: false\n" + conditions(
			[4]any{"Provisioned", "False", "NotAssociated", "There is no host"},
			[4]any{"Ready", "False", "NoBareMetalHost", "3 hosts seen: 3 in use"},
		), []any{"NotAssociated", nil, false, "False", "NoBareMetalHost"}},
		"c-lacks-a-secret": {host + "poweredOn: true\n" + conditions(
			[4]any{"Provisioned", "False", "NotProvisioned", "The state of the host is available"},
			[4]any{"Ready", "False", "UserDataSecretSyncFailure", "no secret"},
		), []any{"NotProvisioned", "host-1", true, "False", "UserDataSecretSyncFailure"}},
		"d-runs": {host + "poweredOn: true\n" + conditions(
			[4]any{"Provisioned", "True", "Provisioned", ""}, [4]any{"Ready", "True", "Provisioned", ""},
		), []any{"Provisioned", "host-1", true, "True", "Provisioned"}},
		"e-goes": {host + "poweredOn: false\n" + conditions(
			[4]any{"Provisioned", "False", "Deprovisioning", "The host is given back"},
			[4]any{"Ready", "False", "HostDeprovisioning", "waits"},
		), []any{"Deprovisioning", "host-1", false, "False", "HostDeprovisioning"}},
	}
	names := slices.Sorted(maps.Keys(tests))
	for _, name := range names {
		claim := &unstructured.Unstructured{}
		text := fmt.Sprintf("apiVersion: metal3.io/v1alpha1\nkind: HostClaim\nmetadata: {name: %s, namespace: %s}\nspec: {poweredOn: true}", name, namespace)
		if err := yaml.Unmarshal([]byte(text), &claim.Object); err != nil {
			t.Fatal(err)
		}
		status := map[string]any{}
		if err := yaml.Unmarshal([]byte(tests[name].status), &status); err != nil {
			t.Fatal(err)
		}
		claim.Object["status"] = status
		if _, err := store(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := show("HostClaim", namespace)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		got := []any{}
		for _, c := range row[1:] {
			if !c.Wide && c.Name != "Age" {
				got = append(got, c.Value)
			}
		}
		if diff := cmp.Diff(tests[names[i]].want, got); row[0].Value != names[i] || diff != "" {
			t.Errorf("%s is shown as %v (-want +got):\n%s", names[i], row[0].Value, diff)
		}
	}
}

// show asks for the objects of a kind as kubectl get does, and returns their rows.
func show(kind, namespace string) ([][]column, error) {
	crd := crds[kind]
	address, err := url.JoinPath(server.Config.Host, "apis", crd.Spec.Group, crd.Spec.Versions[0].Name, "namespaces", namespace, crd.Spec.Names.Plural)
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
