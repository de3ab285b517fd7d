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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hostclaimv1 "github.com/metal3-io/cluster-api-provider-metal3/api/hostclaim/v1alpha1"
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
)

// VirtualClass is the HostClaimClass of virtual machines that tenants may use.
const VirtualClass = "virtual"

// OfferVirtualMachines creates VirtualClass for namespaces of claims, in which the kubevirt manager and hostsim get the
// rights that they need. The dev cluster must have been started WithKubeVirt.
func OfferVirtualMachines(ctx context.Context, admin client.Client, namespaces ...string) error {
	objects := []client.Object{&hostclaimv1.HostClaimClass{
		ObjectMeta: metav1.ObjectMeta{Name: VirtualClass},
		Spec: hostclaimv1.HostClaimClassSpec{
			ControllerName: hostclaimv1.KubeVirtControllerName,
			Parameters:     &runtime.RawExtension{Raw: []byte(`{"instancetype":{"name":"medium"},"rootDisk":{"size":"20Gi"}}`)},
			NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces},
			}},
		},
	}}
	for _, namespace := range namespaces {
		objects = append(objects,
			bindAccount(namespace, "hostclaim-kubevirt-secrets", account("hostclaim-kubevirt-system", "hostclaim-kubevirt-manager")),
			bindAccount(namespace, "hostsim-drives", account("hostsim-system", "hostsim")))
	}
	for _, object := range objects {
		if err := create(ctx, admin, object); err != nil {
			return err
		}
	}
	return nil
}

// WorkersOnVirtualMachines gives the workers a template with VirtualClass, which replaces them, with the tenant's rights.
func (c Cluster) WorkersOnVirtualMachines(ctx context.Context, tenant *Tenant) error {
	servers := &infrav1.Metal3MachineTemplate{}
	if err := tenant.Client.Get(ctx, client.ObjectKey{Namespace: tenant.Namespace, Name: c.Name + "-workers"}, servers); err != nil {
		return err
	}
	virtual := &infrav1.Metal3MachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: tenant.Namespace, Name: servers.Name + "-virtual"}, Spec: *servers.Spec.DeepCopy(),
	}
	virtual.Spec.Template.Spec.HostClass = &infrav1.HostClass{Name: VirtualClass}
	if c.VirtualIdentity != "" {
		virtual.Spec.Template.Spec.IdentityRef = &infrav1.IdentityReference{Name: c.VirtualIdentity}
	}
	if err := create(ctx, tenant.Client, virtual); err != nil {
		return err
	}
	deployment := &clusterv1.MachineDeployment{}
	if err := tenant.Client.Get(ctx, client.ObjectKey{Namespace: tenant.Namespace, Name: c.Name}, deployment); err != nil {
		return err
	}
	before := deployment.DeepCopy()
	deployment.Spec.Template.Spec.InfrastructureRef.Name = virtual.Name
	if err := tenant.Client.Patch(ctx, deployment, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("give the workers of %s another template: %w", c.Name, err)
	}
	return nil
}

// CreateHybrid creates the cluster with its control plane on virtual machines, and its workers on servers.
func (c Cluster) CreateHybrid(ctx context.Context, repo components.Repo, tenant *Tenant) error {
	return c.Create(ctx, repo, tenant, func(object *unstructured.Unstructured) {
		if object.GetKind() != "Metal3MachineTemplate" || object.GetName() != c.Name+"-controlplane" {
			return
		}
		// The path is one of our own template.
		_ = unstructured.SetNestedMap(object.Object, map[string]any{"name": VirtualClass}, "spec", "template", "spec", "hostClass")
		if c.VirtualIdentity != "" {
			_ = unstructured.SetNestedMap(object.Object, map[string]any{"name": c.VirtualIdentity}, "spec", "template", "spec", "identityRef")
		}
	})
}
