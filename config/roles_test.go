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

package config

import (
	"os"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// right is one verb on one resource.
type right struct{ group, resource, verb string }

func readRole(t *testing.T, path string) rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	role := rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, &role); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	expect.Must(t, len(role.Rules) != 0, "%s grants nothing", path)
	return role
}

// grants says whether a rule of the role covers the right, wildcards included.
func grants(role rbacv1.ClusterRole, r right) bool {
	covers := func(list []string, item string) bool {
		return slices.Contains(list, item) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
		return covers(rule.APIGroups, r.group) && covers(rule.Resources, r.resource) && covers(rule.Verbs, r.verb)
	})
}

// on gives the rights to read and to write some resources of a group.
func on(group string, verbs []string, resources ...string) []right {
	var rights []right
	for _, resource := range resources {
		for _, verb := range verbs {
			rights = append(rights, right{group, resource, verb})
		}
	}
	return rights
}

func TestRoles(t *testing.T) {
	read := []string{"get", "list", "watch"}
	write := []string{"create", "update", "patch", "delete", "deletecollection"}
	all := slices.Concat(read, write)

	const (
		metal3   = "metal3.io"
		infra    = "infrastructure.cluster.x-k8s.io"
		core     = "cluster.x-k8s.io"
		provider = "rbac/role.yaml"
		hosts    = "hostclaim/rbac/role.yaml"
		tenant   = "hostclaim/rbac/tenant_role.yaml"
		admin    = "hostclaim/rbac/infra_admin_role.yaml"
		auditor  = "hostclaim/rbac/auditor_role.yaml"
	)
	tests := map[string]struct {
		role    string
		granted []right
		refused []right
	}{
		"the provider manager reads claims, and uses neither hosts nor secrets": {
			role:    provider,
			granted: on(metal3, read, "hostclaims"),
			refused: slices.Concat(
				on(metal3, write, "hostclaims"),
				on(metal3, all, "baremetalhosts", "baremetalhosts/status", "hostdeploypolicies"),
				on("", all, "secrets"),
				on(core, write, "clusters", "machines", "machines/status"),
			),
		},
		"the hostclaim manager uses hosts, and neither secrets nor the kinds of the provider and of Cluster API": {
			role:    hosts,
			granted: on(metal3, append([]string{"patch"}, read...), "baremetalhosts", "hostclaims"),
			refused: slices.Concat(
				on(metal3, []string{"create", "delete"}, "baremetalhosts"),
				on(metal3, []string{"create"}, "hostclaims"),
				on("", all, "secrets"),
				on(infra, all, "metal3machines", "metal3clusters", "metal3datas"),
				on(core, all, "clusters", "machines"),
			),
		},
		"the provider manager reads and writes tenants' secrets, writes claims, and hands machines back, by a role apart": {
			role: "rbac/tenant_secrets_role.yaml",
			granted: slices.Concat(
				on("", append([]string{"create", "patch", "delete"}, read...), "secrets"),
				on(metal3, []string{"create", "patch", "delete"}, "hostclaims"),
				on(core, []string{"patch"}, "machines/status"),
			),
			refused: slices.Concat(on("", all, "configmaps"), on(core, write, "machines")),
		},
		"the extension for updates in place has bootstrap data made anew, and reads none": {
			role: "in-place-updates/component/role.yaml",
			granted: slices.Concat(
				on("bootstrap.cluster.x-k8s.io", []string{"get", "patch"}, "kubeadmconfigs"),
				on("bootstrap.cluster.x-k8s.io", []string{"patch"}, "kubeadmconfigs/status"),
				on(core, []string{"patch"}, "machines"),
			),
			refused: slices.Concat(
				on("", all, "secrets"), on(metal3, all, "hostclaims", "baremetalhosts"), on(infra, all, "metal3machines"),
				on(core, []string{"create", "update", "delete"}, "machines", "machinedeployments"),
			),
		},
		"the hostclaim manager only reads secrets of tenants": {
			role:    "hostclaim/rbac/source_secrets_role.yaml",
			granted: on("", read, "secrets"),
			refused: on("", write, "secrets"),
		},
		"the hostclaim manager writes secrets next to hosts": {
			role:    "hostclaim/rbac/host_secrets_role.yaml",
			granted: on("", append([]string{"create", "patch", "delete"}, read...), "secrets"),
		},
		"a tenant has claims and clusters, and no hosts, policies, namespaces or claim status": {
			role: tenant,
			granted: slices.Concat(
				on(metal3, append([]string{"create", "delete"}, read...), "hostclaims"),
				on(metal3, read, "hardwaredata", "hostclaims/status"),
				on(infra, []string{"create", "delete"}, "metal3clusters", "metal3machinetemplates", "metal3datatemplates"),
				on(core, []string{"create", "delete"}, "clusters", "machinedeployments"),
				on("ipam.metal3.io", []string{"create"}, "ippools"),
				on("ipam.cluster.x-k8s.io", []string{"create"}, "inclusterippools"),
				on(core, read, "machinepools"),
				on("", read, "resourcequotas"),
			),
			refused: slices.Concat(
				on("", write, "resourcequotas"),
				on(metal3, all, "baremetalhosts", "baremetalhosts/status", "hostdeploypolicies"),
				on(metal3, write, "hostclaims/status", "hardwaredata"),
				on(metal3, []string{"release"}, "hostclaims"),
				on("", all, "namespaces"),
				on("rbac.authorization.k8s.io", all, "rolebindings", "roles"),
			),
		},
		"a tenant reads definitions for clusterctl and changes none": {
			role:    "hostclaim/rbac/tenant_clusterctl_role.yaml",
			granted: on("apiextensions.k8s.io", []string{"get"}, "customresourcedefinitions"),
			refused: on("apiextensions.k8s.io", append([]string{"list", "watch"}, write...), "customresourcedefinitions"),
		},
		"an administrator of the infrastructure has hosts and policies, and no clusters": {
			role:    admin,
			granted: on(metal3, append([]string{"create", "update", "delete"}, read...), "baremetalhosts", "hostdeploypolicies"),
			refused: slices.Concat(
				on(metal3, []string{"create", "update", "delete"}, "hostclaims"),
				on(metal3, write, "hostclaims/status", "baremetalhosts/status"),
				on(infra, all, "metal3machines"),
			),
		},
		"who may view a namespace sees claims and facts, and no hosts and policies": {
			role:    "hostclaim/rbac/aggregate_to_view_role.yaml",
			granted: on(metal3, read, "hostclaims", "hostclaims/status", "hardwaredata"),
			refused: slices.Concat(
				on(metal3, write, "hostclaims", "hostclaims/status", "hardwaredata"),
				on(metal3, all, "baremetalhosts", "hostdeploypolicies"),
			),
		},
		"who may edit a namespace has claims, and neither their status nor anything of the infrastructure": {
			role:    "hostclaim/rbac/aggregate_to_edit_role.yaml",
			granted: on(metal3, []string{"create", "update", "patch", "delete"}, "hostclaims"),
			refused: slices.Concat(
				on(metal3, []string{"deletecollection", "release"}, "hostclaims"),
				on(metal3, write, "hostclaims/status", "hostclaims/finalizers", "hardwaredata"),
				on(metal3, all, "baremetalhosts", "baremetalhosts/status", "hostdeploypolicies"),
			),
		},
		"an auditor reads everything but secrets and bootstrap data, and writes nothing": {
			role:    auditor,
			granted: slices.Concat(on(metal3, read, "baremetalhosts", "hostdeploypolicies"), on(infra, read, "metal3machines")),
			refused: slices.Concat(
				on("", all, "secrets"),
				on("bootstrap.cluster.x-k8s.io", all, "kubeadmconfigs"),
				on("controlplane.cluster.x-k8s.io", all, "kubeadmcontrolplanes"),
				on(core, all, "clusters", "clusterclasses"),
				on(metal3, write, "baremetalhosts", "hostclaims"),
				on(infra, write, "metal3machines"),
				on(core, write, "clusters"),
			),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			role := readRole(t, test.role)
			for _, r := range test.granted {
				expect.That(t, grants(role, r), "%s lacks %v", test.role, r)
			}
			for _, r := range test.refused {
				expect.That(t, !grants(role, r), "%s grants %v", test.role, r)
			}
		})
	}
}

// The rule against references that hold up owners looks at what a tenant may write.
func TestRuleOnOwnersCoversTheTenantsKinds(t *testing.T) {
	var rule admissionv1.ValidatingAdmissionPolicy
	text, err := os.ReadFile("hostclaim/admission/free_owners.yaml")
	expect.NoError(t, err)
	expect.NoError(t, yaml.UnmarshalStrict(text, &rule))
	var covered, written []string
	for _, r := range rule.Spec.MatchConstraints.ResourceRules {
		for _, resource := range r.Resources {
			covered = append(covered, resource+"."+r.APIGroups[0])
		}
	}
	for _, r := range readRole(t, "hostclaim/rbac/tenant_role.yaml").Rules {
		for _, resource := range r.Resources {
			if slices.Contains(r.Verbs, "create") {
				written = append(written, resource+"."+r.APIGroups[0])
			}
		}
	}
	slices.Sort(covered)
	slices.Sort(written)
	expect.Equal(t, written, covered) // kinds that a tenant creates
}
