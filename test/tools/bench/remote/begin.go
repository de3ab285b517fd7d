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

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

const (
	clusterName = "bench"
	secretName  = "hosts"
)

// begin lets all identities in and makes all machines, and notes how long it takes
// until the last one is Ready.
func (b *bench) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	program.Say("letting %d identities in", b.identities)
	if err := site.InParallel(ctx, 0, b.identities, b.furnish); err != nil {
		return err
	}
	if err := b.issue(ctx, time.Hour); err != nil {
		return err
	}
	program.Say("making %d machines", b.machines())
	begun := time.Now()
	if err := site.InParallel(ctx, 0, b.machines(), b.addMachine); err != nil {
		return err
	}
	last, err := b.marks.Await(ctx, ready, b.keys()...)
	if err != nil {
		return b.explain(ctx, err)
	}
	b.Figures.Add(b.with()+", until all are Ready", last.Sub(begun).Seconds(), "s")
	return b.quietAll(ctx)
}

// explain adds what the machine that was waited for says of itself.
func (b *bench) explain(ctx context.Context, err error) error {
	var never *site.NeverError
	if !errors.As(err, &never) {
		return err
	}
	m := &infrav1.Metal3Machine{}
	if read := b.tenants.Get(context.WithoutCancel(ctx), never.Object, m); read != nil {
		return errors.Join(err, read)
	}
	for _, c := range m.Status.Conditions {
		err = fmt.Errorf("%w; %s is %s: %s %s", err, c.Type, c.Status, c.Reason, c.Message)
	}
	return err
}

func (b *bench) keys() []types.NamespacedName {
	keys := make([]types.NamespacedName, b.machines())
	for n := range keys {
		keys[n] = b.key(n)
	}
	return keys
}

// furnish makes the tenant's side of an identity, except for its credentials.
func (b *bench) furnish(ctx context.Context, n int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(n)}}
	if err := b.tenants.Create(ctx, ns); err != nil {
		return err
	}
	cluster := builder.Cluster(types.NamespacedName{Namespace: ns.Name, Name: clusterName})
	// The kind is another one: what is measured are the machines.
	cluster.Spec.InfrastructureRef.Kind = "OtherCluster"
	if err := errors.Join(
		b.Server.Bind(ctx, harness.ProviderAccount(), ns.Name, "capm3-tenant-secrets"),
		b.tenants.Create(ctx, builder.Bootstrap(ns.Name, clusterName)),
		b.tenants.Create(ctx, cluster),
	); err != nil {
		return err
	}
	before := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	return b.tenants.Status().Patch(ctx, cluster, client.MergeFrom(before))
}

// issue gives every identity credentials, as an infrastructure team would. Tokens of
// one account that are issued in one second and for as long are the same.
func (b *bench) issue(ctx context.Context, expiry time.Duration) error {
	access, err := onboard.AccessOf(b.hosts.Server.Config, onboard.Seen{})
	if err != nil {
		return err
	}
	return site.InParallel(ctx, 0, b.identities, func(ctx context.Context, n int) error {
		plan := onboard.Plan{
			Tenant: grant.Tenant{
				Namespace:        namespace(n),
				Account:          types.NamespacedName{Namespace: grant.DefaultAccounts, Name: namespace(n)},
				HostClaimManager: types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"},
				Expiry:           expiry,
			},
			Home:   grant.Home{Namespace: namespace(n), Secret: secretName},
			Access: access,
		}
		if _, err := onboard.Run(ctx, plan, b.hosts, b.tenants); err != nil {
			return fmt.Errorf("identity %s: %w", namespace(n), err)
		}
		return nil
	})
}

// addMachine makes a machine as Cluster API would.
func (b *bench) addMachine(ctx context.Context, n int) error {
	owner := builder.Machine(b.key(n), clusterName)
	if err := b.tenants.Create(ctx, owner); err != nil {
		return err
	}
	m := builder.PausedMetal3Machine(owner)
	delete(m.Annotations, clusterv1.PausedAnnotation)
	m.Spec.IdentityRef = &infrav1.IdentityReference{Name: secretName}
	return b.tenants.Create(ctx, m)
}
