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
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Args are command line flags of a component in their order. kubeadm v1beta3
// writes them as a map, v1beta4 as a list of names and values; both are read.
type Args []Arg

// Arg is one flag, its name without leading dashes.
type Arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// UnmarshalJSON accepts both spellings.
func (a *Args) UnmarshalJSON(data []byte) error {
	var list []Arg
	if err := json.Unmarshal(data, &list); err == nil {
		*a = list
		return nil
	}
	var byName map[string]string
	if err := json.Unmarshal(data, &byName); err != nil {
		return fmt.Errorf("extra arguments are neither a list nor a map: %w", err)
	}
	*a = nil
	for name, value := range byName {
		*a = append(*a, Arg{Name: name, Value: value})
	}
	slices.SortFunc(*a, func(x, y Arg) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

// Last is the value of the last flag of that name, the one that wins on a
// command line, or nothing.
func (a Args) Last(name string) string {
	value := ""
	for _, arg := range a {
		if arg.Name == name {
			value = arg.Value
		}
	}
	return value
}

// NodeRegistration is how a machine presents itself to its cluster.
type NodeRegistration struct {
	Name string `json:"name"`
	// Taints is nil when kubeadm's default for the role applies, and empty when
	// no taint is wanted.
	Taints           []corev1.Taint `json:"taints"`
	KubeletExtraArgs Args           `json:"kubeletExtraArgs"`
}

// ProviderID is the provider ID that the kubelet registers with.
func (n NodeRegistration) ProviderID() string {
	return n.KubeletExtraArgs.Last("provider-id")
}

// Labels are the labels that the kubelet registers with.
func (n NodeRegistration) Labels() (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(n.KubeletExtraArgs.Last("node-labels"), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, fmt.Errorf("kubelet flag node-labels has %q, which is not key=value", pair)
		}
		labels[key] = value
	}
	return labels, nil
}

// ClusterConfiguration is what kubeadm init founds a cluster from.
type ClusterConfiguration struct {
	ClusterName          string       `json:"clusterName"`
	KubernetesVersion    string       `json:"kubernetesVersion"`
	ControlPlaneEndpoint string       `json:"controlPlaneEndpoint"`
	ImageRepository      string       `json:"imageRepository"`
	DNS                  DNS          `json:"dns"`
	APIServer            APIServer    `json:"apiServer"`
	Etcd                 EtcdTopology `json:"etcd"`
}

// DNS is the image of the cluster's name server; empty fields mean the default.
type DNS struct {
	ImageRepository string `json:"imageRepository"`
	ImageTag        string `json:"imageTag"`
}

// APIServer holds the further names of the serving certificate.
type APIServer struct {
	CertSANs []string `json:"certSANs"`
}

// EtcdTopology distinguishes stacked etcd, the default, from an external one.
type EtcdTopology struct {
	External *json.RawMessage `json:"external"`
}

// Discovery is how a joining machine finds its cluster and whom it trusts.
type Discovery struct {
	BootstrapToken *BootstrapToken `json:"bootstrapToken"`
}

// BootstrapToken is discovery by a token that the cluster knows.
type BootstrapToken struct {
	Token                    string   `json:"token"`
	APIServerEndpoint        string   `json:"apiServerEndpoint"`
	CACertHashes             []string `json:"caCertHashes"`
	UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification"`
}

// initConfiguration and joinConfiguration mirror kubeadm's documents.
type initConfiguration struct {
	NodeRegistration NodeRegistration `json:"nodeRegistration"`
}

type joinConfiguration struct {
	NodeRegistration NodeRegistration `json:"nodeRegistration"`
	Discovery        Discovery        `json:"discovery"`
	ControlPlane     *json.RawMessage `json:"controlPlane"`
}

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

// Trusts reports whether the pins of a token accept this authority.
func (t BootstrapToken) Trusts(authority *x509.Certificate) bool {
	if t.UnsafeSkipCAVerification && len(t.CACertHashes) == 0 {
		return true
	}
	sum := sha256.Sum256(authority.RawSubjectPublicKeyInfo)
	return slices.ContainsFunc(t.CACertHashes, func(pin string) bool {
		return strings.EqualFold(pin, "sha256:"+hex.EncodeToString(sum[:]))
	})
}
