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

package machine

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestRefuses names Secrets as the kubeadm bootstrap provider, the control plane
// and users make them.
func TestRefuses(t *testing.T) {
	const group = "bootstrap.cluster.x-k8s.io"
	made := func(name string, change ...func(*corev1.Secret)) *corev1.Secret {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
			Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": nil},
		}
		for _, f := range change {
			f(s)
		}
		return s
	}
	owned := func(name string) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: group + "/v1beta2", Kind: "KubeadmConfig", Name: name, Controller: ptr.To(true),
			}}
		}
	}
	opaque := func(s *corev1.Secret) { s.Type, s.Labels = corev1.SecretTypeOpaque, nil }
	permitted := func(s *corev1.Secret) { s.Labels = map[string]string{"hostclaim.metal3.io/user-data": "true"} }
	key := func(key string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Data = map[string][]byte{key: nil} }
	}
	config := clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "KubeadmConfig", Name: "m-config"}
	plain := clusterv1.Machine{Spec: clusterv1.MachineSpec{ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("m")}}}
	kubeadm := *plain.DeepCopy()
	kubeadm.Spec.Bootstrap.ConfigRef = config

	tests := map[string]struct {
		owner   clusterv1.Machine
		secret  *corev1.Secret
		named   bool // by the Metal3Machine
		refused string
	}{
		"bootstrap data of the machine":                 {owner: kubeadm, secret: made("m", owned("m-config"))},
		"the same from a provider that sets no type":    {owner: kubeadm, secret: made("m", owned("m-config"), opaque)},
		"the same after its owner was lost":             {owner: kubeadm, secret: made("m")},
		"the same, named by the Metal3Machine":          {owner: kubeadm, secret: made("m", owned("m-config")), named: true},
		"bootstrap data that a Machine names by itself": {owner: plain, secret: made("m", owned("other"))},
		"bootstrap data of another machine":             {owner: kubeadm, secret: made("n", owned("n-config")), refused: "not known to be"},
		"the Metal3Machine names that of another":       {owner: plain, secret: made("n", owned("n-config")), named: true, refused: "not known to be"},
		"bootstrap data of another Cluster": {
			owner: plain, refused: "not known to be",
			secret: made("m", func(s *corev1.Secret) { s.Labels[clusterv1.ClusterNameLabel] = "d" }),
		},
		"a Secret of a user that the Machine names":       {owner: plain, secret: made("m", opaque), refused: "not known to be"},
		"the same with the label":                         {owner: plain, secret: made("m", opaque, permitted)},
		"a Secret of a user that the Metal3Machine names": {owner: kubeadm, secret: made("x", opaque), named: true},
		"the same that the Machine names, too":            {owner: plain, secret: made("m", opaque), named: true, refused: "not known to be"},
		"a Secret with a key of its own":                  {owner: kubeadm, secret: made("x", owned("other"), key("userData")), named: true},
		"the kubeconfig":                                  {owner: plain, secret: made("c-kubeconfig"), refused: "credentials of a Cluster"},
		"the kubeconfig, named by the Metal3Machine":      {owner: kubeadm, secret: made("c-kubeconfig", opaque), named: true, refused: "credentials of a Cluster"},
		"the key of the CA":                               {owner: plain, secret: made("c-ca", key("userData")), named: true, refused: "credentials of a Cluster"},
		"the kubeconfig of another Cluster": {
			owner: kubeadm, named: true, refused: "credentials of a Cluster",
			secret: made("d-kubeconfig", func(s *corev1.Secret) { s.Labels[clusterv1.ClusterNameLabel] = "d" }),
		},
		"credentials with the label": {owner: plain, secret: made("c-ca", permitted)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			why := refuses(&tt.owner, tt.secret, "userData", tt.named)
			if (why == "") != (tt.refused == "") || !strings.Contains(why, tt.refused) {
				t.Errorf("refused: %q, want %q", why, tt.refused)
			}
			if why != "" && !strings.Contains(why, "hostclaim.metal3.io/user-data=true") {
				t.Errorf("no remedy in %q", why)
			}
		})
	}
}
