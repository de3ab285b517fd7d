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

package kubeconfig

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Access is all that is taken from a kubeconfig: one namespace of one API server,
// which CA to trust and which credentials to send. Connections are built from it and
// from nothing else.
type Access struct {
	// Server is the URL of the API server in its canonical form.
	Server string
	// TLSServerName is the name in the certificate of the server; empty means that
	// of Server.
	TLSServerName string
	// CA holds the certificates that sign the server's, in PEM; empty means those
	// that the system trusts.
	CA []byte
	// Namespace in which to work.
	Namespace string
	// ClientCertificate and ClientKey are in PEM; both are empty without a client
	// certificate.
	ClientCertificate, ClientKey []byte
	// Token of the user, or Username and Password; all may be empty.
	Token, Username, Password string
}

// Target is where the access leads, without the credentials.
func (a Access) Target() identity.Target {
	target := identity.Target{Server: a.Server, Namespace: a.Namespace}
	if len(a.CA) > 0 {
		target.CAHash = hashOf(authorities(a.CA)...)
	}
	return target
}

// Line is the same for accesses that differ in nothing but the token or password:
// one connection can be given the other's.
func (a Access) Line() string {
	return hashOf(append(authorities(a.CA), a.Server, a.TLSServerName, a.Namespace,
		string(a.ClientCertificate), string(a.ClientKey))...)
}

// Key is the same for accesses that are equal.
func (a Access) Key() string {
	return hashOf(a.Line(), a.Authorization())
}

// Authorization is the value of the header Authorization; empty where a client certificate
// identifies the client.
func (a Access) Authorization() string {
	switch {
	case a.Token != "":
		return "Bearer " + a.Token
	case a.Username != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.Username+":"+a.Password))
	default:
		return ""
	}
}

// TLS are the settings for connections to the server.
func (a Access) TLS() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.TLSServerName}
	if len(a.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(a.CA)
	}
	if certificate, err := tls.X509KeyPair(a.ClientCertificate, a.ClientKey); err == nil {
		config.Certificates = []tls.Certificate{certificate}
	}
	return config
}

// authorities are the certificates of a PEM text, in an order that does not depend
// on it.
func authorities(text []byte) []string {
	var out []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			out = append(out, string(block.Bytes))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hashOf is one hash of all parts; no two lists of parts give the same text.
func hashOf(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
