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

// HACK: client-go sends what needs no TLS of its own by http.DefaultTransport, which takes a
// round tripper for a further scheme. This package registers one, since ClusterCache takes a
// kubeconfig and nothing else. An option of ClusterCache to wrap its transport, such as
// clustercache.ClientOptions.WrapTransport, would replace this file.

// Package kubeconfigreader connects ClusterCache with workload clusters. It reads their
// kubeconfigs, which tenants write, withholds those that would make the manager read its
// own files, run programs, use a proxy or skip the checks of TLS, and hands out one that
// leads to a round tripper of this process:
//
//	Secret ─▶ kubeconfig.Access ─▶ transport.Transport
//	                                   ▲
//	ClusterCache ─▶ http.DefaultTransport, by the scheme of the URL in the kubeconfig
//
// So the requests of ClusterCache have the bounds of package transport, and the
// credentials reach neither client-go nor another server. The package never changes a
// Secret in the cluster.
package kubeconfigreader

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// register adds a scheme that cannot be guessed to http.DefaultTransport, until the process
// ends. Its URLs lead to the connections of k.
func register(k *Kubeconfigs) (scheme string, err error) {
	shared, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return "", fmt.Errorf("http.DefaultTransport is a %T: connections to workload clusters need an http.Transport", http.DefaultTransport)
	}
	scheme = "workload-" + strings.ToLower(rand.Text())
	shared.RegisterProtocol(scheme, roundTripper{k})
	return scheme, nil
}

// kubeconfigTo returns a kubeconfig that leads to a URL of the scheme and has no credentials.
func kubeconfigTo(scheme, host string) ([]byte, error) {
	const name = "workload"
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: scheme + "://" + host}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {}},
	})
}

// errGone is the error of a request for a Cluster that was deleted.
var errGone = errors.New("the connection to the workload cluster is closed")

// roundTripper sends the requests of ClusterCache.
type roundTripper struct{ kubeconfigs *Kubeconfigs }

// RoundTrip sends a request to the cluster that the host of its URL stands for.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	k := r.kubeconfigs
	k.mu.Lock()
	to := k.transports[request.URL.Host]
	k.mu.Unlock()
	if to == nil || to.Transport == nil {
		if request.Body != nil {
			_ = request.Body.Close() // http.RoundTripper requires it
		}
		return nil, errGone
	}
	return to.Forward(request)
}
