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
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

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
	created := time.Now().Add(-10 * time.Minute).UTC().Format(time.RFC3339)
	node := fmt.Sprintf(`"metadata":{"name":"b","creationTimestamp":%q},"status":{"nodeInfo":{"kubeletVersion":"v1.36.1"},
		"addresses":[{"type":"Hostname","address":"b"},{"type":"InternalIP","address":"10.0.0.1"}],"conditions":[{"type":"Ready","status":"True"}]}`, created)
	tests := map[string]struct {
		resource, given string
		want            [][]any
	}{
		"lists Nodes by name": {
			"nodes", `{"apiVersion":"v1","kind":"NodeList","items":[{` + node + `},{"metadata":{"name":"a"}}]}`,
			[][]any{{"a", nil, nil, nil, nil}, {"b", "True", "10m", "v1.36.1", "10.0.0.1"}},
		},
		"shows a single Node": {"nodes", `{"apiVersion":"v1","kind":"Node",` + node + `}`, [][]any{{"b", "True", "10m", "v1.36.1", "10.0.0.1"}}},
		"shows a Pod": {
			"pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"b"},"status":{"phase":"Running"}}`,
			[][]any{{"p", nil, "Running", nil, "b"}},
		},
		"has no rows for an empty list": {"pods", `{"apiVersion":"v1","kind":"PodList","items":[]}`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			table, err := toTable(t.Context(), tc.resource, []byte(tc.given))
			expect.NoError(t, err)
			var cells [][]any
			for _, row := range table.Rows {
				cells = append(cells, row.Cells)
			}
			expect.Equal(t, tc.want, cells)
		})
	}
}
