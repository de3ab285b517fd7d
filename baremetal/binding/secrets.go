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

package binding

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
)

// SecretKind is what a secret of a claim is for. Its text is the value of the
// label SecretKindLabel.
type SecretKind string

// The secrets that a claim can name.
const (
	UserData    SecretKind = "userdata"
	MetaData    SecretKind = "metadata"
	NetworkData SecretKind = "networkdata"
	OCIAuth     SecretKind = "ociauth"
)

// SecretKinds are all kinds, in the order in which they are looked at.
var SecretKinds = [...]SecretKind{UserData, MetaData, NetworkData, OCIAuth}

// copyPrefix starts the names of all copies.
const copyPrefix = "hostclaim-"

// dataKeys are the keys that baremetal-operator reads; credentials for a registry have that of their type.
var dataKeys = map[SecretKind]string{
	UserData: secretkeys.UserData, MetaData: secretkeys.MetaData, NetworkData: secretkeys.NetworkData,
}

// SecretName returns the name of the secret that a claim names for a purpose;
// empty when it names none. The secret is always one of the claim's namespace,
// whatever namespace the reference gives.
func SecretName(claim *bmov1alpha1.HostClaim, kind SecretKind) string {
	ref := map[SecretKind]*corev1.SecretReference{
		UserData:    claim.Spec.UserData,
		MetaData:    claim.Spec.MetaData,
		NetworkData: claim.Spec.NetworkData,
	}[kind]
	if ref != nil {
		return ref.Name
	}
	if image := claim.Spec.Image; kind == OCIAuth && image != nil && image.OCIAuthSecretName != nil {
		return *image.OCIAuthSecretName
	}
	return ""
}

// SecretField returns the path of the reference in the claim.
func SecretField(kind SecretKind) string {
	return map[SecretKind]string{
		UserData:    "spec.userData",
		MetaData:    "spec.metaData",
		NetworkData: "spec.networkData",
		OCIAuth:     "spec.image.ociAuthSecretName",
	}[kind]
}

// Extract returns the part of a secret that is needed, under the key that
// baremetal-operator reads. The error completes a sentence about the secret.
func Extract(kind SecretKind, secret *corev1.Secret) (secretkeys.Content, error) {
	return secretkeys.Extract(dataKeys[kind], secret)
}

// EmptyNetworkData is the network data of a claim that has none, where the
// host's own would otherwise reach the tenant.
func EmptyNetworkData() secretkeys.Content {
	return secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: secretkeys.NetworkData, Value: []byte{}}
}

// CopyNames are the names of the copies of a claim's secrets, of every kind; there
// are none for no claim.
func CopyNames(claim types.UID) []string {
	if claim == "" {
		return nil
	}
	var out []string
	for _, kind := range SecretKinds {
		out = append(out, CopyName(claim, kind))
	}
	return out
}

// CopyName is the name of the copy of a claim's secret next to its host. It
// depends on the claim's UID only, so that it is the same in every pass and
// never that of another claim.
func CopyName(claim types.UID, kind SecretKind) string {
	return copyPrefix + string(kind) + "-" + shortHash(string(claim))
}

// IsCopyName reports whether a secret may be a copy, by its name alone.
func IsCopyName(name string) bool {
	for _, kind := range SecretKinds {
		if strings.HasPrefix(name, copyPrefix+string(kind)+"-") {
			return true
		}
	}
	return false
}

// CopiedFrom is the namespace of the claim that a copy was made for; empty if the copy has no
// record of it.
func CopiedFrom(secret metav1.Object) string {
	namespace, _, _ := strings.Cut(secret.GetAnnotations()[infrav1.SecretSourceAnnotation], "/")
	return namespace
}

// Copy returns the secret next to the host that carries content for a claim.
// Owners cannot cross namespaces, so the host owns it.
func Copy(claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost, kind SecretKind, content secretkeys.Content) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace,
			Name:      CopyName(claim.UID, kind),
			Labels: map[string]string{
				infrav1.SecretClaimUIDLabel:  string(claim.UID),
				infrav1.SecretHostUIDLabel:   string(host.UID),
				infrav1.SecretKindLabel:      string(kind),
				infrav1.BareMetalSecretLabel: infrav1.BareMetalSecretLabelValue,
			},
			Annotations: map[string]string{
				infrav1.SecretSourceAnnotation: claim.Namespace + "/" + SecretName(claim, kind),
				infrav1.ContentHashAnnotation:  content.Hash(claim.UID),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: bmov1alpha1.GroupVersion.String(),
				Kind:       "BareMetalHost",
				Name:       host.Name,
				UID:        host.UID,
			}},
		},
		Type: content.Type,
		Data: map[string][]byte{content.Key: content.Value},
	}
}

// CopyKeys are the labels and annotations of copies.
func CopyKeys() []string {
	return []string{
		infrav1.SecretClaimUIDLabel, infrav1.SecretHostUIDLabel, infrav1.SecretKindLabel, infrav1.BareMetalSecretLabel,
		infrav1.SecretSourceAnnotation, infrav1.ContentHashAnnotation,
	}
}

// IsCopy reports whether a secret is a copy that was made for a claim. A secret of the right
// name without the marks belongs to another owner and is never touched.
func IsCopy(secret metav1.Object, claim *bmov1alpha1.HostClaim, kind SecretKind) bool {
	labels := secret.GetLabels()
	return labels[infrav1.SecretClaimUIDLabel] == string(claim.UID) && labels[infrav1.SecretKindLabel] == string(kind)
}

// shortHash is long enough that two claims of one installation do not meet.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
