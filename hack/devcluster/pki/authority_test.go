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

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func verify(t *testing.T, a *Authority, p Pair, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Cert)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
		t.Error(err)
	}
	return pair.Leaf
}

func TestAuthority(t *testing.T) {
	a, err := NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := a.Serving("127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	server := verify(t, a, serving, x509.ExtKeyUsageServerAuth)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if err := server.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	user, err := a.Client("someone", "group-1", "group-2")
	if err != nil {
		t.Fatal(err)
	}
	subject := verify(t, a, user, x509.ExtKeyUsageClientAuth).Subject
	if diff := cmp.Diff([]string{"group-1", "group-2"}, subject.Organization); diff != "" || subject.CommonName != "someone" {
		t.Errorf("user %s, groups (-want +got):\n%s", subject.CommonName, diff)
	}
}

func TestWriteHidesTheKey(t *testing.T) {
	_, key, err := Pair{Cert: []byte("c"), Key: []byte("k")}.Write(t.TempDir()+"/new", "name")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is readable by others: %v, %v", info.Mode(), err)
	}
}
