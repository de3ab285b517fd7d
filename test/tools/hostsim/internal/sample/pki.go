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

package sample

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"math/big"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Authority is a certificate authority, as PEM and ready for use.
type Authority struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
	CertPEM     string
	KeyPEM      string
}

// NewAuthority makes an authority; a test without random numbers cannot go on.
func NewAuthority(name string) Authority {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	certificate := must(certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key))
	return Authority{
		Certificate: certificate,
		Key:         key,
		CertPEM:     string(must(certutil.EncodeCertificates(certificate))),
		KeyPEM:      string(must(keyutil.MarshalPrivateKeyToPEM(key))),
	}
}

// Pin is the kubeadm hash of the authority.
func (a Authority) Pin() string {
	sum := sha256.Sum256(a.Certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Client is a TLS configuration that trusts the servers of this authority and
// shows a client certificate of it.
func (a Authority) Client(serverName string) *tls.Config {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "test"},
		NotBefore:    a.Certificate.NotBefore,
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.Key))
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate)
	return &tls.Config{
		RootCAs:      roots,
		ServerName:   serverName,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS12,
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
