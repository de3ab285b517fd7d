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
	"fmt"
	"strings"
)

// Cluster is a workload cluster as its control plane provider sees it.
type Cluster struct {
	Endpoint string
	CA       Authority
	Etcd     Authority
}

// NewCluster makes the authorities of a cluster.
func NewCluster(endpoint string) Cluster {
	return Cluster{Endpoint: endpoint, CA: NewAuthority("kubernetes"), Etcd: NewAuthority("etcd-ca")}
}

// Token is the bootstrap token that sample machines join with, and its parts.
const (
	TokenID     = "abcdef"
	TokenSecret = "0123456789abcdef"
	Token       = TokenID + "." + TokenSecret
)

// registration asks for what the templates of Metal3 ask for.
const registration = `nodeRegistration:
  name: '{{ ds.meta_data.name }}'
  kubeletExtraArgs:
  - name: node-labels
    value: metal3.io/uuid={{ ds.meta_data.uuid }}
  - name: provider-id
    value: metal3://{{ ds.meta_data.providerid }}
`

// Init is the user data of the first control plane.
func (c Cluster) Init() string {
	return userData("init", c.pki(), fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: sample
kubernetesVersion: v1.36.1
controlPlaneEndpoint: %s
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
%s`, c.Endpoint, registration))
}

// JoinControlPlane is the user data of a further control plane.
func (c Cluster) JoinControlPlane() string {
	return userData("join", c.pki(), c.join()+"controlPlane: {}\n")
}

// JoinWorker is the user data of a worker.
func (c Cluster) JoinWorker() string {
	return userData("join", nil, c.join())
}

func (c Cluster) join() string {
	return fmt.Sprintf(`apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: %s
    apiServerEndpoint: %s
    caCertHashes:
    - %s
%s`, Token, c.Endpoint, c.CA.Pin(), registration)
}

type file struct{ path, content string }

// pki lists the shared files of a control plane. The front proxy may share the
// cluster's authority here; it is not read.
func (c Cluster) pki() []file {
	const dir = "/etc/kubernetes/pki/"
	return []file{
		{dir + "ca.crt", c.CA.CertPEM},
		{dir + "ca.key", c.CA.KeyPEM},
		{dir + "etcd/ca.crt", c.Etcd.CertPEM},
		{dir + "etcd/ca.key", c.Etcd.KeyPEM},
		{dir + "front-proxy-ca.crt", c.CA.CertPEM},
		{dir + "front-proxy-ca.key", c.CA.KeyPEM},
		{dir + "sa.pub", "public"},
		{dir + "sa.key", "private"},
	}
}

// userData is a cloud-config that runs kubeadm with a configuration.
func userData(verb string, files []file, config string) string {
	const path = "/run/kubeadm/kubeadm.yaml"
	var out strings.Builder
	out.WriteString("## template: jinja\n#cloud-config\n\nwrite_files:\n")
	for _, f := range append(files, file{path, config}) {
		fmt.Fprintf(&out, "-   path: %s\n    content: |\n      %s\n", f.path,
			strings.ReplaceAll(strings.TrimSpace(f.content), "\n", "\n      "))
	}
	fmt.Fprintf(&out, "runcmd:\n  - 'systemctl start containerd'\n  - 'kubeadm %s --config %s -v 5 && echo success > /run/done'\n", verb, path)
	return out.String()
}
