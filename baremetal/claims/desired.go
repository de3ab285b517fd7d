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
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	hostselection "github.com/metal3-io/cluster-api-provider-metal3/baremetal/selection"
)

// Wanted is everything that the claim of a machine depends on.
type Wanted struct {
	// Name of the claim: that of the claim the machine already has, else Name(machine),
	// or RemoteName.
	Name string
	// Owner is the machine that the claim is for.
	Owner Owner
	// Remote is where the claim lives if that is another cluster; nil means the machine's own
	// namespace.
	Remote *Remote
	// ClusterName is the Cluster that the machine belongs to.
	ClusterName string
	// WatchFilter is the value of the label cluster.x-k8s.io/watch-filter of the machine, by which several
	// managers share the work; empty means that it has none.
	WatchFilter string
	// Class is the kind of compute, with arguments for its controller; nil means the default of the cluster.
	Class *infrav1.HostClass
	// Selector narrows down the hosts; nil means any host.
	Selector *infrav1.HostSelector
	// FailureDomain that the host must belong to; empty means any.
	FailureDomain string
	// SoftFailureDomain makes the failure domain a preference.
	SoftFailureDomain bool
	// Deployment is what is to run on the host; nil until its data is ready.
	Deployment *Deployment
	// PoweredOn is the power state that the host should have.
	PoweredOn bool
	// TakeOver is the name of the host, in the machine's own namespace, that CAPM3 has bound to the machine and
	// that the claim takes over; empty if it is to look for one.
	TakeOver string
	// Rebuild asks for the host to be wiped and written anew, if it was not asked by the
	// same text before; empty asks for nothing.
	Rebuild string
}

// Deployment is what a claim wants to run on its host. Secrets are those of the
// claim's own namespace.
type Deployment struct {
	// Image to be written; nil with a custom deployment only.
	Image *bmov1alpha1.Image
	// CustomDeploy replaces the writing of the image.
	CustomDeploy *bmov1alpha1.CustomDeploy
	// UserData, MetaData and NetworkData are names of secrets; empty means none.
	UserData, MetaData, NetworkData string
}

// Desired returns the claim as the machine wants it, whole.
func Desired(w Wanted) *bmov1alpha1.HostClaim {
	claim := &bmov1alpha1.HostClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: bmov1alpha1.GroupVersion.String(), Kind: Kind},
		ObjectMeta: w.metadata(),
		Spec: bmov1alpha1.HostClaimSpec{
			PoweredOn:     w.PoweredOn,
			HostSelector:  selector(w.Selector),
			ConsumerRef:   w.Owner.consumer(),
			FailureDomain: w.FailureDomain,
		},
	}
	askClass(claim, w.Class)
	if w.TakeOver != "" && hostselection.CheckNew(claim) != nil { // CAPM3 understood it, and the host is known
		claim.Spec.HostSelector = bmov1alpha1.HostSelector{}
	}
	if w.SoftFailureDomain {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.SoftFailureDomainAnnotation, "true")
	}
	if w.TakeOver != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.TakeOverAnnotation, w.TakeOver)
	}
	if w.Rebuild != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.RebuildAnnotation, w.Rebuild)
	}
	if d := w.Deployment; d != nil {
		claim.Spec.Image = d.Image
		claim.Spec.CustomDeploy = d.CustomDeploy
		claim.Spec.UserData = secret(claim.Namespace, d.UserData)
		claim.Spec.MetaData = secret(claim.Namespace, d.MetaData)
		claim.Spec.NetworkData = secret(claim.Namespace, d.NetworkData)
	}
	if w.Remote != nil {
		// The namespace of the machine means something else in another cluster.
		claim.Spec.ConsumerRef.Namespace = ""
	}
	return claim
}

// askClass puts the class on the claim, with its arguments.
func askClass(claim *bmov1alpha1.HostClaim, class *infrav1.HostClass) {
	if class == nil {
		return
	}
	claim.Labels[infrav1.ClassLabel] = class.Name
	if len(class.Parameters) > 0 {
		var arguments strings.Builder
		encoder := json.NewEncoder(&arguments)
		encoder.SetEscapeHTML(false) // or a character could take six
		if err := encoder.Encode(class.Parameters); err != nil {
			panic(fmt.Sprintf("strings are no JSON: %v", err))
		}
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, infrav1.ClassArgumentsAnnotation, strings.TrimSpace(arguments.String()))
	}
}

