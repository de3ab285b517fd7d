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

package grant

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

const (
	// kubeconfigKey is the key of the Secret that identityRef reads.
	kubeconfigKey = "kubeconfig"
	// contextName names the cluster, the user and the context of the kubeconfig.
	contextName = "hosts"
)

// Access is how the tenant's manager reaches the cluster with the hosts.
type Access struct {
	// Server is the URL of the API server as the tenant's cluster sees it.
	Server string
	// ServerName is the name in the server's certificate, where it is not that of
	// the URL.
	ServerName string
	// CA are the authorities that the server's certificate is checked with, in PEM;
	// empty where those of the tenant's system will do.
	CA []byte
}

// Check returns an error if the tenant's manager could not use the server.
func (a Access) Check() error {
	server, err := url.Parse(a.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return fmt.Errorf("the API server is at %q, and only https is used with a token: give --server https://…", a.Server)
	}
	return nil
}

// Hint returns a warning about a server that the tenant can probably not reach; empty for none.
func (a Access) Hint() string {
	server, err := url.Parse(a.Server)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(server.Hostname()); server.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	return fmt.Sprintf("the API server is at %s, which only this machine reaches: "+
		"if the tenant works from another machine, give --server", a.Server)
}

// Token is a credential of the account, with its end.
type Token struct {
	Value   string
	Expires time.Time
}

// Secret is what an identityRef names: a kubeconfig in which everything is
// embedded and whose context leads into the tenant's namespace. The label lets
// clusterctl move it along with the clusters that use it.
func (t Tenant) Secret(home Home, access Access, token Token) (*corev1.Secret, error) {
	kubeconfig, err := t.kubeconfig(access, token.Value)
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		TypeMeta:   kind(corev1.SchemeGroupVersion.String(), "Secret"),
		ObjectMeta: ours(home.Namespace, home.Secret),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{kubeconfigKey: kubeconfig},
	}
	secret.Labels[infrav1.MoveLabel] = ""
	secret.Annotations = map[string]string{infrav1.TokenExpiresAnnotation: token.Expires.UTC().Format(time.RFC3339)}
	return secret, nil
}

func (t Tenant) kubeconfig(access Access, token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{
		Server: access.Server, TLSServerName: access.ServerName, CertificateAuthorityData: access.CA,
	}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName, Namespace: t.Namespace}
	config.CurrentContext = contextName
	content, err := clientcmd.Write(*config)
	if err != nil {
		// The encoder might quote what it was given.
		return nil, errors.New("the kubeconfig cannot be written")
	}
	return content, nil
}
