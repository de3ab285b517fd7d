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

package cluster

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/pki"
)

func TestFreePorts(t *testing.T) {
	ports, err := FreePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d was given twice", port)
		}
		seen[port] = true
		if port >= lowestEndpoint {
			t.Errorf("port %d is one for the endpoints of workload clusters", port)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d ports instead of 20", len(seen))
	}
}

func TestClientKubeconfig(t *testing.T) {
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Dir: t.TempDir(), Authority: authority, Server: "https://127.0.0.1:1"}
	path, err := c.clientKubeconfig("system:someone")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != c.Server || len(config.CertData) == 0 || string(config.CAData) != string(authority.Cert) {
		t.Errorf("the kubeconfig leads to %s with %d bytes of certificate", config.Host, len(config.CertData))
	}
}

func TestOpenSaysThatNothingRuns(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no dev cluster runs in "+dir) {
		t.Errorf("Open() = %v", err)
	}
}

func TestHealthy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, "caches are empty", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	if err := Healthy(server.Client(), server.URL+"/readyz")(t.Context()); err != nil {
		t.Error(err)
	}
	if err := Healthy(server.Client(), server.URL+"/other")(t.Context()); err == nil || !strings.Contains(err.Error(), "caches are empty") {
		t.Errorf("the error must quote the answer: %v", err)
	}
}
