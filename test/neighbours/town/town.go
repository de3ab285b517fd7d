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

package town

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

const (
	// Infra is the namespace of the hosts.
	Infra = "infra"
	// tenantLabel is on the namespaces that the policy of the hosts admits.
	tenantLabel = "town.example/tenant"
	// starting is how long a manager may take to build and start.
	starting = 5 * time.Minute
)

// Town is an API server with both managers at work.
type Town struct {
	*site.Site
	Provider, HostClaim *site.Manager

	marks *site.Timeline
}

// Open builds and starts both managers with their default flags, except that clusters
// on loopback may be reached, and with more flags for both. Their logs go to the folder. The
// caller closes the town.
func Open(ctx context.Context, server *harness.Server, folder string, flags ...string) (*Town, error) {
	opened, err := site.Open(server, site.Counting{Resources: []string{
		"metal3machines", "metal3datas", "metal3dataclaims", "metal3datatemplates", "ippools", "ipclaims", "ipaddresses",
		"hostclaims", "baremetalhosts", "hostdeploypolicies", "hardwaredata", "secrets", "namespaces", "events",
	}})
	if err != nil {
		return nil, err
	}
	t := &Town{Site: opened, marks: site.NewTimeline()}
	if err := errors.Join(t.watch(ctx), t.furnish(ctx)); err != nil {
		return nil, err
	}
	if t.Provider, err = t.start(ctx, folder, ".", site.Program{
		Name: "provider-manager", User: harness.ProviderAccount().User(),
		Args: append([]string{"--webhook-port=0", "--identity-denied-addresses=", "--workload-denied-addresses="}, flags...),
	}); err != nil {
		return t, err
	}
	t.HostClaim, err = t.start(ctx, folder, "./cmd/hostclaim-manager", site.Program{
		Name: "hostclaim-manager", User: harness.HostClaimAccount().User(), Args: append([]string{"--webhook-port=0"}, flags...),
	})
	return t, err
}

// Close stops the managers.
func (t *Town) Close() error {
	var err error
	for _, m := range []*site.Manager{t.Provider, t.HostClaim} {
		if m != nil {
			err = errors.Join(err, m.Stop())
		}
	}
	return err
}

// start builds and starts a manager.
func (t *Town) start(ctx context.Context, folder, pkg string, p site.Program) (_ *site.Manager, err error) {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if p.Path, err = site.Build(ctx, folder, p.Name, pkg); err != nil {
		return nil, err
	}
	return t.StartManager(ctx, p, folder)
}

// furnish makes the roles of both managers, and the namespace of the hosts with a
// policy that admits every tenant. Leases are held there, too, if the flags want them.
func (t *Town) furnish(ctx context.Context) error {
	for _, account := range []harness.Account{harness.ProviderAccount(), harness.HostClaimAccount()} {
		if err := t.Server.InstallRoles(ctx, account); err != nil {
			return fmt.Errorf("install the roles: %w", err)
		}
	}
	if err := errors.Join(
		t.Pool(ctx, Infra),
		t.Server.Bind(ctx, harness.ProviderAccount(), Infra, "capm3-leader-election-role"),
		t.Server.Bind(ctx, harness.HostClaimAccount(), Infra, "hostclaim-leader-election-role"),
	); err != nil {
		return err
	}
	return t.Create(ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: Infra, Name: "tenants"},
		Spec: bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{
			HasLabels: []bmov1alpha1.NameValuePair{{Name: tenantLabel}},
		}},
	})
}

// Pool makes a namespace for hosts, in which the hostclaim manager may write secrets.
func (t *Town) Pool(ctx context.Context, namespace string) error {
	return errors.Join(
		t.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}),
		t.Server.Bind(ctx, harness.HostClaimAccount(), namespace, "hostclaim-host-secrets"),
	)
}

// Host makes a free host.
func (t *Town) Host(ctx context.Context, key types.NamespacedName, labels map[string]string) error {
	host := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels},
		Spec: bmov1alpha1.BareMetalHostSpec{
			BMC: bmov1alpha1.BMCDetails{Address: "redfish://192.0.2.1/redfish/v1/Systems/" + key.Name, CredentialsName: key.Name + "-bmc"},
		},
	}
	if err := t.Create(ctx, host); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"status": bmov1alpha1.BareMetalHostStatus{
		OperationalStatus: bmov1alpha1.OperationalStatusOK,
		Provisioning:      bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable},
		HardwareDetails:   &bmov1alpha1.HardwareDetails{Hostname: key.Name, RAMMebibytes: 1024},
	}})
	if err != nil {
		return err
	}
	return t.Status().Patch(ctx, host, client.RawPatch(types.MergePatchType, text))
}
