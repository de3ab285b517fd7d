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
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/version"
)

// The in-memory API server answers kubectl without columns. For the two kinds
// that people look at first they are added here.

// asTable reports whether a client asks for columns of a kind that has them.
func asTable(r *http.Request) bool {
	resource := strings.Contains(r.URL.Path, "/nodes") || strings.Contains(r.URL.Path, "/pods")
	return resource && r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" &&
		strings.Contains(r.Header.Get("Accept"), "as=Table")
}

// serveTable lets the API server answer and sends the answer on as a table.
func serveTable(api http.Handler, w http.ResponseWriter, r *http.Request, now time.Time) {
	plain := r.Clone(r.Context())
	plain.Header.Set("Accept", "application/json")
	answer := &recorder{header: http.Header{}, code: http.StatusOK}
	api.ServeHTTP(answer, plain)
	table, err := toTable(answer.body.Bytes(), now)
	if answer.code != http.StatusOK || err != nil {
		w.Header().Set("Content-Type", answer.header.Get("Content-Type"))
		w.WriteHeader(answer.code)
		// The connection is the client's; it sees what got through.
		_, _ = w.Write(answer.body.Bytes())
		return
	}
	writeJSON(w, http.StatusOK, table)
}

// toTable makes a table of a Node, a Pod or a list of either.
func toTable(body []byte, now time.Time) (*metav1.Table, error) {
	var list struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	kind, isList := strings.CutSuffix(list.Kind, "List")
	if !isList {
		list.Items = []json.RawMessage{body}
	}
	table := &metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "Table"},
		ListMeta: metav1.ListMeta{ResourceVersion: list.Metadata.ResourceVersion},
	}
	rowOf := podRow
	table.ColumnDefinitions = columns("Name", "Ready", "Status", "Age", "Node")
	if kind == "Node" {
		rowOf = nodeRow
		table.ColumnDefinitions = columns("Name", "Status", "Roles", "Age", "Version", "Internal-IP")
	}
	for _, item := range list.Items {
		row, err := rowOf(item, now)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, row)
	}
	slices.SortFunc(table.Rows, func(a, b metav1.TableRow) int {
		return strings.Compare(fmt.Sprint(a.Cells[0]), fmt.Sprint(b.Cells[0]))
	})
	return table, nil
}

// columns names the columns; the last one is for wide output only.
func columns(names ...string) []metav1.TableColumnDefinition {
	var definitions []metav1.TableColumnDefinition
	for i, name := range names {
		definition := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if i == len(names)-1 {
			definition.Priority = 1
		}
		definitions = append(definitions, definition)
	}
	return definitions
}

func nodeRow(raw []byte, now time.Time) (metav1.TableRow, error) {
	var node corev1.Node
	if err := json.Unmarshal(raw, &node); err != nil {
		return metav1.TableRow{}, err
	}
	status, role, address := "NotReady", "<none>", "<none>"
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if _, ok := node.Labels["node-role.kubernetes.io/control-plane"]; ok {
		role = "control-plane"
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			address = a.Address
			break
		}
	}
	return tableRow(node.ObjectMeta, node.Name, status, role, age(node.CreationTimestamp, now), node.Status.NodeInfo.KubeletVersion, address), nil
}

func podRow(raw []byte, now time.Time) (metav1.TableRow, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(raw, &pod); err != nil {
		return metav1.TableRow{}, err
	}
	readiness := "0/1"
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			readiness = "1/1"
		}
	}
	return tableRow(pod.ObjectMeta, pod.Name, readiness, string(pod.Status.Phase), age(pod.CreationTimestamp, now), pod.Spec.NodeName), nil
}

func tableRow(meta metav1.ObjectMeta, cells ...any) metav1.TableRow {
	partial := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "PartialObjectMetadata"},
		ObjectMeta: meta,
	}
	return metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: partial}}
}

func age(since metav1.Time, now time.Time) string {
	return duration.HumanDuration(now.Sub(since.Time))
}

// recorder keeps an answer instead of sending it.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) { r.code = code }

// Write implements http.ResponseWriter.
func (r *recorder) Write(data []byte) (int, error) { return r.body.Write(data) }

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
		if asTable(r) {
			serveTable(s.config.API, w, r, time.Now())
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
