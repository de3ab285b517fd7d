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

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclass"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance"
	"github.com/metal3-io/cluster-api-provider-metal3/test/conformance/example"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

var server harness.Server

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
	os.Exit(server.Run(m))
}

// managerOptions are those of a manager that the suite starts often, in one process.
func managerOptions() ctrl.Options {
	return ctrl.Options{
		Scheme: server.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true), UsePriorityQueue: ptr.To(false)},
	}
}

// TestHostClaimManager has the suite look at the hostclaim manager, which gives the hosts of one namespace.
func TestHostClaimManager(t *testing.T) {
	infra := server.Namespace(t, "infra", nil)
	account := harness.HostClaimAccount()
	expect.NoError(t, server.InstallRoles(t.Context(), account))
	expect.NoError(t, server.Bind(t.Context(), account, infra, "hostclaim-host-secrets"))
	story := server.NewStory(t)
	policy := builder.Policy(types.NamespacedName{Namespace: infra, Name: "policy"})
	policy.Spec.HostClaimNamespaces = &bmov1alpha1.HostClaimNamespaces{NameMatches: "conformance-.*"}
	story.Make(policy)
	for i := range 4 {
		host := builder.FreeHost(types.NamespacedName{Namespace: infra, Name: fmt.Sprintf("host-%d", i)})
		status := host.Status
		story.Make(host)
		story.SetStatus(host, status)
	}
	playOperator(t, infra)
	as := rest.CopyConfig(server.Config)
	as.Impersonate.UserName = account.User()
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	results := run(t, conformance.Controller{
		Name: hostclass.BareMetal().Name, Finalizer: hostclass.BareMetal().Finalizer, WrongParameters: `{"size":"large"}`, WrongArguments: `{"size":"large"}`,
		Start: func(ctx context.Context, config *rest.Config) error {
			options := managerOptions()
			options.Cache, options.Client = setup.CacheOptions(o), setup.ClientOptions()
			mgr, err := ctrl.NewManager(config, options)
			if err != nil {
				return err
			}
			if err := setup.AddControllers(ctx, mgr, o, prometheus.NewRegistry()); err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
		Prepare: func(ctx context.Context, namespace string) error {
			return server.Bind(ctx, account, namespace, "hostclaim-source-secrets")
		},
		Machines: func(ctx context.Context) ([]conformance.Machine, error) { return servers(ctx, infra) },
		Adapt:    func(claim *bmov1alpha1.HostClaim) { claim.Spec.HostSelector.InNamespace = infra },
		Spoil: func(claim *bmov1alpha1.HostClaim) {
			claim.Spec.HostSelector.MatchLabels = map[string]string{"rack": "none"}
		},
	}, as, nil)
	for _, result := range results {
		expect.That(t, result.Err == nil, "%s (%s): %v", result.Name, result.Rule, result.Err)
	}
}

// servers are the hosts of a namespace.
func servers(ctx context.Context, namespace string) (machines []conformance.Machine, err error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := server.Client.List(ctx, hosts, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	for i := range hosts.Items {
		host := &hosts.Items[i]
		machine := conformance.Machine{
			Name: host.Namespace + "/" + host.Name, Image: host.Status.Provisioning.Image.URL,
			HoldsData: host.Status.Provisioning.State != bmov1alpha1.StateAvailable || host.Spec.UserData != nil,
		}
		if host.Spec.ConsumerRef != nil {
			machine.Claim = host.Spec.ConsumerRef.UID
		}
		machines = append(machines, machine)
	}
	return machines, nil
}

// playOperator plays baremetal-operator for the hosts of a namespace, until the test ends.
func playOperator(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := harness.FollowHosts(ctx, server.Client, func(_ watch.EventType, host *bmov1alpha1.BareMetalHost) error {
		if metav1.HasAnnotation(host.ObjectMeta, bmov1alpha1.PausedAnnotation) {
			return nil
		}
		before := host.DeepCopy()
		harness.Proceed(host, func() {}, func() {})
		host.Status.PoweredOn = host.Spec.Online && !hostclass.HeldOff(host)
		return server.Client.Status().Patch(ctx, host, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}, client.InNamespace(namespace))
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// run runs the suite, or the cases of a name.
func run(t *testing.T, controller conformance.Controller, account *rest.Config, cases *regexp.Regexp) []conformance.Result {
	t.Helper()
	results, err := conformance.Run(t.Context(), controller, conformance.Options{
		Admin: server.Config, Account: account, Run: cases, Log: func(line string) { t.Log(line) },
		Patience: patience(cases), Stillness: 500 * time.Millisecond,
	})
	expect.NoError(t, err)
	text := &strings.Builder{}
	expect.NoError(t, conformance.Print(text, results))
	t.Log("\n" + text.String())
	return results
}

// patience is short where the controller under test is a wrong one.
func patience(cases *regexp.Regexp) time.Duration {
	if cases == nil {
		return time.Minute
	}
	return 5 * time.Second
}

// sample is the controller of package example, with a client that may be wrong.
func sample(t *testing.T, wrong func(of client.WithWatch, cloud string) client.Client) conformance.Controller {
	t.Helper()
	cloud := server.Namespace(t, "cloud", nil)
	return conformance.Controller{
		Name: example.Controller().Name, Finalizer: example.Controller().Finalizer,
		Parameters: `{"size":"small"}`, WrongParameters: `{"size":"boundless"}`, WrongArguments: `{"cores":"8"}`,
		Start: func(ctx context.Context, config *rest.Config) error {
			options := managerOptions()
			options.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
				right, err := client.NewWithWatch(config, options)
				if err != nil || wrong == nil {
					return right, err
				}
				return wrong(right, cloud), nil
			}
			mgr, err := example.NewManager(config, cloud, options)
			if err != nil {
				return err
			}
			return mgr.Start(ctx)
		},
		Machines: func(ctx context.Context) ([]conformance.Machine, error) {
			return example.Machines(ctx, server.Client, cloud)
		},
	}
}

func TestExample(t *testing.T) {
	for _, result := range run(t, sample(t, nil), nil, nil) {
		expect.That(t, result.Err == nil, "%s (%s): %v", result.Name, result.Rule, result.Err)
	}
}

// TestWrongControllers has the suite look at the example with a client that lies to it, or does not do what it says.
func TestWrongControllers(t *testing.T) {
	for name, tt := range wrongs() {
		t.Run(name, func(t *testing.T) {
			results := run(t, sample(t, tt.client), nil, regexp.MustCompile("^"+tt.fails+"$"))
			expect.Must(t, len(results) == 1, "the suite has no case %q", tt.fails)
			expect.Error(t, tt.says, errors.Join(results[0].Err))
			expect.That(t, !conformance.Passed(results), "it passed")
		})
	}
}
