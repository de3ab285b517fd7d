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
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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
			{Name: "Provisioned", Value: true},
			{Name: "Ready", Value: "True"},
			{Name: "Error", Value: "CreateError", Wide: true},
			age,
		},
		"Metal3ClusterTemplate": {name("every"), age},
		"Metal3Machine": {
			name("every"),
			{Name: "Cluster", Value: "blue"},
			{Name: "Host", Value: "AssociateBareMetalHostSuccess"},
			{Name: "HostClaim", Value: "Provisioning"},
			{Name: "Provisioned", Value: true},
			{Name: "Ready", Value: "False"},
			{Name: "ProviderID", Value: "metal3://tenant-a/host-1/every"},
			{Name: "Failure Domain", Value: "a1", Wide: true},
			age,
		},
		"Metal3MachineTemplate": {name("every"), age},
		"Metal3DataTemplate":    {name("every"), {Name: "Cluster", Value: "blue"}, {Name: "Ready", Value: "True"}, age},
		"Metal3DataClaim": {
			name("every"),
			{Name: "Template", Value: "nodes"},
			{Name: "Data", Value: "nodes-3"},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready", Wide: true},
			age,
		},
		"Metal3Data": {
			name("nodes-3"),
			{Name: "Template", Value: "nodes"},
			{Name: "Index", Value: float64(3)},
			{Name: "Ready", Value: "True"},
			{Name: "Reason", Value: "Ready"},
			age,
		},
		"Metal3Remediation": {
			name("every"),
			{Name: "Retry limit", Value: float64(3)},
			{Name: "Retry count", Value: float64(2)},
			{Name: "Last Remediated", Value: "2026-01-02T03:04:05Z"},
			{Name: "Strategy", Value: "Reboot"},
			{Name: "Phase", Value: "Waiting"},
		},
		"Metal3RemediationTemplate": {name("every"), age},
		"HostClaim": {
			name("every"),
			{Name: "Associated", Value: "BareMetalHostAssociated"},
			{Name: "Host", Value: "host-1"},
			{Name: "Power", Value: true},
			{Name: "Provisioned", Value: "False"},
			{Name: "Ready", Value: "False"},
			{Name: "Consumer", Value: "every", Wide: true},
			{Name: "Message", Value: "bound", Wide: true},
			age,
		},
		"HostDeployPolicy": {
			name("every"),
			{Name: "Names", Value: `["tenant-a","tenant-b"]`},
			{Name: "Name matches", Value: "tenant-.*"},
			age,
		},
	}
	namespace := server.Namespace(t, "columns", nil)
	for kind := range crds {
		t.Run(kind, func(t *testing.T) {
			object := everyField(t, kind)
			object.SetNamespace(namespace)
			if _, err := store(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			got, err := show(kind, namespace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tests[kind], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// show asks for the one object of a kind as kubectl get does.
func show(kind, namespace string) ([]column, error) {
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
	if len(table.Rows) != 1 {
		return nil, fmt.Errorf("%d rows, want 1: %s", len(table.Rows), text)
	}
	columns := make([]column, 0, len(table.ColumnDefinitions))
	for i, definition := range table.ColumnDefinitions {
		value := table.Rows[0].Cells[i]
		if definition.Name == "Age" && value != nil {
			value = "some"
		}
		columns = append(columns, column{Name: definition.Name, Value: value, Wide: definition.Priority > 0})
	}
	return columns, nil
}
