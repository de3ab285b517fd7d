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

package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
)

const (
	isReady = `.status.conditions[?(@.type=="Ready")].status`
	created = ".metadata.creationTimestamp"
)

// columns are those of the two kinds that people look at first, by resource: the in-memory API server
// answers kubectl without any. Those of priority 1 are for wide output only.
var columns = map[string][]apiextensionsv1.CustomResourceColumnDefinition{
	"nodes": {
		{Name: "Ready", Type: "string", JSONPath: isReady},
		{Name: "Age", Type: "date", JSONPath: created},
		{Name: "Version", Type: "string", JSONPath: ".status.nodeInfo.kubeletVersion"},
		{Name: "Internal-IP", Type: "string", JSONPath: `.status.addresses[?(@.type=="InternalIP")].address`, Priority: 1},
	},
	"pods": {
		{Name: "Ready", Type: "string", JSONPath: isReady},
		{Name: "Status", Type: "string", JSONPath: ".status.phase"},
		{Name: "Age", Type: "date", JSONPath: created},
		{Name: "Node", Type: "string", JSONPath: ".spec.nodeName", Priority: 1},
	},
}

// tableOf returns the resource for whose columns a client asks, if it has any.
func tableOf(r *http.Request) (resource string, found bool) {
	if r.Method != http.MethodGet || r.URL.Query().Get("watch") != "" || !strings.Contains(r.Header.Get("Accept"), "as=Table") {
		return "", false
	}
	for resource := range columns {
		if strings.Contains(r.URL.Path, "/"+resource) {
			return resource, true
		}
	}
	return "", false
}

// serveTable lets the API server answer and sends the answer on as a table.
func serveTable(api http.Handler, w http.ResponseWriter, r *http.Request, resource string) {
	plain := r.Clone(r.Context())
	plain.Header.Set("Accept", "application/json")
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, plain)
	table, err := toTable(r.Context(), resource, answer.Body.Bytes())
	if answer.Code != http.StatusOK || err != nil {
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		// The connection is the client's; it sees what got through.
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	writeJSON(w, http.StatusOK, table)
}

// toTable makes a table of an object or a list, sorted by name.
func toTable(ctx context.Context, resource string, body []byte) (*metav1.Table, error) {
	object, _, err := unstructured.UnstructuredJSONScheme.Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	convertor, err := tableconvertor.New(columns[resource])
	if err != nil {
		return nil, err
	}
	table, err := convertor.ConvertToTable(ctx, object, nil)
	if err != nil {
		return nil, err
	}
	table.TypeMeta = metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "Table"}
	slices.SortFunc(table.Rows, func(a, b metav1.TableRow) int {
		return strings.Compare(fmt.Sprint(a.Cells[0]), fmt.Sprint(b.Cells[0]))
	})
	return table, nil
}

// route sends a request to etcd or to the API server. Only who showed a client certificate of the
// cluster gets to the API, apart from what a real API server serves to every client: health,
// version, and the cluster-info that joining machines start from.
func (s *Server) route() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, member := s.member(r.TLS.ServerName); member {
			s.config.Etcd.ServeHTTP(w, r)
			return
		}
		switch r.URL.Path {
		case "/healthz", "/livez", "/readyz":
			_, _ = w.Write([]byte("ok"))
			return
		case "/version":
			writeJSON(w, http.StatusOK, version.Info{GitVersion: s.config.Version, Platform: "linux/amd64"})
			return
		}
		clusterInfo := r.Method == http.MethodGet && r.URL.Path == "/api/v1/namespaces/kube-public/configmaps/cluster-info"
		if len(r.TLS.VerifiedChains) == 0 && !clusterInfo {
			writeJSON(w, http.StatusUnauthorized, metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized,
				Code: http.StatusUnauthorized, Message: "Unauthorized",
			})
			return
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
			http.Error(w, "server-side apply is not supported by this API server", http.StatusUnsupportedMediaType)
			return
		}
		if resource, found := tableOf(r); found {
			serveTable(s.config.API, w, r, resource)
			return
		}
		s.config.API.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// The connection is the client's; it sees what got through.
	_, _ = w.Write(encoded)
}
