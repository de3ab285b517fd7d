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
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const nameSecret = machineName + "-metadata"

// TestServerOfAnotherNamespaceIsNamedAfterItsMachine has a machine without a data template,
// whose server is registered in another namespace: the server boots with the name
// of the machine.
func TestServerOfAnotherNamespaceIsNamedAfterItsMachine(t *testing.T) {
	tn := newTenant(t)
	tn.asks()
	m := tn.runs(tn)
	want := &corev1.SecretReference{Namespace: tn.Namespace, Name: nameSecret}
	tn.G.Expect(tn.claimed().Spec.MetaData).To(gomega.Equal(want))
	tn.G.Expect(m.Status.MetaData).To(gomega.Equal(want))
	tn.G.Expect(harness.Condition(m.Status.Conditions, "Metal3DataReady")).To(gomega.Equal("True/Metal3DataSecretsReady"))

	secret := find(tn, nameSecret, &corev1.Secret{})
	tn.G.Expect(metav1.IsControlledBy(secret, m)).To(gomega.BeTrue())
	var values map[string]string
	tn.G.Expect(yaml.UnmarshalStrict(secret.Data["metaData"], &values)).To(gomega.Succeed())
	tn.G.Expect(values).To(gomega.Equal(map[string]string{
		"name": machineName, "local-hostname": machineName, "local_hostname": machineName,
		"metal3-namespace": tn.Namespace, "providerid": tn.Namespace + "/" + hostName + "/" + machineName,
	}))
}

// TestSecretOfTheNameIsInTheWay shows what happens to secrets of that name which
// another author has written, and that their end, or the key in them, is enough.
func TestSecretOfTheNameIsInTheWay(t *testing.T) {
	for name, tc := range map[string]struct {
		owner []metav1.OwnerReference
		says  string
		mend  func(tn *tenant, secret *corev1.Secret)
		want  string
	}{
		"of a former machine": {
			owner: []metav1.OwnerReference{{
				APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: machineName, UID: "former", Controller: ptr.To(true),
			}},
			says: "must be deleted",
			mend: func(tn *tenant, secret *corev1.Secret) { tn.G.Expect(tn.Delete(tn.Ctx, secret)).To(gomega.Succeed()) },
			want: "local-hostname: " + machineName,
		},
		"of a user": {
			says: `no key "metaData"`,
			mend: func(tn *tenant, secret *corev1.Secret) {
				tn.Edit(tn.Named(nameSecret, secret), func() { secret.Data["metaData"] = []byte("name: mine\n") })
			},
			want: "name: mine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tn := newTenant(t)
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: nameSecret, OwnerReferences: tc.owner}, Data: map[string][]byte{"other": []byte("x")},
			}
			tn.Add(secret)
			tn.asks()
			tn.bind()
			tn.waits("Metal3DataReady", "SecretNameTaken", nameSecret, tc.says)
			tc.mend(tn, secret)
			tn.provision()
			used := find(tn, nameSecret, &corev1.Secret{})
			tn.G.Expect(string(used.Data["metaData"])).To(gomega.ContainSubstring(tc.want))
			tn.G.Expect(tn.claimed().Spec.MetaData.Name).To(gomega.Equal(nameSecret))
		})
	}
}
