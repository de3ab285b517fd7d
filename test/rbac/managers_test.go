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
	"slices"
	"testing"
)

const (
	metal3Group = "metal3.io"
	infraGroup  = "infrastructure.cluster.x-k8s.io"
	coreGroup   = "cluster.x-k8s.io"
	ipamGroup   = "ipam.metal3.io"
	capiIPAM    = "ipam.cluster.x-k8s.io"
	rbacGroup   = "rbac.authorization.k8s.io"
	leaseGroup  = "coordination.k8s.io"
)

var anywhere = in(tenantA, tenantB, infra, capm3, hostclaim, unrelated, everywhere)

// infraKinds are the nine kinds of the provider.
var infraKinds = on(infraGroup, "metal3clusters", "metal3clustertemplates", "metal3machines", "metal3machinetemplates",
	"metal3datatemplates", "metal3dataclaims", "metal3datas", "metal3remediations", "metal3remediationtemplates")

// ownPower is what lets a subject give itself more rights.
var ownPower = []rights{
	{all, on(rbacGroup, "roles", "rolebindings", "clusterroles", "clusterrolebindings"), anywhere},
	{[]string{"bind", "escalate"}, on(rbacGroup, "roles", "clusterroles"), anywhere},
	{[]string{"impersonate"}, on("", "users", "groups", "serviceaccounts"), anywhere},
	{[]string{"create"}, on("", "serviceaccounts/token", "pods", "pods/exec"), anywhere},
	{all, on("apps", "deployments", "daemonsets"), anywhere},
}

