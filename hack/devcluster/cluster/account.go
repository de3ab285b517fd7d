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
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenSeconds is how long the token of a service account is good for: longer
// than any dev cluster is looked at.
const tokenSeconds = int64(24 * time.Hour / time.Second)

// AccountKubeconfig asks for a token of a service account and writes a
// kubeconfig with it, whose context begins in namespace. It returns its path.
func (c *Cluster) AccountKubeconfig(ctx context.Context, namespace, account string) (string, error) {
	client, err := kubernetes.NewForConfig(c.Admin)
	if err != nil {
		return "", err
	}
	seconds := tokenSeconds
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for service account %s/%s: %w", namespace, account, err)
	}
	return c.writeKubeconfig(namespace+"-"+account, namespace, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
}

// clientKubeconfig writes a kubeconfig for a user known by certificate.
func (c *Cluster) clientKubeconfig(user string, groups ...string) (string, error) {
	pair, err := c.Authority.Client(user, groups...)
	if err != nil {
		return "", err
	}
	return c.writeKubeconfig(strings.ReplaceAll(user, ":", "-"), "default", &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.Cert,
		ClientKeyData:         pair.Key,
	})
}

func (c *Cluster) writeKubeconfig(name, namespace string, user *clientcmdapi.AuthInfo) (string, error) {
	const entry = "devcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[entry] = &clientcmdapi.Cluster{Server: c.Server, CertificateAuthorityData: c.Authority.Cert}
	config.AuthInfos[name] = user
	config.Contexts[entry] = &clientcmdapi.Context{Cluster: entry, AuthInfo: name, Namespace: namespace}
	config.CurrentContext = entry
	path := filepath.Join(c.Dir, "accounts", name+".kubeconfig")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, clientcmd.WriteToFile(*config, path)
}

// unthrottled lifts the client's own rate limit; the API server has its own.
func unthrottled(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}
