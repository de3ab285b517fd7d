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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// pair is a certificate and its key in PEM.
type pair struct{ certificate, key []byte }

func newPair(tb testing.TB, name string) pair {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.NoError(tb, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	expect.NoError(tb, err)
	private, err := x509.MarshalECPrivateKey(key)
	expect.NoError(tb, err)
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}
}

func embedded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// inNamespace is config with the namespace claims in its context.
func inNamespace(user, cluster string) string {
	return strings.Replace(config(user, cluster), "cluster: k}", "cluster: k, namespace: claims}", 1)
}

func resolve(data []byte, context string) (Access, error) {
	file, err := Parse(data)
	if err != nil {
		return Access{}, err
	}
	return file.Resolve(context)
}

func TestResolve(t *testing.T) {
	ca, user := newPair(t, "ca"), newPair(t, "user")
	authority := server + "\ncertificate-authority-data: " + embedded(ca.certificate)
	tests := map[string]struct {
		given, context string
		want           Access
	}{
		"follows the current context": {
			given: inNamespace(token, authority),
			want:  Access{Server: "https://203.0.113.7:6443", CA: ca.certificate, Namespace: "claims", Token: "s3cret"},
		},
		"follows the context that is asked for": {
			given: strings.Replace(inNamespace(token, server), "contexts:\n",
				"contexts:\n- name: other\n  context: {user: u, cluster: k, namespace: elsewhere}\n", 1),
			context: "other",
			want:    Access{Server: "https://203.0.113.7:6443", Namespace: "elsewhere", Token: "s3cret"},
		},
		"takes a client certificate": {
			given: inNamespace("client-certificate-data: "+embedded(user.certificate)+"\nclient-key-data: "+embedded(user.key), authority),
			want: Access{
				Server: "https://203.0.113.7:6443", CA: ca.certificate, Namespace: "claims",
				ClientCertificate: user.certificate, ClientKey: user.key,
			},
		},
		"takes a password": {
			given: inNamespace("username: me\npassword: s3cret", server),
			want:  Access{Server: "https://203.0.113.7:6443", Namespace: "claims", Username: "me", Password: "s3cret"},
		},
		"takes the name in the certificate of the server": {
			given: inNamespace(token, server+"\ntls-server-name: api.example.com"),
			want:  Access{Server: "https://203.0.113.7:6443", TLSServerName: "api.example.com", Namespace: "claims", Token: "s3cret"},
		},
		"takes the end of a line from a token": {
			given: inNamespace("token: \"s3cret\\n\"", server),
			want:  Access{Server: "https://203.0.113.7:6443", Namespace: "claims", Token: "s3cret"},
		},
		"writes equal servers in one way": {
			given: inNamespace(token, "server: HTTPS://API.Example.com:443/k8s/"),
			want:  Access{Server: "https://api.example.com/k8s", Namespace: "claims", Token: "s3cret"},
		},
		"writes an IPv6 address as URLs do": {
			given: inNamespace(token, "server: https://[2001:DB8::1]:443"),
			want:  Access{Server: "https://[2001:db8::1]", Namespace: "claims", Token: "s3cret"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resolve([]byte(tt.given), tt.context)
			expect.NoError(t, err)
			expect.Equal(t, tt.want, got)
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	ca, other := newPair(t, "ca"), newPair(t, "other")
	long := strings.Repeat("x", 300)
	tests := map[string]struct {
		given, context, want string
	}{
		"what Check refuses": {
			given: inNamespace("tokenFile: /t", server),
			want:  `kubeconfig: users["u"].tokenFile is not permitted: embed its content as token`,
		},
		"servers that are not verified": {
			given: inNamespace(token, server+"\ninsecure-skip-tls-verify: true"),
			want:  `kubeconfig: clusters["k"].insecure-skip-tls-verify is not permitted: embed certificate-authority-data`,
		},
		"proxies": {
			given: inNamespace(token, server+"\nproxy-url: https://proxy"),
			want:  `kubeconfig: clusters["k"].proxy-url is not permitted: name a server that is reached without a proxy`,
		},
		"what is no kubeconfig": {
			given: "users: [", want: "kubeconfig: it cannot be parsed: write one as kubectl config view --raw shows it",
		},
		"a context that is not there": {
			given: inNamespace(token, server), context: "nowhere",
			want: `kubeconfig: there is no context "nowhere": name one that the file has`,
		},
		"no context": {
			given: strings.Replace(inNamespace(token, server), "current-context: c\n", "", 1),
			want:  "kubeconfig: no context is current: set current-context, or name a context in identityRef.context",
		},
		"a context without a namespace": {
			given: config(token, server),
			want:  `kubeconfig: context "c" has no namespace: give the namespace in which the claims are to live`,
		},
		"a namespace that would be another path": {
			given: strings.Replace(inNamespace(token, server), "namespace: claims", "namespace: ../../x", 1),
			want:  `kubeconfig: context "c" has "../../x" as its namespace, which is no name of one: give the namespace in which the claims are to live`,
		},
		"a user that is not there": {
			given: strings.Replace(inNamespace(token, server), "user: u,", "user: x,", 1),
			want:  `kubeconfig: context "c" names a cluster or a user that is not in the file: name both as the file has them`,
		},
		"a server with credentials in its URL": {
			given: inNamespace(token, "server: https://me:s3cret@203.0.113.7"),
			want:  `kubeconfig: clusters["k"].server is no address of an API server: give https://, a host, a port and perhaps a path, and nothing else`,
		},
		"a server with a query": {
			given: inNamespace(token, "server: https://203.0.113.7?x=y"),
			want:  `kubeconfig: clusters["k"].server is no address of an API server: give https://, a host, a port and perhaps a path, and nothing else`,
		},
		"a server with two schemes": {
			given: inNamespace(token, "server: https://https://203.0.113.7"),
			want:  `kubeconfig: clusters["k"].server is no address of an API server: give https://, a host, a port and perhaps a path, and nothing else`,
		},
		"authorities that are none": {
			given: inNamespace(token, server+"\ncertificate-authority-data: Y2E="),
			want:  `kubeconfig: clusters["k"].certificate-authority-data holds no certificate: give PEM certificates, encoded in base64`,
		},
		"a server name that is none": {
			given: inNamespace(token, server+"\ntls-server-name: 'a b'"),
			want:  `kubeconfig: clusters["k"].tls-server-name is no name of a host: give the name in the server's certificate`,
		},
		"a key of another certificate": {
			given: inNamespace("client-certificate-data: "+embedded(ca.certificate)+"\nclient-key-data: "+embedded(other.key), server),
			want: `kubeconfig: users["u"] has a client certificate and a client key that do not belong together: ` +
				"give client-certificate-data and client-key-data of one pair",
		},
		"a token beside a password": {
			given: inNamespace(token+"\nusername: me\npassword: p", server),
			want:  `kubeconfig: users["u"] has both a token and a password: keep one of them`,
		},
		"a password of nobody": {
			given: inNamespace("password: p", server),
			want:  `kubeconfig: users["u"] has no usable username: give username and password, or a token`,
		},
		"a token with a second header": {
			given: inNamespace("token: \"s3cret\\r\\nX-Remote-User: admin\"", server),
			want:  `kubeconfig: users["u"] has a token that cannot be sent: give a token of visible characters in one line`,
		},
		"nobody": {
			given: inNamespace("{}", server),
			want:  `kubeconfig: users["u"] has no credentials: give a token or a client certificate`,
		},
		"a name that would fill the condition, and cuts it": {
			given: inNamespace(token, server), context: long,
			want: `kubeconfig: there is no context "` + long[:64] + `...": name one that the file has`,
		},
		"a name with line breaks, and shows them": {
			given: inNamespace(token, server), context: "a\nReady",
			want: `kubeconfig: there is no context "a\nReady": name one that the file has`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := resolve([]byte(tt.given), tt.context)
			expect.Must(t, err != nil, "it is accepted")
			expect.Equal(t, tt.want, err.Error())
			expect.Equal(t, Access{}, got)
		})
	}
}

func TestAccess(t *testing.T) {
	one, two := newPair(t, "one").certificate, newPair(t, "two").certificate
	base := Access{Server: "https://a", CA: one, Namespace: "n", Token: "t"}
	tests := map[string]struct {
		change                      func(*Access)
		sameTarget, sameLine, equal bool
	}{
		"another token is the same line":           {change: func(a *Access) { a.Token = "u" }, sameTarget: true, sameLine: true},
		"a password instead is the same line":      {change: func(a *Access) { a.Token, a.Username = "", "t" }, sameTarget: true, sameLine: true},
		"another server is not":                    {change: func(a *Access) { a.Server = "https://b" }},
		"another namespace is not":                 {change: func(a *Access) { a.Namespace = "m" }},
		"another authority is not":                 {change: func(a *Access) { a.CA = two }},
		"another name of the server is not":        {change: func(a *Access) { a.TLSServerName = "b" }, sameTarget: true},
		"a client certificate is not":              {change: func(a *Access) { a.ClientCertificate = one }, sameTarget: true},
		"a text around an authority means nothing": {change: func(a *Access) { a.CA = append([]byte("# CA\n"), one...) }, sameTarget: true, sameLine: true, equal: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			other := base
			tt.change(&other)
			if (base.Target() == other.Target()) != tt.sameTarget || (base.Line() == other.Line()) != tt.sameLine || (base.Key() == other.Key()) != tt.equal {
				t.Errorf("same target %v, line %v, key %v", base.Target() == other.Target(), base.Line() == other.Line(), base.Key() == other.Key())
			}
		})
	}
	t.Run("the order of authorities means nothing", func(t *testing.T) {
		a, b := base, base
		a.CA, b.CA = slices.Concat(one, two), slices.Concat(two, one)
		expect.That(t, a.Target() == b.Target() && a.Key() == b.Key(), "it makes a difference")
	})
	t.Run("without authorities the target has no hash", func(t *testing.T) {
		expect.Equal(t, identity.Target{Server: "https://a", Namespace: "n"}, Access{Server: "https://a", Namespace: "n"}.Target())
	})
	t.Run("parts do not run into each other", func(t *testing.T) {
		if (Access{Username: "a", Password: "b"}).Key() == (Access{Username: "ab"}).Key() ||
			(Access{Server: "ab"}).Line() == (Access{Server: "a", TLSServerName: "b"}).Line() {
			t.Error("two accesses have one key")
		}
	})
}

func TestTLS(t *testing.T) {
	ca, user := newPair(t, "ca"), newPair(t, "user")
	got := Access{CA: ca.certificate, ClientCertificate: user.certificate, ClientKey: user.key, TLSServerName: "n"}.TLS()
	expect.That(t, got.RootCAs != nil && len(got.Certificates) == 1 && got.ServerName == "n" && !got.InsecureSkipVerify, "settings are %+v", got)
	if got := (Access{}).TLS(); got.RootCAs != nil || len(got.Certificates) != 0 {
		t.Errorf("settings without certificates are %+v", got)
	}
}

// FuzzResolve makes sure that what is accepted makes client-go neither read a file nor run a
// program, also if the file itself were given to it, and that the access is complete.
func FuzzResolve(f *testing.F) {
	user := newPair(f, "user")
	f.Add([]byte(inNamespace(token, server)), "")
	f.Add([]byte(inNamespace("username: me\npassword: p", server)), "c")
	f.Add([]byte(inNamespace("client-certificate-data: "+embedded(user.certificate)+"\nclient-key-data: "+embedded(user.key), server)), "c")
	f.Add([]byte(inNamespace("exec: {command: sh}", "server: http://x")), "")
	f.Add([]byte(inNamespace(token+"\ntokenFile: /t", server+"\ncertificate-authority: /ca")), "")
	f.Add([]byte("contexts: [{name: '', context: {user: '', cluster: ''}}]\nusers: [{name: ''}]\nclusters: [{name: ''}]"), "")
	f.Add([]byte("contexts: [{name: c, context: null}]"), "c")
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		access, err := resolve(data, context)
		if err != nil {
			expect.That(t, reason(err) != "", "error of another type: %v", err)
			return
		}
		access.TLS()
		expect.That(t, strings.HasPrefix(access.Server, "https://") && access.Namespace != "" && (access.Authorization() != "" || len(access.ClientKey) != 0), "accepted %+v", access)
		text, err := plain(data)
		expect.NoError(t, err)
		parsed, err := clientcmd.Load(text)
		expect.NoError(t, err)
		rest, err := clientcmd.NewNonInteractiveClientConfig(*parsed, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
		if err != nil {
			return // client-go is the stricter one
		}
		if rest.BearerTokenFile != "" || rest.CertFile != "" || rest.KeyFile != "" || rest.CAFile != "" ||
			rest.ExecProvider != nil || rest.AuthProvider != nil || rest.Impersonate.UserName != "" || rest.Insecure || rest.Proxy != nil {
			t.Errorf("client-go would do more: %+v", rest)
		}
	})
}
