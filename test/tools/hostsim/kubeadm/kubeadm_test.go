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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/cloudinit"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/internal/sample"
)

func TestNodeRegistration(t *testing.T) {
	type facts struct {
		ProviderID string
		Labels     map[string]string
		Taints     []corev1.Taint
	}
	tests := map[string]struct {
		given   string
		want    facts
		wantErr string
	}{
		"reads arguments as a list, the last one wins": {
			given: "kubeletExtraArgs: [{name: provider-id, value: a}, {name: provider-id, value: b}, {name: node-labels, value: 'x=1, y=,'}]",
			want:  facts{ProviderID: "b", Labels: map[string]string{"x": "1", "y": ""}},
		},
		"reads arguments as a map": {
			given: "kubeletExtraArgs: {provider-id: a, node-labels: x=1}",
			want:  facts{ProviderID: "a", Labels: map[string]string{"x": "1"}},
		},
		"tells no taints from default taints": {
			given: "taints: []",
			want:  facts{Labels: map[string]string{}, Taints: []corev1.Taint{}},
		},
		"takes null as default taints": {given: "taints: null", want: facts{Labels: map[string]string{}}},
		"refuses a label without value": {
			given: "kubeletExtraArgs: {node-labels: x}", wantErr: `"x", which is not key=value`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var registration NodeRegistration
			expect.NoError(t, yaml.Unmarshal([]byte(tc.given), &registration))
			labels, err := registration.Labels()
			expect.Error(t, tc.wantErr, err)
			if err == nil {
				expect.Equal(t, tc.want, facts{ProviderID: registration.ProviderID(), Labels: labels, Taints: registration.Taints})
			}
		})
	}
}

func TestTrusts(t *testing.T) {
	own, other := sample.NewAuthority("own"), sample.NewAuthority("other")
	tests := map[string]struct {
		given BootstrapToken
		want  bool
	}{
		"accepts a pinned authority":                  {BootstrapToken{CACertHashes: []string{other.Pin(), own.Pin()}}, true},
		"compares pins without regard to case":        {BootstrapToken{CACertHashes: []string{strings.ToUpper(own.Pin())}}, true},
		"refuses an authority that is not pinned":     {BootstrapToken{CACertHashes: []string{other.Pin()}}, false},
		"refuses everything without pins":             {BootstrapToken{}, false},
		"accepts everything if told so, without pins": {BootstrapToken{UnsafeSkipCAVerification: true}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, tc.given.Trusts(own.Certificate)) })
	}
}

const endpoint = "127.0.0.1:16443"

var cluster = sample.NewCluster(endpoint)

// config reads sample user data with its template variables filled in.
func config(t *testing.T, userData string) cloudinit.Config {
	t.Helper()
	rendered, err := cloudinit.Render([]byte(userData), cloudinit.InstanceData(map[string]any{
		"name": "node-0", "uuid": "0815", "providerid": "ns/host/node-0",
	}))
	expect.NoError(t, err)
	parsed, err := cloudinit.Parse(rendered)
	expect.NoError(t, err)
	return parsed
}

func TestRead(t *testing.T) {
	registration := NodeRegistration{Name: "node-0", KubeletExtraArgs: Args{
		{Name: "node-labels", Value: "metal3.io/uuid=0815"}, {Name: "provider-id", Value: "metal3://ns/host/node-0"},
	}}
	token := &BootstrapToken{Token: sample.Token, APIServerEndpoint: endpoint, CACertHashes: []string{cluster.CA.Pin()}}
	tests := map[string]struct {
		given   string
		want    Plan
		wantPKI bool
	}{
		"founds a cluster": {
			given: cluster.Init(), wantPKI: true,
			want: Plan{Role: Init, Registration: registration, Endpoint: endpoint, Cluster: ClusterConfiguration{
				ClusterName: "sample", KubernetesVersion: "v1.36.1", ControlPlaneEndpoint: endpoint,
			}},
		},
		"joins as control plane": {
			given: cluster.JoinControlPlane(), wantPKI: true,
			want: Plan{Role: JoinControlPlane, Registration: registration, Endpoint: endpoint, Token: token},
		},
		"joins as worker": {
			given: cluster.JoinWorker(),
			want:  Plan{Role: JoinWorker, Registration: registration, Endpoint: endpoint, Token: token},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Read(config(t, tc.given))
			expect.NoError(t, err)
			expect.Equal(t, tc.wantPKI, got.PKI.Cluster.Certificate != nil && got.PKI.Etcd.Certificate != nil)
			expect.Equal(t, tc.want.Role == Init, strings.Contains(got.ClusterYAML, "clusterName: sample"))
			got.PKI, got.ClusterYAML = PKI{}, ""
			expect.Equal(t, tc.want, got)
		})
	}
}

