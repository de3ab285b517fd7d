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

package kubeadm

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// pkiDir is where kubeadm keeps the certificates of a control plane.
const pkiDir = "/etc/kubernetes/pki/"

// PKI holds the two authorities that every control plane of a cluster shares.
type PKI struct {
	Cluster Authority
	Etcd    Authority
}

// Authority can sign certificates.
type Authority struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
}

// readPKI reads the authorities from the files of a machine, and checks the
// other shared keys, which a joining control plane would miss in life.
func readPKI(files map[string][]byte) (PKI, error) {
	var pki PKI
	var err error
	if pki.Cluster, err = readAuthority(files, "ca"); err != nil {
		return PKI{}, err
	}
	if pki.Etcd, err = readAuthority(files, "etcd/ca"); err != nil {
		return PKI{}, err
	}
	if _, err = readAuthority(files, "front-proxy-ca"); err != nil {
		return PKI{}, err
	}
	for _, name := range []string{"sa.pub", "sa.key"} {
		if _, ok := files[pkiDir+name]; !ok {
			return PKI{}, fmt.Errorf("no write_files entry creates %s", pkiDir+name)
		}
	}
	return pki, nil
}

func readAuthority(files map[string][]byte, name string) (Authority, error) {
	certificatePath, keyPath := pkiDir+name+".crt", pkiDir+name+".key"
	for _, path := range []string{certificatePath, keyPath} {
		if _, ok := files[path]; !ok {
			return Authority{}, fmt.Errorf("no write_files entry creates %s", path)
		}
	}
	certificates, err := certutil.ParseCertsPEM(files[certificatePath])
	if err != nil {
		return Authority{}, fmt.Errorf("%s: %w", certificatePath, err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(files[keyPath])
	if err != nil {
		return Authority{}, fmt.Errorf("%s: %w", keyPath, err)
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return Authority{}, fmt.Errorf("%s: a key of type %T cannot sign", keyPath, parsed)
	}
	own, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !own.Equal(certificates[0].PublicKey) {
		return Authority{}, fmt.Errorf("%s is not the key of %s", keyPath, certificatePath)
	}
	return Authority{Certificate: certificates[0], Key: key}, nil
}

// Trusts says whether the pins of a token accept this authority.
func (t BootstrapToken) Trusts(authority *x509.Certificate) bool {
	if t.UnsafeSkipCAVerification && len(t.CACertHashes) == 0 {
		return true
	}
	sum := sha256.Sum256(authority.RawSubjectPublicKeyInfo)
	return slices.ContainsFunc(t.CACertHashes, func(pin string) bool {
		return strings.EqualFold(pin, "sha256:"+hex.EncodeToString(sum[:]))
	})
}
