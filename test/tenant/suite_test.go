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

package tenant

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/hostclaim/setup"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	tenantRole        = "hostclaim-tenant-role"
	sourceSecretsRole = "hostclaim-source-secrets"
	hostSecretsRole   = "hostclaim-host-secrets"

	// patience is how long a story waits; each step takes milliseconds, but all
	// stories share one manager and its turns.
	patience = 90 * time.Second
	// stillness is how long something is watched that must not happen.
	stillness = 500 * time.Millisecond
	// admissionDelay is how long an API server may take to heed new rules.
	admissionDelay = time.Minute
)

var (
	server harness.Server
	// mallory attacks, and alice minds her own business. Both are tenants.
	mallory, alice client.WithWatch
	hosts          *operator
)

// People by their names in certificates and bindings.
const (
	malloryName = "mallory"
	aliceName   = "alice"
)

func TestMain(m *testing.M) {
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	gomega.SetDefaultConsistentlyDuration(stillness)
	ctrl.SetLogger(klog.Background())
	// The stories wait more than they work, so more of them run at once than there
	// are processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(server.Run(staged{m}))
}

// staged runs the tests beside one manager with admission, as installed in life.
type staged struct{ tests *testing.M }

func (s staged) Run() int {
	ctx, stop := context.WithCancel(ctrl.LoggerInto(context.Background(), klog.Background()))
	defer stop()
	ended, err := start(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "set the stage: %v\n", err)
		return 1
	}
	code := s.tests.Run()
	stop()
	if err := <-ended; err != nil {
		fmt.Fprintf(os.Stderr, "hostclaim manager: %v\n", err)
		return 1
	}
	return code
}

func start(ctx context.Context) (<-chan error, error) {
	if err := createOldFaults(ctx); err != nil {
		return nil, err
	}
	webhooks, err := harness.NewWebhooks()
	if err != nil {
		return nil, err
	}
	if err := server.InstallConfig(ctx, "hostclaim/hardened", webhooks); err != nil {
		return nil, err
	}
	if mallory, err = server.User(malloryName); err != nil {
		return nil, err
	}
	if alice, err = server.User(aliceName); err != nil {
		return nil, err
	}
	o := setup.NewOptions()
	o.AddFlags(pflag.NewFlagSet("test", pflag.PanicOnError))
	o.WebhookPort, o.WebhookCertDir, o.HealthAddress = webhooks.Port, webhooks.CertDir, "0"
	o.Serving.InsecureDiagnostics, o.Serving.DiagnosticsAddress = true, "0"
	mgr, err := setup.NewManager(ctx, server.As(harness.HostClaimAccount()), o)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if hosts, err = startOperator(ctx); err != nil {
		return nil, err
	}
	return ended, awaitAdmission(ctx)
}

// awaitAdmission waits until each rule refuses what it is there to refuse. Rules
// come into force one after the other.
func awaitAdmission(ctx context.Context) error {
	const namespace = "default"
	claim := func(change func(*bmov1alpha1.HostClaim)) client.Object {
		c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
		change(c)
		return c
	}
	for name, probe := range map[string]client.Object{
		"references": claim(func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Namespace: "elsewhere"} }),
		"marks": claim(func(c *bmov1alpha1.HostClaim) {
			c.Annotations = map[string]string{bmov1alpha1.DetachedAnnotation: ""}
		}),
		"selectors": claim(func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector.InNamespace = "?" }),
		"names of policies": &bmov1alpha1.HostDeployPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
			Spec:       bmov1alpha1.HostDeployPolicySpec{HostClaimNamespaces: &bmov1alpha1.HostClaimNamespaces{Names: []string{"?"}}},
		},
	} {
		if err := refusedInTime(ctx, func() error { return server.Client.Create(ctx, probe, client.DryRunAll) }); err != nil {
			return fmt.Errorf("the rule on %s is not in force: %w", name, err)
		}
	}
	return awaitRulesOfChange(ctx, namespace)
}

// awaitRulesOfChange waits for the rules that look at what was there before.
func awaitRulesOfChange(ctx context.Context, namespace string) error {
	claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "bound", Annotations: map[string]string{"cluster.x-k8s.io/paused": ""},
	}}
	if err := server.Client.Create(ctx, claim); err != nil {
		return err
	}
	if err := pretendBound(ctx, claim); err != nil {
		return err
	}
	return refusedInTime(ctx, func() error {
		changed := claim.DeepCopy()
		changed.Spec.FailureDomain = "elsewhere"
		return server.Client.Patch(ctx, changed, client.MergeFrom(claim), client.DryRunAll)
	})
}

func refusedInTime(ctx context.Context, request func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		last = request()
		return apierrors.IsInvalid(last) || apierrors.IsForbidden(last), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; the last answer was: %w", err, last)
	}
	return err
}
