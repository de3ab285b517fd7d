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

package setup

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/manager"
)

// The remedies for a missing CRD, by its source.
const (
	fromProvider = "install the provider (clusterctl init --infrastructure metal3, or kustomize build config/default)"
	fromCore     = "install Cluster API of release 1.14 or later (clusterctl init)"
)

// neededCRDs are the CRDs that the manager cannot do without. Those of address
// management may come later, and so may HostClaim and HardwareData, which a cluster
// needs only for machines whose hosts it holds itself.
func neededCRDs() []manager.CRD {
	need := func(remedy string, version schema.GroupVersion, kind, plural string) manager.CRD {
		return manager.CRD{Name: plural + "." + version.Group, Kind: version.WithKind(kind), Remedy: remedy}
	}
	return []manager.CRD{
		need(fromCore, clusterv1.GroupVersion, "Cluster", "clusters"),
		need(fromCore, clusterv1.GroupVersion, "Machine", "machines"),
		need(fromCore, clusterv1.GroupVersion, "MachineDeployment", "machinedeployments"),
		need(fromProvider, infrav1.GroupVersion, "Metal3Cluster", "metal3clusters"),
		need(fromProvider, infrav1.GroupVersion, "Metal3Machine", "metal3machines"),
		need(fromProvider, infrav1.GroupVersion, "Metal3MachineTemplate", "metal3machinetemplates"),
		need(fromProvider, infrav1.GroupVersion, "Metal3DataTemplate", "metal3datatemplates"),
		need(fromProvider, infrav1.GroupVersion, "Metal3DataClaim", "metal3dataclaims"),
		need(fromProvider, infrav1.GroupVersion, "Metal3Data", "metal3datas"),
	}
}

// tenantRights are those of the roles capm3-tenant-secrets and capm3-in-place-updates, which the hardened
// install binds in single namespaces.
func tenantRights() []rbacv1.PolicyRule {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	core, bootstrap := clusterv1.GroupVersion.Group, bootstrapv1.GroupVersion.Group
	return []rbacv1.PolicyRule{
		rule("", "secrets", "get", "list", "watch", "create", "patch", "delete"),
		rule("metal3.io", "hostclaims", "create", "patch", "delete"),
		rule(core, "machines/status", "patch"),
		rule(core, "machines", "patch"),
		rule(bootstrap, "kubeadmconfigs", "get", "patch"),
		rule(bootstrap, "kubeadmconfigs/status", "patch"),
	}
}