func TestManagers(t *testing.T) {
	tests := map[string]struct {
		who             subject
		allowed, denied []rights
	}{
		"the provider manager has no verb on hosts and policies, anywhere": {
			who: provider,
			denied: []rights{
				{all, on(metal3Group, "baremetalhosts", "baremetalhosts/status", "baremetalhosts/finalizers", "hostdeploypolicies"), anywhere},
			},
		},
		"the provider manager uses secrets only where a RoleBinding lets it": {
			who: provider,
			allowed: []rights{
				{owned, on("", "secrets"), in(tenantA)},
			},
			denied: []rights{
				{all, on("", "secrets"), in(tenantB, infra, capm3, hostclaim, unrelated, everywhere)},
				{[]string{"update", "deletecollection"}, on("", "secrets"), in(tenantA)},
			},
		},
		"the provider manager works on its own kinds": {
			who: provider,
			allowed: []rights{
				{patched, on(infraGroup, "metal3clusters", "metal3machines", "metal3datatemplates", "metal3dataclaims", "metal3datas", "metal3remediations"), in(tenantA, tenantB, everywhere)},
				{status, on(infraGroup, "metal3clusters/status", "metal3machines/status", "metal3datatemplates/status", "metal3dataclaims/status", "metal3datas/status", "metal3remediations/status"), in(tenantA, tenantB)},
				{[]string{"create", "delete"}, on(infraGroup, "metal3dataclaims", "metal3datas"), in(tenantA, tenantB)},
				{patched, on(infraGroup, "metal3clustertemplates", "metal3machinetemplates", "metal3remediationtemplates"), in(everywhere)}, // to store them anew
			},
			denied: []rights{
				{[]string{"create", "delete", "deletecollection"}, on(infraGroup, "metal3clusters", "metal3machines", "metal3machinetemplates", "metal3datatemplates", "metal3remediations", "metal3clustertemplates", "metal3remediationtemplates"), anywhere},
			},
		},
		"the provider manager claims hosts and reads what is published of them": {
			who: provider,
			allowed: []rights{
				{owned, on(metal3Group, "hostclaims"), in(tenantA)},
				{read, on(metal3Group, "hostclaims", "hardwaredata"), in(tenantA, tenantB, everywhere)},
			},
			denied: []rights{
				{write, on(metal3Group, "hostclaims"), in(tenantB, infra, everywhere)},
				{write, on(metal3Group, "hostclaims/status", "hardwaredata"), anywhere},
				{[]string{"release", "manage"}, on(metal3Group, "hostclaims"), anywhere},
			},
		},
		"the provider manager reads clusters and machines of Cluster API, and hands machines of its tenants back": {
			who: provider,
			allowed: []rights{
				{read, on(coreGroup, "clusters", "machines", "machinedeployments"), in(tenantA, everywhere)},
				{status, on(coreGroup, "machines/status"), in(tenantA)},
			},
			denied: []rights{
				{write, on(coreGroup, "clusters", "clusters/status", "machines", "machinedeployments"), anywhere},
				{write, on(coreGroup, "machines/status"), in(tenantB, infra, capm3, hostclaim, unrelated, everywhere)},
				{[]string{"update"}, on(coreGroup, "machines/status"), in(tenantA)},
			},
		},
		"the provider manager claims addresses": {
			who: provider,
			allowed: []rights{
				{owned, on(ipamGroup, "ipclaims"), in(tenantA, everywhere)},
				{read, on(ipamGroup, "ippools"), in(tenantA, everywhere)},
				{[]string{"get"}, on(ipamGroup, "ipaddresses"), in(tenantA)},
				{owned, on(capiIPAM, "ipaddressclaims"), in(tenantA, everywhere)},
				{[]string{"get"}, on(capiIPAM, "ipaddresses"), in(tenantA)},
			},
			denied: []rights{
				{write, on(ipamGroup, "ippools", "ipaddresses"), anywhere},
				{write, on(capiIPAM, "ipaddresses"), anywhere},
			},
		},

		"the hostclaim manager reads one Metal3Machine, and nothing else of the provider and of Cluster API": {
			who:     hostOwner,
			allowed: []rights{{[]string{"get"}, on(infraGroup, "metal3machines"), anywhere}},
			denied: []rights{
				{slices.DeleteFunc(slices.Clone(all), func(verb string) bool { return verb == "get" }), infraKinds, anywhere},
				{[]string{"get"}, slices.DeleteFunc(slices.Clone(infraKinds), func(kind string) bool {
					return slices.Contains(on(infraGroup, "metal3machines"), kind)
				}), anywhere},
				{all, on(infraGroup, "metal3machines/status", "metal3clusters/status"), anywhere},
				{all, on(coreGroup, "clusters", "machines", "machinesets", "machinedeployments"), anywhere},
				{all, on("bootstrap."+coreGroup, "kubeadmconfigs"), anywhere},
				{all, on("controlplane."+coreGroup, "kubeadmcontrolplanes"), anywhere},
				{all, on(ipamGroup, "ipclaims", "ipaddresses", "ippools"), anywhere},
				{all, on(capiIPAM, "ipaddressclaims", "ipaddresses"), anywhere},
			},
		},
		"the hostclaim manager patches hosts and leaves their status to baremetal-operator": {
			who: hostOwner,
			allowed: []rights{
				{patched, on(metal3Group, "baremetalhosts"), in(infra, tenantA, everywhere)},
			},
			denied: []rights{
				{[]string{"create", "delete", "deletecollection"}, on(metal3Group, "baremetalhosts"), anywhere},
				{write, on(metal3Group, "baremetalhosts/status"), anywhere},
			},
		},
		"the hostclaim manager answers claims, ends reservations and makes no claim": {
			who: hostOwner,
			allowed: []rights{
				{append([]string{"release", "manage", "delete"}, patched...), on(metal3Group, "hostclaims"), in(tenantA, tenantB, infra, everywhere)},
				{status, on(metal3Group, "hostclaims/status"), in(tenantA, tenantB, infra)},
			},
			denied: []rights{
				{[]string{"create", "deletecollection"}, on(metal3Group, "hostclaims"), anywhere},
			},
		},
		"the hostclaim manager publishes hardware facts": {
			who: hostOwner,
			allowed: []rights{
				{owned, on(metal3Group, "hardwaredata"), in(tenantA, tenantB, infra)},
			},
		},
		"the hostclaim manager reads policies and namespaces and changes none": {
			who: hostOwner,
			allowed: []rights{
				{read, on(metal3Group, "hostdeploypolicies"), in(infra, everywhere)},
				{read, on("", "namespaces"), in(everywhere)},
			},
			denied: []rights{
				{write, on(metal3Group, "hostdeploypolicies"), anywhere},
				{write, on("", "namespaces"), in(everywhere)},
			},
		},
		"the hostclaim manager reads secrets of bound tenants and keeps copies next to hosts": {
			who: hostOwner,
			allowed: []rights{
				{read, on("", "secrets"), in(tenantA)},
				{owned, on("", "secrets"), in(infra)},
			},
			denied: []rights{
				{write, on("", "secrets"), in(tenantA)},
				{[]string{"update", "deletecollection"}, on("", "secrets"), in(infra)},
				{all, on("", "secrets"), in(tenantB, capm3, hostclaim, unrelated, everywhere)},
			},
		},

		"other accounts get nothing from all this": {
			who: stranger,
			denied: []rights{
				{all, on(metal3Group, "baremetalhosts", "hostclaims", "hardwaredata", "hostdeploypolicies"), anywhere},
				{all, infraKinds, anywhere},
				{all, on("", "secrets"), anywhere},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { checkRights(t, test.who, test.allowed, test.denied) })
	}
	for home, who := range map[string]subject{capm3: provider, hostclaim: hostOwner} {
		t.Run("the manager of "+home+" elects a leader at home, reports events, and cannot give itself more rights", func(t *testing.T) {
			abroad := slices.DeleteFunc(slices.Clone(anywhere), func(namespace string) bool { return namespace == home })
			checkRights(t, who, []rights{
				{[]string{"get", "create", "update"}, on(leaseGroup, "leases"), in(home)},
				{[]string{"create", "patch"}, on("events.k8s.io", "events"), in(tenantA, tenantB, infra)},
				{[]string{"create"}, on("authentication.k8s.io", "tokenreviews"), in(everywhere)},
				{[]string{"create"}, on("authorization.k8s.io", "subjectaccessreviews"), in(everywhere)},
			}, append(slices.Clone(ownPower), rights{all, on(leaseGroup, "leases"), abroad}))
		})
	}
}
