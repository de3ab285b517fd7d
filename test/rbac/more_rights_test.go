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
)

// A manager whose account has in all namespaces what the hardened install gives in single ones
// says so in its log, and a metric counts the verbs.
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
			if err := manifests.Apply(t.Context(), server.Client, []*unstructured.Unstructured{binding}); err != nil {
				t.Fatal(err)
			}
			waitForRight(t, test.who, anySecret, true)

			var mu sync.Mutex
			var said strings.Builder
			log := funcr.New(func(_, args string) {
				mu.Lock()
				defer mu.Unlock()
				said.WriteString(args + "\n")
			}, funcr.Options{})
			if err := test.start(ctrl.LoggerInto(t.Context(), log)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "rights in all namespaces") || !strings.Contains(said.String(), "list secrets") {
				t.Errorf("the log does not say which rights the account has in all namespaces:\n%s", said.String())
			}
			role := &rbacv1.ClusterRole{}
			if err := server.Client.Get(t.Context(), client.ObjectKey{Name: test.role}, role); err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, rule := range role.Rules {
				want += len(rule.Verbs) * len(rule.Resources) * len(rule.APIGroups)
			}
			if got := gauge(t, test.gauge); got != float64(want) {
				t.Errorf("%s is %v, want %d, the verbs of ClusterRole %s", test.gauge, got, want, test.role)
			}
			if err := install(t.Context()); err != nil {
				t.Fatal(err)
			}
			waitForRight(t, test.who, anySecret, false)
		})
	}
}

func gauge(t *testing.T, name string) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
