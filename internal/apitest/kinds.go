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

package apitest

import (
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	"github.com/metal3-io/cluster-api-provider-metal3/api/v1beta1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// newScheme knows the kinds of Kubernetes, Cluster API, its address management,
// Metal3 and this provider.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme,
		apiextensionsv1.AddToScheme,
		clusterv1.AddToScheme,
		bootstrapv1.AddToScheme,
		capipamv1.AddToScheme,
		ipamv1alpha1.AddToScheme,
		bmov1alpha1.AddToScheme,
		infrav1.AddToScheme,
		v1beta1.AddToScheme,
		hostclaimv1.AddToScheme,
	)
	return scheme, builder.AddToScheme(scheme)
}

// foreignKinds are the kinds of other projects that our controllers read.
func foreignKinds() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		schemaless(clusterv1.GroupVersion.WithKind("Cluster"), "clusters"),
		schemaless(clusterv1.GroupVersion.WithKind("Machine"), "machines"),
		schemaless(clusterv1.GroupVersion.WithKind("MachineDeployment"), "machinedeployments"),
		schemaless(bootstrapv1.GroupVersion.WithKind("KubeadmConfig"), "kubeadmconfigs"),
		schemaless(bmov1alpha1.GroupVersion.WithKind("HardwareData"), "hardwaredata"),
		schemaless(capipamv1.GroupVersion.WithKind("IPAddressClaim"), "ipaddressclaims"),
		schemaless(ipamv1alpha1.GroupVersion.WithKind("IPPool"), "ippools"),
		schemaless(ipamv1alpha1.GroupVersion.WithKind("IPClaim"), "ipclaims"),
		schemaless(ipamv1alpha1.GroupVersion.WithKind("IPAddress"), "ipaddresses"),
	}
}

// schemaless is a kind that takes any content.
func schemaless(kind schema.GroupVersionKind, plural string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: plural, Singular: strings.ToLower(kind.Kind),
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
