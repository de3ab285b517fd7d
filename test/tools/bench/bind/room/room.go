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

package room

import (
	"context"
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host"
)

const (
	// Infra is the namespace of all hosts.
	Infra = "bench-infra"
	// tenants is how many namespaces the claims are spread over.
	tenants = 10
)

// Room is a cluster with hosts and tenants.
type Room struct {
	*site.Site
	// Claims and Hosts note when something was first seen.
	Claims, Hosts *site.Timeline
}

// counting leaves out the requests by which claims are made, and by which hostsim
// writes status.
func counting() site.Counting {
	return site.Counting{
		Resources: []string{"hostclaims", "baremetalhosts", "hostdeploypolicies", "hardwaredata", "secrets", "namespaces", "events"},
		Ours:      []string{"POST hostclaims", "DELETE hostclaims", "PATCH baremetalhosts/status"},
	}
}

// Open prepares the cluster of the server: namespaces, a policy that admits every
// tenant, the rights of the manager, and hostsim. It ends with ctx.
func Open(ctx context.Context, server *harness.Server) (*Room, error) {
	opened, err := site.Open(server, counting())
	if err != nil {
		return nil, err
	}
	r := &Room{Site: opened, Claims: site.NewTimeline(), Hosts: site.NewTimeline()}
	if err := errors.Join(r.furnish(ctx), r.startHostsim(ctx)); err != nil {
		return nil, err
	}
	return r, r.watch(ctx)
}

// Tenant is the namespace of the n-th claim.
func Tenant(n int) string {
	return fmt.Sprintf("bench-tenant-%d", n%tenants)
}

func (r *Room) furnish(ctx context.Context) error {
	account := harness.HostClaimAccount()
	if err := r.Server.InstallRoles(ctx, account); err != nil {
		return fmt.Errorf("install the roles: %w", err)
	}
	rights := map[string]string{Infra: "hostclaim-host-secrets"}
	var names []string
	for n := range tenants {
		names = append(names, Tenant(n))
		rights[Tenant(n)] = "hostclaim-source-secrets"
	}
	for namespace, role := range rights {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := errors.Join(r.Create(ctx, ns), r.Server.Bind(ctx, account, namespace, role)); err != nil {
			return err
		}
	}
	return r.Create(ctx, &bmov1alpha1.HostDeployPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: Infra, Name: "tenants"},
		Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: names}},
	})
}

// startHostsim plays the hosts in this process, without delays.
func (r *Room) startHostsim(ctx context.Context) error {
	config := rest.CopyConfig(r.Server.Config)
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: r.Server.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := host.New(nil).SetupWithManager(mgr); err != nil {
		return err
	}
	go func() {
		if err := mgr.Start(ctx); err != nil {
			ctrl.Log.Error(err, "hostsim has ended")
		}
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("hostsim does not see the hosts")
	}
	return nil
}
