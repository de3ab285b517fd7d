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

package rbac_test

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestPeople(t *testing.T) {
	notTheirs := in(tenantB, infra, capm3, hostclaim, unrelated, everywhere)
	tests := map[string]struct {
		who             subject
		allowed, denied []rights
	}{
		"a tenant asks for hosts and cannot say that they are granted": {
			who: tenant,
			allowed: []rights{
				{edited, on(metal3Group, "hostclaims"), in(tenantA)},
				{read, on(metal3Group, "hostclaims/status", "hardwaredata"), in(tenantA)},
			},
			denied: []rights{
				{write, on(metal3Group, "hostclaims/status", "hardwaredata"), in(tenantA)},
				{[]string{"release", "manage"}, on(metal3Group, "hostclaims"), anywhere},
			},
		},
		"a tenant has no verb on hosts and policies, not even at home": {
			who: tenant,
			denied: []rights{
				{all, on(metal3Group, "baremetalhosts", "baremetalhosts/status", "hostdeploypolicies", "hostfirmwaresettings", "dataimages"), anywhere},
			},
		},
		"a tenant handles clusters at home": {
			who: tenant,
			allowed: []rights{
				{edited, infraKinds, in(tenantA)},
				{edited, on(coreGroup, "clusters", "clusterclasses", "machinedeployments", "machines"), in(tenantA)},
				{edited, on("controlplane."+coreGroup, "kubeadmcontrolplanes"), in(tenantA)},
				{edited, on("bootstrap."+coreGroup, "kubeadmconfigtemplates"), in(tenantA)},
				{[]string{"get", "patch", "update"}, on(coreGroup, "machinedeployments/scale"), in(tenantA)},
				{edited, on(ipamGroup, "ippools"), in(tenantA)},
				{edited, on("", "secrets", "configmaps"), in(tenantA)},
				{read, on("", "resourcequotas"), in(tenantA)},
			},
		},
		"a tenant cannot write what only controllers write": {
			who: tenant,
			denied: []rights{
				{write, on(infraGroup, "metal3machines/status", "metal3clusters/status", "metal3datas/status"), in(tenantA)},
				{write, on(coreGroup, "clusters/status", "machines/status"), in(tenantA)},
			},
		},
		"a tenant has nothing outside its namespace": {
			who: tenant,
			denied: []rights{
				{all, on("", "secrets", "configmaps", "events"), notTheirs},
				{all, on(metal3Group, "hostclaims", "hardwaredata"), notTheirs},
				{all, infraKinds, notTheirs},
				{all, on(coreGroup, "clusters", "machines"), notTheirs},
				{all, on(ipamGroup, "ippools", "ipclaims", "ipaddresses"), notTheirs},
			},
		},
		"a tenant cannot label a namespace into a policy": {
			who: tenant,
			denied: []rights{
				{all, on("", "namespaces"), in(tenantA, everywhere)},
			},
		},
		"a tenant cannot give itself more rights": {who: tenant, denied: ownPower},

		"the infrastructure team keeps hosts, policies and BMC secrets in its namespace": {
			who: admin,
			allowed: []rights{
				{edited, on(metal3Group, "baremetalhosts", "hostdeploypolicies"), in(infra)},
				{edited, on("", "secrets"), in(infra)},
			},
			denied: []rights{
				{write, on(metal3Group, "baremetalhosts/status", "hostclaims/status"), anywhere},
			},
		},
		"the infrastructure team may give up a claim of its namespace that cannot be released": {
			who: admin,
			allowed: []rights{
				{[]string{"patch", "release"}, on(metal3Group, "hostclaims"), in(infra)},
			},
			denied: []rights{
				{[]string{"create", "update", "delete", "deletecollection"}, on(metal3Group, "hostclaims"), anywhere},
				{append([]string{"release"}, write...), on(metal3Group, "hostclaims"), in(tenantA, tenantB, everywhere)},
			},
		},
		"the infrastructure team does not look into tenants": {
			who: admin,
			denied: []rights{
				{all, on("", "secrets"), in(tenantA, tenantB, everywhere)},
				{all, infraKinds, anywhere},
				{all, on(coreGroup, "clusters", "machines"), anywhere},
				{all, on(metal3Group, "hostclaims", "hardwaredata"), in(tenantA, tenantB, everywhere)},
			},
		},
		"the infrastructure team cannot give itself more rights": {who: admin, denied: ownPower},

		"an auditor sees who uses what": {
			who: auditor,
			allowed: []rights{
				{read, on(metal3Group, "baremetalhosts", "hostclaims", "hardwaredata", "hostdeploypolicies"), in(tenantA, infra, everywhere)},
				{read, infraKinds, in(tenantA, everywhere)},
				{read, on(coreGroup, "machines", "machinesets", "machinedeployments"), in(tenantA, everywhere)},
				{read, on(rbacGroup, "roles", "rolebindings", "clusterroles", "clusterrolebindings"), in(everywhere)},
			},
		},
		"an auditor reads no secret and nothing that holds one": {
			who: auditor,
			denied: []rights{
				{all, on("", "secrets", "configmaps"), anywhere},
				{all, on("bootstrap."+coreGroup, "kubeadmconfigs", "kubeadmconfigtemplates"), anywhere},
				{all, on("controlplane."+coreGroup, "kubeadmcontrolplanes", "kubeadmcontrolplanetemplates"), anywhere},
				{all, on(coreGroup, "clusters", "clusterclasses"), anywhere},
			},
		},
		"an auditor writes nothing": {
			who: auditor,
			denied: []rights{
				{write, on(metal3Group, "baremetalhosts", "hostclaims", "hostclaims/status", "hardwaredata", "hostdeploypolicies"), anywhere},
				{write, infraKinds, anywhere},
				{write, on(coreGroup, "clusters", "machines"), anywhere},
				{write, on(rbacGroup, "roles", "rolebindings", "clusterroles", "clusterrolebindings"), anywhere},
				{[]string{"impersonate"}, on("", "users", "groups", "serviceaccounts"), anywhere},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkRights(t, test.who, test.allowed, test.denied) })
	}
}

// clusterctl reads the definitions of the kinds that a Cluster is made of, by name.
func TestTenantsUseClusterctl(t *testing.T) {
	const definitions = "customresourcedefinitions"
	question := func(verb, name string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Group: "apiextensions.k8s.io", Resource: definitions, Name: name}
	}
	for _, name := range []string{
		"clusters.cluster.x-k8s.io", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
		"metal3clusters.infrastructure.cluster.x-k8s.io", "metal3machines.infrastructure.cluster.x-k8s.io",
	} {
		if answer := asks(t, tenant, question("get", name)); !answer.Allowed {
			t.Errorf("a tenant cannot get the definition %s: %s", name, answer.Reason)
		}
		if asks(t, tenant, question("patch", name)).Allowed {
			t.Errorf("a tenant may change the definition %s", name)
		}
	}
	if asks(t, tenant, question("list", "")).Allowed || asks(t, tenant, question("get", "")).Allowed {
		t.Error("a tenant may read all definitions")
	}
	if asks(t, stranger, question("get", "clusters.cluster.x-k8s.io")).Allowed {
		t.Error("a stranger may read a definition")
	}
}
