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
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/kubeadm"
)

// says answers every request with a text.
func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// newServer listens with one etcd member, for the cluster of the sample.
func newServer(t *testing.T) (*Server, sample.Cluster) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	cluster := sample.NewCluster(listener.Addr().String())
	expect.NoError(t, listener.Close())
	server, err := New(Config{
		Address: cluster.Endpoint, Names: []string{"api.example.com"}, Version: "v1.36.1", API: says("api"), Etcd: says("etcd"),
		PKI: kubeadm.PKI{
			Cluster: kubeadm.Authority{Certificate: cluster.CA.Certificate, Key: cluster.CA.Key},
			Etcd:    kubeadm.Authority{Certificate: cluster.Etcd.Certificate, Key: cluster.Etcd.Key},
		},
	})
	expect.NoError(t, err)
	t.Cleanup(server.Close)
	expect.NoError(t, server.AddMember("etcd-0"))
	return server, cluster
}

// ask sends one request and returns status code and body, or the error.
func ask(cluster sample.Cluster, config *tls.Config, path string, header http.Header) (int, string, error) {
	request, err := http.NewRequest(http.MethodGet, "https://"+cluster.Endpoint+path, nil)
	if err != nil {
		return 0, "", err
	}
	if header != nil {
		request.Header = header
	}
	httpClient := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestWhoGetsIn(t *testing.T) {
	server, cluster := newServer(t)
	expect.NoError(t, server.Listen())
	anonymous := cluster.CA.Client("")
	anonymous.Certificates = nil
	stranger := sample.NewAuthority("stranger").Client("")
	stranger.RootCAs = anonymous.RootCAs
	const nodes = "/api/v1/nodes"
	tests := map[string]struct {
		config   *tls.Config
		path     string
		header   http.Header
		wantCode int
		wantBody string
	}{
		"clients of the cluster reach the API":               {config: cluster.CA.Client(""), path: nodes, wantCode: 200, wantBody: "api"},
		"they may use further names of the server":           {config: cluster.CA.Client("api.example.com"), path: nodes, wantCode: 200, wantBody: "api"},
		"no client reaches the API without a certificate":    {config: anonymous, path: nodes, wantCode: 401, wantBody: "Unauthorized"},
		"a certificate of another authority counts for none": {config: stranger, path: nodes, wantCode: 401, wantBody: "Unauthorized"},
		"everybody may ask for health":                       {config: anonymous, path: "/readyz", wantCode: 200, wantBody: "ok"},
		"everybody may ask for the version":                  {config: anonymous, path: "/version", wantCode: 200, wantBody: "v1.36.1"},
		"everybody may read where to join":                   {config: anonymous, path: "/api/v1/namespaces/kube-public/configmaps/cluster-info", wantCode: 200, wantBody: "api"},
		"server-side apply is refused": {
			config: cluster.CA.Client(""), path: nodes, header: http.Header{"Content-Type": {"application/apply-patch+yaml"}},
			wantCode: 415, wantBody: "server-side apply is not supported",
		},
		"an answer that is no table is passed on": {
			config: cluster.CA.Client(""), path: nodes, header: http.Header{"Accept": {"application/json;as=Table"}}, wantCode: 200, wantBody: "api",
		},
		"clients of etcd reach their member":              {config: cluster.Etcd.Client("etcd-0"), path: "/", wantCode: 200, wantBody: "etcd"},
		"clients of the API do not reach etcd":            {config: cluster.CA.Client("etcd-0"), path: "/"},
		"clients of etcd do not reach another member":     {config: cluster.Etcd.Client("etcd-1"), path: "/"},
		"clients of etcd do not reach the API":            {config: cluster.Etcd.Client(""), path: nodes},
		"no client reaches a member without certificates": {config: &tls.Config{RootCAs: cluster.Etcd.Client("").RootCAs, ServerName: "etcd-0"}, path: "/"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, err := ask(cluster, tc.config, tc.path, tc.header)
			if code != tc.wantCode || !strings.Contains(body, tc.wantBody) || (err == nil) != (tc.wantCode > 0) {
				t.Errorf("got %d %q %v, want %d %q", code, body, err, tc.wantCode, tc.wantBody)
			}
		})
	}
}

func TestListenAndClose(t *testing.T) {
	server, cluster := newServer(t)
	for range 20 {
		for range 2 {
			expect.NoError(t, server.Listen())
		}
		server.Close()
		server.Close()
	}
	if _, _, err := ask(cluster, cluster.CA.Client(""), "/readyz", nil); err == nil {
		t.Error("a closed server answers")
	}
	expect.NoError(t, server.Listen())
	server.RemoveMember("etcd-0")
	if _, _, err := ask(cluster, cluster.Etcd.Client("etcd-0"), "/", nil); err == nil {
		t.Error("a removed member answers")
	}
}

func TestToTable(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-10 * time.Minute))}
	}
	kind := func(name string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: name} }
	node := corev1.Node{TypeMeta: kind("Node"), ObjectMeta: meta("b")}
	node.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	node.Status.NodeInfo.KubeletVersion = "v1.36.1"
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "b"}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	pod := corev1.Pod{TypeMeta: kind("Pod"), ObjectMeta: meta("etcd-b"), Spec: corev1.PodSpec{NodeName: "b"}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}

	tests := map[string]struct {
		given any
		want  [][]any
	}{
		"lists Nodes by name": {
			given: corev1.NodeList{TypeMeta: kind("NodeList"), Items: []corev1.Node{node, {ObjectMeta: meta("a")}}},
			want: [][]any{
				{"a", "NotReady", "<none>", "10m", "", "<none>"},
				{"b", "Ready", "control-plane", "10m", "v1.36.1", "10.0.0.1"},
			},
		},
		"shows a single Node": {given: node, want: [][]any{{"b", "Ready", "control-plane", "10m", "v1.36.1", "10.0.0.1"}}},
		"lists Pods": {
			given: corev1.PodList{TypeMeta: kind("PodList"), Items: []corev1.Pod{pod}},
			want:  [][]any{{"etcd-b", "1/1", "Running", "10m", "b"}},
		},
		"shows a silent Pod":         {given: corev1.Pod{TypeMeta: kind("Pod"), ObjectMeta: meta("p")}, want: [][]any{{"p", "0/1", "", "10m", ""}}},
		"has no rows for empty list": {given: corev1.PodList{TypeMeta: kind("PodList")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			body, err := json.Marshal(tc.given)
			expect.NoError(t, err)
			table, err := toTable(body, now)
			expect.NoError(t, err)
			var cells [][]any
			for _, row := range table.Rows {
				if len(row.Cells) != len(table.ColumnDefinitions) {
					t.Errorf("%d cells for %d columns", len(row.Cells), len(table.ColumnDefinitions))
				}
				cells = append(cells, row.Cells)
			}
			expect.Equal(t, tc.want, cells)
		})
	}
	if _, err := toTable([]byte("x"), now); err == nil {
		t.Error("no error for an answer that is not JSON")
	}
}
