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

package e2e

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// providerAgent begins the user agent of the provider manager.
const providerAgent = "cluster-api-provider-metal3"

// listener is a server of a tenant. It notes what the provider manager sends as
// its credentials.
type listener struct {
	*httptest.Server

	mu   sync.Mutex
	sent map[string]bool
}

func newListener(t *testing.T) *listener {
	t.Helper()
	l := &listener{sent: map[string]bool{}}
	l.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), providerAgent) {
			l.mu.Lock()
			l.sent[r.Header.Get("Authorization")] = true
			l.mu.Unlock()
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) got(credentials string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[credentials]
}

// TestTenantWhoNamesATokenFileGetsNoCredentials is the attack in which a tenant
// writes the kubeconfig of a Cluster such that the manager would read a file of
// its own and send it to the tenant.
func TestTenantWhoNamesATokenFileGetsNoCredentials(t *testing.T) {
	t.Parallel()
	s, server := &site{Tenant: newTenant(t, "curious")}, newListener(t)
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("token-of-the-manager"), 0o600))
	kubeconfig := func(user clientcmdapi.AuthInfo) map[string][]byte {
		config := clientcmdapi.NewConfig()
		config.Clusters["k"] = &clientcmdapi.Cluster{
			Server: server.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}
		config.AuthInfos["u"], config.Contexts["c"] = &user, &clientcmdapi.Context{Cluster: "k", AuthInfo: "u"}
		config.CurrentContext = "c"
		text, err := clientcmd.Write(*config)
		must(t, err)
		return map[string][]byte{"value": text}
	}
	secret := &corev1.Secret{
		ObjectMeta: s.meta("c-kubeconfig"), Type: clusterv1.ClusterSecretType,
		Data: kubeconfig(clientcmdapi.AuthInfo{TokenFile: file}),
	}
	secret.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
	s.create(t, secret)
	port, err := strconv.Atoi(server.URL[strings.LastIndex(server.URL, ":")+1:])
	must(t, err)
	s.cluster(t, port)

	log := filepath.Join(lab.dir, "logs", components.ProviderManager+".log")
	eventually(t, "the manager refuses the kubeconfig", func(g gomega.Gomega) {
		text, err := os.ReadFile(log)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(string(text)).To(gomega.ContainSubstring("curious/c-kubeconfig: kubeconfig: users[u].tokenFile is not permitted"))
	})
	before := secret.DeepCopy()
	secret.Data = kubeconfig(clientcmdapi.AuthInfo{Token: "token-of-the-tenant"})
	must(t, s.Client.Patch(t.Context(), secret, client.MergeFrom(before)))
	eventually(t, "the manager connects with the tenant's own token", func(g gomega.Gomega) {
		g.Expect(server.got("Bearer token-of-the-tenant")).To(gomega.BeTrue())
	})
	if server.got("Bearer token-of-the-manager") {
		t.Error("the manager sent what it had read from a file")
	}
}
