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

package store

import (
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
)

// Kind is one kind of objects.
type Kind string

// The kinds that the store knows.
const (
	Claims       Kind = "HostClaim"
	Hosts        Kind = "BareMetalHost"
	Policies     Kind = "HostDeployPolicy"
	Classes      Kind = "HostClaimClass"
	HardwareData Kind = "HardwareData"
	Secrets      Kind = "Secret"
	Namespaces   Kind = "Namespace"
)

// Kinds lists all kinds, in the order in which traces and caches go through them.
func Kinds() []Kind {
	return []Kind{Claims, Hosts, Policies, Classes, HardwareData, Secrets, Namespaces}
}

// core reports whether a kind is built into the API server.
func (k Kind) core() bool {
	return k == Secrets || k == Namespaces
}

// counted reports whether objects of a kind have a metadata.generation.
func (k Kind) counted() bool {
	return !k.core()
}

// withStatus reports whether the status of a kind is a subresource.
func (k Kind) withStatus() bool {
	return k == Claims || k == Hosts || k == Policies || k == Classes || k == Namespaces
}

// gvk is the group, version and kind.
func (k Kind) gvk() schema.GroupVersionKind {
	if k.core() {
		return corev1.SchemeGroupVersion.WithKind(string(k))
	}
	if k == Classes {
		return hostclaimv1.GroupVersion.WithKind(string(k))
	}
	return bmov1alpha1.GroupVersion.WithKind(string(k))
}

// resource is the name by which errors call the kind.
func (k Kind) resource() schema.GroupResource {
	names := map[Kind]string{
		Claims: "hostclaims", Hosts: "baremetalhosts", Policies: "hostdeploypolicies",
		Classes:      "hostclaimclasses",
		HardwareData: "hardwaredata", Secrets: "secrets", Namespaces: "namespaces",
	}
	return schema.GroupResource{Group: k.gvk().Group, Resource: names[k]}
}

// empty is a new object of the Go type of the kind.
func (k Kind) empty() client.Object {
	switch k {
	case Claims:
		return &bmov1alpha1.HostClaim{}
	case Hosts:
		return &bmov1alpha1.BareMetalHost{}
	case Policies:
		return &bmov1alpha1.HostDeployPolicy{}
	case Classes:
		return &hostclaimv1.HostClaimClass{}
	case HardwareData:
		return &bmov1alpha1.HardwareData{}
	case Secrets:
		return &corev1.Secret{}
	default:
		return &corev1.Namespace{}
	}
}

// KindOf returns the kind of an object or list, and whether only its metadata is wanted.
func KindOf(object runtime.Object) (kind Kind, partial bool) {
	switch o := object.(type) {
	case *bmov1alpha1.HostClaim, *bmov1alpha1.HostClaimList:
		return Claims, false
	case *bmov1alpha1.BareMetalHost, *bmov1alpha1.BareMetalHostList:
		return Hosts, false
	case *bmov1alpha1.HostDeployPolicy, *bmov1alpha1.HostDeployPolicyList:
		return Policies, false
	case *hostclaimv1.HostClaimClass, *hostclaimv1.HostClaimClassList:
		return Classes, false
	case *bmov1alpha1.HardwareData, *bmov1alpha1.HardwareDataList:
		return HardwareData, false
	case *corev1.Secret, *corev1.SecretList:
		return Secrets, false
	case *corev1.Namespace, *corev1.NamespaceList:
		return Namespaces, false
	case *metav1.PartialObjectMetadata:
		return Kind(o.Kind), true
	case *metav1.PartialObjectMetadataList:
		return Kind(o.Kind[:len(o.Kind)-len("List")]), true
	default:
		panic(fmt.Sprintf("the store knows no %T", object))
	}
}
