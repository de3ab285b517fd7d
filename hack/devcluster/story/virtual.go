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

package story

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
)

// VirtualClass is the HostClaimClass of virtual machines that tenants may use.
const VirtualClass = "virtual"

// OfferVirtualMachines creates VirtualClass for the namespace of a tenant, in which the kubevirt manager and hostsim get
// the rights that they need. The dev cluster must have been started WithKubeVirt.
func OfferVirtualMachines(ctx context.Context, admin client.Client, namespace string) error {
	for _, object := range []client.Object{
		bindAccount(namespace, "hostclaim-kubevirt-secrets", account("hostclaim-kubevirt-system", "hostclaim-kubevirt-manager")),
		bindAccount(namespace, "hostsim-drives", account("hostsim-system", "hostsim")),
		&hostclaimv1.HostClaimClass{
			ObjectMeta: metav1.ObjectMeta{Name: VirtualClass},
			Spec: hostclaimv1.HostClaimClassSpec{
				ControllerName:    hostclaimv1.KubeVirtControllerName,
				Parameters:        &runtime.RawExtension{Raw: []byte(`{"instancetype":{"name":"medium"},"rootDisk":{"size":"20Gi"}}`)},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			},
		},
	} {
		if err := create(ctx, admin, object); err != nil {
			return err
		}
	}
	return nil
}

// OnVirtualMachines has the machines of a Metal3MachineTemplate of a cluster template be virtual.
func OnVirtualMachines(template *unstructured.Unstructured) error {
	return unstructured.SetNestedMap(template.Object, map[string]any{"name": VirtualClass}, "spec", "template", "spec", "hostClass")
}
