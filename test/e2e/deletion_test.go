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

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// clusterGoes deletes the Cluster of tenant b as the tenant, and looks for
// anything that is left of it on either side.
func (p *play) clusterGoes(t *testing.T) {
	claims := map[string]bool{}
	for _, m := range p.b.machines(t) {
		claims[string(m.Claim.UID)] = true
	}
	must(t, p.b.Client.Delete(t.Context(), &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.b.Namespace, Name: p.b.cluster.Name},
	}))
	eventually(t, "nothing of cluster b is left", func(g gomega.Gomega) {
		g.Expect(leftOf(t, p.b.Namespace)).To(gomega.BeEmpty(), "in namespace %s", p.b.Namespace)
	})
	eventually(t, "the servers of b are back in the pool", func(g gomega.Gomega) {
		g.Expect(p.leftNextToHosts(t, claims)).To(gomega.BeEmpty())
		free := 0
		for _, host := range hosts(t, p.pool.Namespace) {
			if host.Spec.ConsumerRef != nil {
				g.Expect(host.Spec.ConsumerRef.Namespace).To(gomega.Equal(p.a.Namespace), host.Name)
				continue
			}
			free++
			g.Expect(remains(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(ourKeys(&host)).To(gomega.BeEmpty(), host.Name)
			g.Expect(host.Spec.AutomatedCleaningMode).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled), host.Name)
		}
		g.Expect(free).To(gomega.Equal(p.pool.Servers - p.a.cluster.ControlPlanes - p.a.cluster.Workers))
	})
	// The neighbor has not noticed.
	p.a.runs(t)
}

// leftOf lists what a deleted cluster should have taken with it.
func leftOf(t *testing.T, namespace string) []string {
	t.Helper()
	return leftIn(t, lab.admin, namespace)
}

// leftIn does so in any dev cluster. One without hosts does not know all of the kinds.
func leftIn(t *testing.T, c client.Client, namespace string) (left []string) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&clusterv1.ClusterList{}, &clusterv1.MachineList{}, &clusterv1.MachineDeploymentList{},
		&infrav1.Metal3ClusterList{}, &infrav1.Metal3MachineList{}, &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{},
		&bmov1alpha1.HostClaimList{}, &bmov1alpha1.HardwareDataList{},
		&ipamv1alpha1.IPClaimList{}, &ipamv1alpha1.IPAddressList{},
	} {
		err := c.List(t.Context(), list, client.InNamespace(namespace))
		if meta.IsNoMatchError(err) {
			continue
		}
		must(t, err)
		left = append(left, names(t, list)...)
	}
	var secrets corev1.SecretList
	must(t, c.List(t.Context(), &secrets, client.InNamespace(namespace)))
	for _, secret := range secrets.Items {
		left = append(left, "secret "+secret.Name)
	}
	return left
}

// names lists kind and name of every object of a list.
func names(t *testing.T, list client.ObjectList) (out []string) {
	t.Helper()
	must(t, meta.EachListItem(list, func(object runtime.Object) error {
		named, err := meta.Accessor(object)
		if err == nil {
			out = append(out, fmt.Sprintf("%T %s", object, named.GetName()))
		}
		return err
	}))
	return out
}

// leftNextToHosts lists the secrets that were copied for the claims.
func (p *play) leftNextToHosts(t *testing.T, claims map[string]bool) (left []string) {
	t.Helper()
	var secrets corev1.SecretList
	must(t, lab.admin.List(t.Context(), &secrets, client.InNamespace(p.pool.Namespace)))
	for _, secret := range secrets.Items {
		if claims[secret.Labels[infrav1.SecretClaimUIDLabel]] {
			left = append(left, "secret "+secret.Name)
		}
	}
	return left
}

// ourKeys lists the labels and annotations of ours on a host.
func ourKeys(host *bmov1alpha1.BareMetalHost) (ours []string) {
	for _, keys := range []map[string]string{host.Labels, host.Annotations} {
		for key := range keys {
			if strings.HasPrefix(key, "hostclaim.metal3.io/") || strings.HasPrefix(key, infrav1.GroupName+"/") {
				ours = append(ours, key)
			}
		}
	}
	slices.Sort(ours)
	return ours
}
