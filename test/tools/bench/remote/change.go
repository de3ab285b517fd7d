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
	"fmt"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/program"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// oneAtATime changes claims one after the other.
func (b *bench) oneAtATime(ctx context.Context) error {
	program.Say("changing %d claims, one at a time", b.changes)
	took, err := b.change(ctx, "one", b.changes, func(ctx context.Context, first, last int, do func(context.Context, int) error) error {
		for n := first; n < last; n++ {
			if err := do(ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
	b.Figures.AddTimes("change of a claim there until it is seen on the Metal3Machine", took, time.Second, 2)
	return err
}

// allAtOnce changes the claims of all machines, as an outage of their cluster would.
func (b *bench) allAtOnce(ctx context.Context) error {
	program.Say("changing all claims")
	took, err := b.change(ctx, "all", b.machines(), site.InParallel)
	b.Figures.AddTimes(fmt.Sprintf("the same, while %d claims change", b.machines()), took, time.Second, 2)
	return err
}

// change gives claims a message of their own, as the hostclaim manager would where
// a host does not do what it should, and measures until the machine shows it. At
// the end all is well again.
func (b *bench) change(ctx context.Context, what string, count int,
	spread func(context.Context, int, int, func(context.Context, int) error) error,
) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	claims, err := b.claims(ctx)
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, count)
	if err := spread(ctx, 0, count, func(ctx context.Context, n int) error {
		key, message := b.key(n%b.machines()), fmt.Sprintf("Change %s-%d", what, n)
		begun := time.Now()
		if err := b.player.report(ctx, claims[key], metav1.ConditionFalse, message); err != nil {
			return err
		}
		seen, err := b.marks.Await(ctx, site.Mark(message), key)
		took[n] = seen.Sub(begun)
		return err
	}); err != nil {
		return nil, err
	}
	if err := site.InParallel(ctx, 0, b.machines(), func(ctx context.Context, n int) error {
		return b.player.report(ctx, claims[b.key(n)], metav1.ConditionTrue, "")
	}); err != nil {
		return nil, err
	}
	return took, b.quietAll(ctx)
}

// claims finds the claim of each machine. There is one for each.
func (b *bench) claims(ctx context.Context) (map[types.NamespacedName]types.NamespacedName, error) {
	var list bmov1alpha1.HostClaimList
	if err := b.hosts.List(ctx, &list); err != nil {
		return nil, err
	}
	out := map[types.NamespacedName]types.NamespacedName{}
	for _, claim := range list.Items {
		out[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.ConsumerRef.Name}] = client.ObjectKeyFromObject(&claim)
	}
	if len(out) != b.machines() || len(list.Items) != b.machines() {
		return nil, fmt.Errorf("there are %d claims for %d machines", len(list.Items), b.machines())
	}
	return out, nil
}

// rotation renews the credentials of all identities at once. Machines must not
// notice, and must hear of their claims by the new ones.
func (b *bench) rotation(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	program.Say("renewing all credentials")
	ready, before := b.states()
	if ready != b.machines() {
		return fmt.Errorf("%d of %d machines are Ready before credentials are renewed", ready, b.machines())
	}
	begun := time.Now()
	if err := b.issue(ctx, 2*time.Hour); err != nil {
		return err
	}
	issued := time.Since(begun)
	if err := b.quietAll(ctx); err != nil {
		return err
	}
	_, after := b.states()
	connected, err := b.manager.Connections(ctx)
	if err != nil {
		return err
	}
	b.Figures.Add(fmt.Sprintf("machines that left Ready while %d tokens were renewed", b.identities), float64(after-before), "", 0)
	b.Figures.Add("  until all are issued", issued.Seconds(), "s")
	b.Figures.Add("  connections for each identity after that", connected/float64(b.identities), "", 1)
	took, err := b.change(ctx, "renewed", min(b.changes, b.identities), site.InParallel)
	b.Figures.AddTimes("  change of a claim after that", took, time.Second, 2)
	return err
}
