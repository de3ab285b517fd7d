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
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	hostclaimsetup "github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	providersetup "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/manifests"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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
				{read, on(coreGroup, "machinepools"), in(tenantA)},
				{edited, on("controlplane."+coreGroup, "kubeadmcontrolplanes"), in(tenantA)},
				{edited, on("bootstrap."+coreGroup, "kubeadmconfigtemplates"), in(tenantA)},
				{[]string{"get", "patch", "update"}, on(coreGroup, "machinedeployments/scale"), in(tenantA)},
				{edited, on(ipamGroup, "ippools"), in(tenantA)},
				{edited, on("ipam."+coreGroup, "inclusterippools"), in(tenantA)},
				{edited, on("", "secrets", "configmaps"), in(tenantA)},
				{read, on("", "resourcequotas"), in(tenantA)},
			},
			denied: []rights{{write, on("", "resourcequotas"), anywhere}},
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
		expect.That(t, !asks(t, tenant, question("patch", name)).Allowed, "a tenant may change the definition %s", name)
	}
	expect.That(t, !asks(t, tenant, question("list", "")).Allowed && !asks(t, tenant, question("get", "")).Allowed, "a tenant may read all definitions")
	expect.That(t, !asks(t, stranger, question("get", "clusters.cluster.x-k8s.io")).Allowed, "a stranger may read a definition")
}

// A manager whose account has in all namespaces what the hardened install gives in single ones
// reports that in its log, and a metric counts the verbs.
func TestAttackMoreRightsThanHardened(t *testing.T) {
	tests := map[string]struct {
		who               subject
		form, role, gauge string
		start             func(ctx context.Context) error
	}{
		"provider manager": {
			who: provider, form: "default", role: "capm3-tenant-secrets", gauge: "capm3_rights_in_all_namespaces",
			start: func(ctx context.Context) error {
				o := providersetup.NewOptions()
				o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
				o.WebhookPort, o.HealthAddress, o.Serving.DiagnosticsAddress = 0, "0", "0"
				_, err := providersetup.NewManager(ctx, provider.config(), o)
				return err
			},
		},
		"hostclaim manager": {
			who: hostOwner, form: "hostclaim/default", role: "hostclaim-host-secrets", gauge: "hostclaim_rights_in_all_namespaces",
			start: func(ctx context.Context) error {
				o := hostclaimsetup.NewOptions()
				o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
				o.WebhookPort, o.HealthAddress, o.Serving.DiagnosticsAddress = 0, "0", "0"
				_, err := hostclaimsetup.NewManager(ctx, hostOwner.config(), o)
				return err
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			anySecret := authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}
			binding := byName(t, test.form)[key("ClusterRoleBinding", test.role)]
			expect.NoError(t, manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{binding}))
			waitForRight(t, test.who, anySecret, true)

			var mu sync.Mutex
			var said strings.Builder
			log := funcr.New(func(_, args string) {
				mu.Lock()
				defer mu.Unlock()
				said.WriteString(args + "\n")
			}, funcr.Options{})
			expect.NoError(t, test.start(ctrl.LoggerInto(t.Context(), log)))
			expect.That(t, strings.Contains(said.String(), "rights in all namespaces") && strings.Contains(said.String(), "list secrets"),
				"the log does not say which rights the account has in all namespaces:\n%s", said.String())
			role := &rbacv1.ClusterRole{}
			expect.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Name: test.role}, role))
			want := 0
			for _, rule := range role.Rules {
				want += len(rule.Verbs) * len(rule.Resources) * len(rule.APIGroups)
			}
			if got := gauge(t, test.gauge); got != float64(want) {
				t.Errorf("%s is %v, want %d, the verbs of ClusterRole %s", test.gauge, got, want, test.role)
			}
			expect.NoError(t, install(t.Context()))
			waitForRight(t, test.who, anySecret, false)
		})
	}
}

func gauge(t *testing.T, name string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	expect.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
