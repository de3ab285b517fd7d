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
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// Remote is a namespace of another cluster that holds the claim of a machine.
type Remote struct {
	// Namespace of the claim.
	Namespace string
	// Origin of the machine, by which the claim is found again.
	Origin string
}

// Suffixes of the names of secrets that are copied next to a claim.
const (
	UserDataSuffix    = "-userdata"
	MetaDataSuffix    = "-metadata"
	NetworkDataSuffix = "-networkdata"
	PullSecretSuffix  = "-pullsecret"
)

// NameFor returns the name of a new claim of a machine; remote is its place in another cluster, nil for its own one.
func NameFor(machine string, remote *Remote) string {
	if remote != nil {
		return RemoteName(machine, remote.Origin)
	}
	return Name(machine)
}

// RemoteName is the name of a new claim of the machine in another cluster. It
// differs between machines of one name, which that cluster may see several of.
func RemoteName(machine, origin string) string {
	const longest = 253 - len(NetworkDataSuffix) - text.HashLength - 1
	return strings.TrimRight(machine[:min(len(machine), longest)], "-.") + "-" + text.Hash(origin)
}

// Copy is one secret of a machine that is copied next to its claim.
type Copy struct {
	// Source is the name of the machine's secret; empty when it has none.
	Source string
	// Suffix ends the name of the copy.
	Suffix string
	// Key is the only key of the copy; empty for a pull secret, whose type implies it.
	Key string
}

// Name of the copy, which begins with the base of its claim; empty without a source.
func (c Copy) Name(base string) string {
	if c.Source == "" {
		return ""
	}
	return base + c.Suffix
}

// NamedBy reports whether the claim names the copy for its host already.
func (c Copy) NamedBy(claim *bmov1alpha1.HostClaim) bool {
	return slices.Contains(CopiesOf(claim), c.Name(copyBase(claim)))
}

// Copies lists what is copied of the secrets of a machine. The names in it are
// those of the machine's own secrets, the last of which has the credentials for the registry of the image.
func Copies(userData, metaData, networkData, pullSecret string) [4]Copy {
	return [4]Copy{
		{Source: userData, Suffix: UserDataSuffix, Key: secretkeys.UserData},
		{Source: metaData, Suffix: MetaDataSuffix, Key: secretkeys.MetaData},
		{Source: networkData, Suffix: NetworkDataSuffix, Key: secretkeys.NetworkData},
		{Source: pullSecret, Suffix: PullSecretSuffix},
	}
}

// CopiesOf lists the names of the copies that a claim names for its host.
func CopiesOf(claim *bmov1alpha1.HostClaim) []string {
	spec := claim.Spec
	names := []string{secretName(spec.UserData), secretName(spec.MetaData), secretName(spec.NetworkData), PullSecretOf(spec.Image)}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Content is what is copied of a source. The error completes a sentence about the source.
func (c Copy) Content(source *corev1.Secret) (secretkeys.Content, error) {
	return secretkeys.Extract(c.Key, source)
}

// DesiredCopy is the copy with the content, whole. It goes with the claim.
func (c Copy) DesiredCopy(claim *bmov1alpha1.HostClaim, content secretkeys.Content) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   claim.Namespace,
			Name:        c.Name(copyBase(claim)),
			Labels:      map[string]string{infrav1.OriginKey: claim.Labels[infrav1.OriginKey]},
			Annotations: map[string]string{infrav1.ContentHashAnnotation: content.Hash(claim.UID)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: bmov1alpha1.GroupVersion.String(), Kind: Kind, Name: claim.Name, UID: claim.UID,
			}},
		},
		Type: content.Type,
		Data: map[string][]byte{content.Key: content.Value},
	}
}

// CopyOf reports whether the object is a copy of ours in the namespace of the claim. The copies
// of a claim that was adopted carry the origin of the former machine.
func CopyOf(o metav1.Object, claim *bmov1alpha1.HostClaim) bool {
	return o.GetLabels()[infrav1.OriginKey] != "" && OwnedBy(o, claim.UID)
}

// OwnedBy reports whether an object has an owner of this UID.
func OwnedBy(o metav1.Object, owner types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// HandedOver returns a claim in the namespace of its machine as the machine finds it from any
// cluster: by the origin, owned by nothing that clusterctl moves, and not paused with its Cluster.
func HandedOver(claim *bmov1alpha1.HostClaim, owner Owner, origin string) *bmov1alpha1.HostClaim {
	out := claim.DeepCopy()
	disown(out, owner.UID)
	metav1.SetMetaDataLabel(&out.ObjectMeta, infrav1.OriginKey, origin)
	if out.Annotations[clusterv1.PausedAnnotation] == PauseValue {
		delete(out.Annotations, clusterv1.PausedAnnotation)
	}
	out.Spec.ConsumerRef = owner.consumer()
	out.Spec.ConsumerRef.Namespace = ""
	return out
}

// CopyBase begins the names of the secrets that are copied next to a claim. It is the name
// of the claim, but for one that was made in the namespace of its machine: secrets of the
// machine have such names there.
func CopyBase(claim, machine, origin string) string {
	if claim == Name(machine) {
		return RemoteName(machine, origin)
	}
	return claim
}

// copyBase is CopyBase of a claim that carries its origin.
func copyBase(claim *bmov1alpha1.HostClaim) string {
	ref := claim.Spec.ConsumerRef
	if ref == nil {
		return claim.Name
	}
	return CopyBase(claim.Name, ref.Name, claim.Labels[infrav1.OriginKey])
}