func TestReadRefuses(t *testing.T) {
	other := sample.NewAuthority("other")
	tests := map[string]struct {
		given     string
		old, new  string
		wantError string
	}{
		"commands without kubeadm":              {given: cluster.Init(), old: "kubeadm init", new: "true", wantError: "runcmd has no kubeadm init or join"},
		"a configuration that is not written":   {given: cluster.Init(), old: "--config /run/kubeadm/kubeadm.yaml", new: "--config=/nowhere", wantError: "reads /nowhere"},
		"an unknown kubeadm API version":        {given: cluster.JoinWorker(), old: "v1beta4", new: "v1beta2", wantError: "no JoinConfiguration of kubeadm.k8s.io/v1beta3 or v1beta4"},
		"init without endpoint":                 {given: cluster.Init(), old: "controlPlaneEndpoint", new: "other", wantError: "no controlPlaneEndpoint"},
		"init with external etcd":               {given: cluster.Init(), old: "clusterName: sample", new: "etcd: {external: {}}", wantError: "external etcd"},
		"join without token":                    {given: cluster.JoinWorker(), old: "bootstrapToken", new: "file", wantError: "no discovery.bootstrapToken"},
		"join without endpoint":                 {given: cluster.JoinWorker(), old: "apiServerEndpoint", new: "other", wantError: "apiServerEndpoint"},
		"a configuration of the wrong shape":    {given: cluster.JoinWorker(), old: "discovery:", new: "discovery: 3\n      x:", wantError: "JoinConfiguration"},
		"a control plane without etcd's key":    {given: cluster.Init(), old: "etcd/ca.key", new: "etcd/other.key", wantError: "creates /etc/kubernetes/pki/etcd/ca.key"},
		"a control plane without account keys":  {given: cluster.Init(), old: "sa.key", new: "sb.key", wantError: "creates /etc/kubernetes/pki/sa.key"},
		"an authority that is no certificate":   {given: cluster.Init(), old: "BEGIN CERTIFICATE", new: "BEGIN ROSES", wantError: "/etc/kubernetes/pki/ca.crt"},
		"an authority whose key is no key":      {given: cluster.Init(), old: "PRIVATE KEY", new: "SECRET", wantError: "/etc/kubernetes/pki/ca.key"},
		"an authority with the key of another":  {given: cluster.JoinControlPlane(), old: indent(cluster.Etcd.KeyPEM), new: indent(other.KeyPEM), wantError: "etcd/ca.key is not the key of"},
		"a control plane without shared proxy":  {given: cluster.Init(), old: "front-proxy-ca.crt", new: "front.crt", wantError: "front-proxy-ca.crt"},
		"kubelet arguments of the wrong shape":  {given: cluster.JoinWorker(), old: "kubeletExtraArgs:", new: "kubeletExtraArgs: 3\n        x:", wantError: "neither a list nor a map"},
		"a kubeadm file that is no YAML at all": {given: cluster.JoinWorker(), old: "apiVersion: kubeadm", new: "apiVersion: [kubeadm", wantError: "/run/kubeadm/kubeadm.yaml"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(tc.given, tc.old) {
				t.Fatalf("the sample has no %q", tc.old)
			}
			_, err := Read(config(t, strings.ReplaceAll(tc.given, tc.old, tc.new)))
			expect.Error(t, tc.wantError, err)
		})
	}
}

// indent puts a text as deep as sample user data has the content of files.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}