// metadata ties the claim to its machine: by owner reference in the machine's own
// namespace, by origin in another cluster, where the machine does not exist.
func (w Wanted) metadata() metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: w.Owner.Namespace,
		Name:      w.Name,
		Labels:    map[string]string{clusterv1.ClusterNameLabel: w.ClusterName},
	}
	if w.WatchFilter != "" {
		m.Labels[clusterv1.WatchLabel] = w.WatchFilter
	}
	if w.Remote == nil {
		m.OwnerReferences = []metav1.OwnerReference{w.Owner.reference()}
		return m
	}
	m.Namespace = w.Remote.Namespace
	m.Labels[infrav1.OriginKey] = w.Remote.Origin
	return m
}

// KeepChoice gives desired what the current claim cannot change any more. A claim
// that has its host was answered once: what it asked for of the host has no effect
// from then on, and the API server refuses to have it changed. Both differ where the
// machine, or the Machine that it belongs to, was edited after the bind.
func KeepChoice(desired, current *bmov1alpha1.HostClaim) {
	if Read(current).HasHost() {
		current.Spec.HostSelector.DeepCopyInto(&desired.Spec.HostSelector)
		desired.Spec.FailureDomain = current.Spec.FailureDomain
	}
	if hostclass.Answered(current) {
		keepKey(desired.Labels, current.Labels, infrav1.ClassLabel)
		keepKey(desired.Annotations, current.Annotations, infrav1.ClassArgumentsAnnotation)
	}
}

// keepKey takes a key that another value is wanted for as it is. One that is not wanted at all may be another writer's.
func keepKey(desired, current map[string]string, key string) {
	if _, wanted := desired[key]; !wanted {
		return
	}
	if value, found := current[key]; found {
		desired[key] = value
	} else {
		delete(desired, key)
	}
}

// ImageOf translates the image of a machine into that of a claim. PullSecret has the credentials
// for the registry of an OCI image; empty means that none are needed.
func ImageOf(image *infrav1.Image, pullSecret string) *bmov1alpha1.Image {
	if image == nil {
		return nil
	}
	translated := &bmov1alpha1.Image{
		URL:          image.URL,
		Checksum:     ptr.Deref(image.Checksum, ""),
		ChecksumType: bmov1alpha1.ChecksumType(image.ChecksumType),
	}
	if image.DiskFormat != "" {
		translated.DiskFormat = ptr.To(string(image.DiskFormat))
	}
	if pullSecret != "" {
		translated.OCIAuthSecretName = &pullSecret
	}
	return translated
}

// PullSecretOf is the name of the pull secret of an image; empty if it needs none.
func PullSecretOf(image *bmov1alpha1.Image) string {
	if image == nil {
		return ""
	}
	return ptr.Deref(image.OCIAuthSecretName, "")
}

// WithPullSecret is the image with this pull secret in the place of the one that it names; an
// empty name takes that off.
func WithPullSecret(image *bmov1alpha1.Image, name string) *bmov1alpha1.Image {
	out := image.DeepCopy()
	switch {
	case out == nil:
	case name == "":
		out.OCIAuthSecretName = nil
	default:
		out.OCIAuthSecretName = &name
	}
	return out
}

// selector spells operators in lower case, as the selection package of
// Kubernetes does, and always lists values, which the CRD of HostClaim requires
// even where an operator has none.
func selector(s *infrav1.HostSelector) bmov1alpha1.HostSelector {
	if s == nil {
		return bmov1alpha1.HostSelector{}
	}
	translated := bmov1alpha1.HostSelector{MatchLabels: s.MatchLabels, InNamespace: s.InNamespace}
	for _, r := range s.MatchExpressions {
		translated.MatchExpressions = append(translated.MatchExpressions, bmov1alpha1.HostSelectorRequirement{
			Key:      r.Key,
			Operator: operator(r.Operator),
			Values:   append([]string{}, r.Values...),
		})
	}
	return translated
}

// operator also understands the spelling DoesNotExist of label selectors.
func operator(o selection.Operator) selection.Operator {
	lower := selection.Operator(strings.ToLower(string(o)))
	if lower == "doesnotexist" {
		return selection.DoesNotExist
	}
	return lower
}

func secret(namespace, name string) *corev1.SecretReference {
	if name == "" {
		return nil
	}
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

// UpToDate reports whether applying desired would change nothing in current that the machine
// manages.
func UpToDate(current, desired *bmov1alpha1.HostClaim) bool {
	if !labels.SelectorFromSet(desired.Labels).Matches(labels.Set(current.Labels)) ||
		!labels.SelectorFromSet(desired.Annotations).Matches(labels.Set(current.Annotations)) {
		return false
	}
	for _, owner := range desired.OwnerReferences {
		if !slices.ContainsFunc(current.OwnerReferences, func(r metav1.OwnerReference) bool {
			return r.UID == owner.UID && r.APIVersion == owner.APIVersion && ptr.Deref(r.Controller, false)
		}) {
			return false
		}
	}
	return equality.Semantic.DeepEqual(current.Spec, desired.Spec)
}
