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

package api_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/webhooks"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// admissionDelay is how long webhooks may take to come into force.
const admissionDelay = 30 * time.Second

// serveWebhooks runs the webhooks of the provider manager, and nothing else of it,
// until ctx ends.
func serveWebhooks(ctx context.Context) (<-chan error, error) {
	at, err := harness.NewWebhooks()
	if err != nil {
		return nil, err
	}
	if err := server.InstallConfig(ctx, "webhook", at); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(server.Config, ctrl.Options{
		Scheme:        server.Scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Port: at.Port, CertDir: at.CertDir}),
	})
	if err != nil {
		return nil, err
	}
	if err := webhooks.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return ended, errors.Join(awaitValidation(ctx), awaitDefaults(ctx))
}

// awaitDefaults waits until the webhook that completes clusters does so.
func awaitDefaults(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		cluster := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}}
		err := server.Client.Create(ctx, cluster, client.DryRunAll)
		return cluster.Spec.CloudProviderEnabled != nil, err
	})
}

// awaitValidation waits until each webhook refuses what it is there to refuse. They
// come into force one after the other.
func awaitValidation(ctx context.Context) error {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "probe"}
	elsewhere := &infrav1.Metal3ObjectRef{Name: "x", Namespace: "elsewhere"}
	spec := infrav1.Metal3MachineSpec{CustomDeploy: &infrav1.CustomDeploy{Method: "m"}, DataTemplate: elsewhere}
	broken := clusterv1.ObjectMeta{Labels: map[string]string{"?": ""}}
	for _, probe := range []client.Object{
		&infrav1.Metal3ClusterTemplate{ObjectMeta: meta, Spec: infrav1.Metal3ClusterTemplateSpec{
			Template: infrav1.Metal3ClusterTemplateResource{ObjectMeta: broken},
		}},
		&infrav1.Metal3Machine{ObjectMeta: meta, Spec: spec},
		&infrav1.Metal3MachineTemplate{ObjectMeta: meta, Spec: infrav1.Metal3MachineTemplateSpec{
			Template: infrav1.Metal3MachineTemplateResource{ObjectMeta: broken, Spec: spec},
		}},
		&infrav1.Metal3DataTemplate{ObjectMeta: meta, Spec: infrav1.Metal3DataTemplateSpec{NetworkData: &infrav1.NetworkData{
			Networks: &infrav1.NetworkDataNetwork{IPv4DHCP: []infrav1.NetworkDataIPv4DHCP{{ID: "n", Link: "none"}}},
		}}},
		&infrav1.Metal3DataClaim{ObjectMeta: meta, Spec: infrav1.Metal3DataClaimSpec{Template: elsewhere}},
	} {
		if err := refusedInTime(ctx, probe); err != nil {
			return fmt.Errorf("the webhook of %T is not in force: %w", probe, err)
		}
	}
	return nil
}

func refusedInTime(ctx context.Context, probe client.Object) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, admissionDelay, true, func(context.Context) (bool, error) {
		last = server.Client.Create(ctx, probe, client.DryRunAll)
		return apierrors.IsInvalid(last), nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w; the last answer was: %w", err, last)
	}
	return err
}
