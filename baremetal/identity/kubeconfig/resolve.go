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
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
)

// Resolve follows a context of a kubeconfig, or the current one if the name is empty. It refuses
// what would make the connection differ from what the file seems to describe. The error is an
// identity.Problem.
func (f File) Resolve(context string) (Access, error) {
	context = cmp.Or(context, f.config.CurrentContext)
	access, err := f.access(context)
	if err == nil {
		err = checkNamespace(context, access.Namespace)
	}
	if err != nil {
		return Access{}, err
	}
	return access, nil
}

// Current follows the current context to a whole cluster: the namespace of the context
// may be missing. The errors are those of Resolve.
func (f File) Current() (Access, error) {
	return f.access(f.config.CurrentContext)
}

func (f File) access(context string) (Access, error) {
	config := f.config
	chosen := config.Contexts[context]
	if chosen == nil {
		return Access{}, missing(context)
	}
	cluster, user := config.Clusters[chosen.Cluster], config.AuthInfos[chosen.AuthInfo]
	if cluster == nil || user == nil {
		return Access{}, invalid(fmt.Sprintf("context %s names a cluster or a user that is not in the file", quote(context)), "name both as the file has them")
	}
	access := Access{
		TLSServerName: cluster.TLSServerName, CA: cluster.CertificateAuthorityData, Namespace: chosen.Namespace,
		ClientCertificate: user.ClientCertificateData, ClientKey: user.ClientKeyData,
		Token: strings.TrimSpace(user.Token), Username: user.Username, Password: user.Password,
	}
	if err := access.setServer(chosen.Cluster, cluster); err != nil {
		return Access{}, err
	}
	if err := checkUserOf(chosen.AuthInfo, access); err != nil {
		return Access{}, err
	}
	return access, nil
}

// missing is the problem of a kubeconfig without the context that is asked for.
func missing(context string) *identity.Problem {
	message := "kubeconfig: no context is current: set current-context, or name a context in identityRef.context"
	if context != "" {
		message = fmt.Sprintf("kubeconfig: there is no context %s: name one that the file has", quote(context))
	}
	return &identity.Problem{Reason: infrav1.IdentityContextNotFoundReason, Message: message}
}

// checkNamespace requires the namespace to be set: a default would put claims into a
// namespace that the author of the kubeconfig did not choose.
func checkNamespace(context, namespace string) error {
	if len(validation.IsDNS1123Label(namespace)) == 0 {
		return nil
	}
	problem := fmt.Sprintf("context %s has no namespace", quote(context))
	if namespace != "" {
		problem = fmt.Sprintf("context %s has %s as its namespace, which is no name of one", quote(context), quote(namespace))
	}
	return invalid(problem, "give the namespace in which the claims are to live")
}

// setServer checks the cluster and notes where it is.
func (a *Access) setServer(name string, cluster *clientcmdapi.Cluster) error {
	field := func(of string) string { return clusterField(name, of) }
	switch {
	case cluster.InsecureSkipTLSVerify:
		return Forbidden(field("insecure-skip-tls-verify"), "embed certificate-authority-data")
	case cluster.ProxyURL != "":
		return Forbidden(field("proxy-url"), "name a server that is reached without a proxy")
	case len(a.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(a.CA):
		return invalid(field("certificate-authority-data")+" holds no certificate", "give PEM certificates, encoded in base64")
	case a.TLSServerName != "" && !hostname(a.TLSServerName):
		return invalid(field("tls-server-name")+" is no name of a host", "give the name in the server's certificate")
	}
	server, ok := canonical(cluster.Server)
	if !ok {
		return invalid(field("server")+" is no address of an API server", "give https://, a host, a port and perhaps a path, and nothing else")
	}
	a.Server = server
	return nil
}

// canonical writes the URL of a server so that equal servers are equal texts, and
// reports whether there is nothing in it but a host, a port and a path.
func canonical(server string) (string, bool) {
	parsed, err := url.Parse(server)
	if err != nil || !bare(parsed) {
		return "", false
	}
	host := strings.ToLower(parsed.Hostname())
	switch port := parsed.Port(); {
	case port != "" && port != "443":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return (&url.URL{Scheme: "https", Host: host, Path: strings.TrimRight(parsed.Path, "/")}).String(), true
}

// bare reports whether a URL has no credentials, query or fragment, and that host and path
// are what they seem to be.
func bare(u *url.URL) bool {
	return u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" &&
		hostname(u.Hostname()) && !strings.HasSuffix(u.Host, ":") &&
		!strings.Contains(u.Path, "//") && !strings.Contains(u.Path, "..")
}

// hostname reports whether a text is an address or a name in DNS.
func hostname(name string) bool {
	return net.ParseIP(name) != nil || len(validation.IsDNS1123Subdomain(strings.ToLower(name))) == 0
}

// checkUserOf requires a token, a password or a client certificate. A token and a password exclude
// each other.
func checkUserOf(name string, a Access) error {
	refuse := func(problem, remedy string) error {
		return invalid(fmt.Sprintf("users[%s] %s", quote(name), problem), remedy)
	}
	certified := len(a.ClientCertificate) > 0 || len(a.ClientKey) > 0
	switch {
	case certified && !matching(a.ClientCertificate, a.ClientKey):
		return refuse("has a client certificate and a client key that do not belong together",
			"give client-certificate-data and client-key-data of one pair")
	case a.Token != "" && (a.Username != "" || a.Password != ""):
		return refuse("has both a token and a password", "keep one of them")
	case a.Password != "" && a.Username == "", strings.Contains(a.Username, ":"):
		return refuse("has no usable username", "give username and password, or a token")
	case !visible(a.Token):
		return refuse("has a token that cannot be sent", "give a token of visible characters in one line")
	case !certified && a.Authorization() == "":
		return refuse("has no credentials", "give a token or a client certificate")
	}
	return nil
}

func matching(certificate, key []byte) bool {
	_, err := tls.X509KeyPair(certificate, key)
	return err == nil
}

// visible reports whether a text fits into a header as it is.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
