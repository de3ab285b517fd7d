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

package hostile

import (
	"encoding/pem"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig leads to the server by contexts of these names, each in the namespace of
// its name. The first one is the current context.
func (s *Server) Kubeconfig(contexts ...string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   s.server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "token"}
	for _, name := range contexts {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: name}
	}
	config.CurrentContext = contexts[0]
	return clientcmd.Write(*config)
}

// AliasBomb is a kubeconfig of less than 150 kB whose aliases stand for 260 MB. A
// parser that copies them takes 700 MiB.
func AliasBomb() []byte {
	const anchor, aliases = 131_000, 2_000
	return []byte("apiVersion: v1\nkind: Config\nx: &a " + strings.Repeat("x", anchor) +
		"\ny: [*a" + strings.Repeat(",*a", aliases-1) + "]\n")
}
