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

package claims

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestDesiredRemote shows what differs for a claim that is not in the cluster of
// its machine.
func TestDesiredRemote(t *testing.T) {
	got := Desired(Wanted{
		Name: "m-0", Owner: owner, ClusterName: "a", Remote: &Remote{Namespace: "infra-a", Origin: "o-1"},
		Deployment: &Deployment{UserData: "m-0-userdata"},
	})
	want := bare(func(c *bmov1alpha1.HostClaim) {
		c.Namespace, c.Name, c.OwnerReferences = "infra-a", "m-0", nil
		c.Labels[infrav1.OriginKey] = "o-1"
		c.Spec.ConsumerRef.Namespace = ""
		c.Spec.UserData = &corev1.SecretReference{Namespace: "infra-a", Name: "m-0-userdata"}
	})
	expect.Equal(t, want, got)
	expect.That(t, UpToDate(got, got), "the claim is not what it should be")
	unlabeled := got.DeepCopy()
	delete(unlabeled.Labels, infrav1.OriginKey)
	expect.That(t, !UpToDate(unlabeled, got), "a claim that has lost its origin counts as up to date")
}

func TestRemoteName(t *testing.T) {
	a, b := RemoteName("m-1", "o-1"), RemoteName("m-1", "o-2")
	expect.That(t, a != b && strings.HasPrefix(a, "m-1-"), "machines of one name have claims %s and %s", a, b)
	expect.Equal(t, "m-1-5cbdcb74", RemoteName("m-1", "o-1"))
	for _, machine := range []string{"m", strings.Repeat("m", 253), strings.Repeat("m.", 126) + "m", strings.Repeat("m", 231) + ".mm"} {
		for _, suffix := range []string{"", infrav1.HardwareDataSuffix, UserDataSuffix, MetaDataSuffix, NetworkDataSuffix, PullSecretSuffix} {
			name := RemoteName(machine, "o-1") + suffix
			problems := validation.IsDNS1123Subdomain(name)
			expect.That(t, len(problems) == 0, "%s: %v", name, problems)
		}
	}
}

func TestCopies(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "infra-a", Name: "m-0", UID: "claim-uid", Labels: map[string]string{infrav1.OriginKey: "o-1"},
	}}
	copies := Copies("boot", "", "net", "registry")
	var names []string
	for _, c := range copies {
		names = append(names, c.Name("m-0"))
	}
	expect.Equal(t, []string{"m-0-userdata", "", "m-0-networkdata", "m-0-pullsecret"}, names)
	for name, tc := range map[string]struct {
		source map[string][]byte
		want   string
		found  bool
	}{
		"the key of bootstrap providers":       {map[string][]byte{"value": []byte("v"), "format": []byte("cloud-config")}, "v", true},
		"the key of baremetal-operator wins":   {map[string][]byte{"value": []byte("v"), "userData": []byte("u")}, "u", true},
		"an empty value is a value":            {map[string][]byte{"userData": {}}, "", true},
		"nothing is copied without either key": {map[string][]byte{"token": []byte("secret")}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := copies[0].Content(&corev1.Secret{Data: tc.source}); string(got.Value) != tc.want || (err == nil) != tc.found {
				t.Errorf("content %v, error %v", got, err)
			}
		})
	}
	if got, err := copies[2].Content(&corev1.Secret{Data: map[string][]byte{"token": []byte("secret")}}); len(got.Value) != 0 || err != nil {
		t.Errorf("network data without its key is %v, error %v; want it empty, as inside a cluster", got, err)
	}
	got := copies[0].DesiredCopy(claim, secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: "userData", Value: []byte("content")})
	hash := got.Annotations[infrav1.ContentHashAnnotation]
	want := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra-a", Name: "m-0-userdata",
			Labels:          map[string]string{infrav1.OriginKey: "o-1"},
			Annotations:     map[string]string{infrav1.ContentHashAnnotation: hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Name: "m-0", UID: "claim-uid"}},
		},
		Type: "Opaque", Data: map[string][]byte{"userData": []byte("content")},
	}
	expect.Equal(t, want, got)
	if other := copies[0].DesiredCopy(claim, secretkeys.Content{Value: []byte("other")}); len(hash) != 64 || other.Annotations[infrav1.ContentHashAnnotation] == hash {
		t.Errorf("hash %q does not tell contents apart", hash)
	}
	pull, err := Copies("", "", "", "registry")[3].Content(&corev1.Secret{
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{".dockerconfigjson": []byte("{}"), "other": []byte("secret")},
	})
	if copied := Copies("", "", "", "registry")[3].DesiredCopy(claim, pull); err != nil || copied.Name != "m-0-pullsecret" ||
		copied.Type != corev1.SecretTypeDockerConfigJson || len(copied.Data) != 1 || string(copied.Data[".dockerconfigjson"]) != "{}" {
		t.Errorf("the copy of a pull secret is %v, error %v", copied, err)
	}
	if _, err := Copies("", "", "", "registry")[3].Content(&corev1.Secret{Type: corev1.SecretTypeOpaque}); err == nil {
		t.Error("a Secret of any type is a pull secret")
	}
	expect.That(t, CopyOf(got, claim), "the copy is not known again")
	foreign, orphan := got.DeepCopy(), got.DeepCopy()
	foreign.Labels, orphan.OwnerReferences = nil, nil
	expect.That(t, !CopyOf(foreign, claim) && !CopyOf(orphan, claim), "a secret without label or owner is taken for a copy")
}
