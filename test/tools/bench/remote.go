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
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/grant"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/tenant/onboard"
	"github.com/metal3-io/cluster-api-provider-metal3/test/builder"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/hostsim/host/hardware"
)

// identitySecret is the Secret of each identity.
const identitySecret = "hosts"

// remoteShapes are the identities with their machines, and how many claims are changed one after the other.
var remoteShapes = map[string]struct {
	shape
	changes int
}{
	"full":   {shape{100, 10}, 300},
	"medium": {shape{25, 10}, 100},
	"small":  {shape{4, 3}, 5},
}

// remoteBench is the machines of many identities whose claims are in another cluster.
type remoteBench struct {
	*crowd

	// hosts is the cluster with the claims.
	hosts   *site.Site
	changes int
	// claims are the names of the claims by the name of their machine, which has the same namespace.
	claims sync.Map
	// others are the watches of other clients in the cluster with the claims, by resource.
	others map[string]float64
}

// measureRemote measures the provider manager where claims are in another cluster, whose hostclaim manager is played.
// Each identity has a namespace and credentials as hack/tenant makes them.
func measureRemote(ctx context.Context, r *run) error {
	return r.onOtherServer(func(second *run) (err error) {
		// Watches would hold up the end of the server.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		b, err := newCrowdBench(ctx, r)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		b.managers, b.memoryTarget = b.managers[:1], 400
		wanted := remoteShapes[r.size]
		m := &remoteBench{
			crowd:   &crowd{crowdBench: b, shape: wanted.shape, name: "identity", identity: identitySecret},
			changes: wanted.changes,
		}
		m.hosts, err = site.Open(second.server, site.Counting{Resources: []string{"hostclaims", "hardwaredata", "secrets"}})
		if err != nil {
			return err
		}
		if err := m.playHostClaims(ctx); err != nil {
			return err
		}
		if m.others, err = m.watches(ctx); err != nil {
			return err
		}
		return inTurn(ctx, m.furnish, m.issue, m.arrive, m.connections, m.changeInTurn, m.changeAll, m.rotate, m.rest)
	})
}

// settle waits until both clusters are quiet.
func (b *remoteBench) settle(ctx context.Context) error {
	return errors.Join(b.Quiet(ctx, b.quiet), b.hosts.Quiet(ctx, b.quiet))
}

// issue gives each identity new credentials, as the infrastructure team would.
func (b *remoteBench) issue(ctx context.Context) error {
	access, err := onboard.AccessOf(b.hosts.Server.Config, onboard.Seen{})
	if err != nil {
		return err
	}
	return site.InParallel(ctx, 0, b.clusters, func(ctx context.Context, n int) error {
		namespace := b.namespace(n)
		plan := onboard.Plan{
			Tenant: grant.Tenant{
				Namespace:        namespace,
				Account:          types.NamespacedName{Namespace: grant.DefaultAccounts, Name: namespace},
				HostClaimManager: types.NamespacedName{Namespace: "hostclaim-system", Name: "hostclaim-manager"},
				Expiry:           time.Hour,
			},
			Home:   grant.Home{Namespace: namespace, Secret: identitySecret},
			Access: access,
		}
		if _, err := onboard.Run(ctx, plan, b.hosts, b.Site); err != nil {
			return fmt.Errorf("identity %s: %w", namespace, err)
		}
		return nil
	})
}

// connections counts them, and the watches that they hold.
func (b *remoteBench) connections(ctx context.Context) error {
	connected, err := b.Provider.Connections(ctx)
	if err != nil {
		return err
	}
	number := float64(b.clusters)
	b.figures.Add("connections for each identity", connected/number, "", 1)
	open, err := b.watches(ctx)
	for resource, count := range open {
		b.figures.Add("  watches on "+resource+" there for each identity", (count-b.others[resource])/number, "", 1)
	}
	return err
}

func (b *remoteBench) watches(ctx context.Context) (map[string]float64, error) {
	open := map[string]float64{}
	for _, resource := range []string{"hostclaims", "hardwaredata", "secrets"} {
		var err error
		if open[resource], err = b.hosts.Watches(ctx, resource); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// changeInTurn changes some claims, each when the change before is seen on its machine.
func (b *remoteBench) changeInTurn(ctx context.Context) error {
	var all []time.Duration
	for n := range b.changes {
		took, err := b.change(ctx, "one", n%b.machines(), n%b.machines()+1)
		if err != nil {
			return err
		}
		all = append(all, took...)
	}
	b.figures.AddTimes("change of a claim there until it is seen on the Metal3Machine", all, time.Second, 2)
	return b.settle(ctx)
}

// changeAll changes all claims.
func (b *remoteBench) changeAll(ctx context.Context) error {
	took, err := b.change(ctx, "all", 0, b.machines())
	b.figures.AddTimes(fmt.Sprintf("the same, while %d claims change", b.machines()), took, time.Second, 2)
	return errors.Join(err, b.settle(ctx))
}

// change gives the claims of machines a message, and returns how long each took to get to the machine. Then the claims
// are as they were.
func (b *remoteBench) change(ctx context.Context, what string, first, last int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	took := make([]time.Duration, last-first)
	return took, site.InParallel(ctx, first, last, func(ctx context.Context, n int) error {
		key := b.key(n, 0)
		found, _ := b.claims.Load(key)
		claim, ok := found.(types.NamespacedName)
		if !ok {
			return fmt.Errorf("machine %s has no claim", key)
		}
		begun := time.Now()
		message := fmt.Sprintf("Change %s-%d at %d", what, n, begun.UnixNano())
		if err := b.answer(ctx, claim, metav1.ConditionFalse, message); err != nil {
			return err
		}
		seen, err := b.seen.Await(ctx, site.Mark(message), key)
		took[n-first] = seen.Sub(begun)
		return errors.Join(err, b.answer(ctx, claim, metav1.ConditionTrue, ""))
	})
}

// rotate issues new credentials while all machines are Ready, which they should stay.
func (b *remoteBench) rotate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	say("renewing all credentials")
	b.mu.Lock()
	before := b.leftReady
	b.mu.Unlock()
	begun := time.Now()
	if err := b.issue(ctx); err != nil {
		return err
	}
	issued := time.Since(begun)
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	left := b.leftReady - before
	b.mu.Unlock()
	connected, err := b.Provider.Connections(ctx)
	if err != nil {
		return err
	}
	b.figures.Add(fmt.Sprintf("machines that left Ready while %d tokens were renewed", b.clusters), float64(left), "", 0)
	b.figures.Add("  until all are issued", issued.Seconds(), "s")
	b.figures.Add("  connections for each identity after that", connected/float64(b.clusters), "", 1)
	took, err := b.change(ctx, "renewed", 0, b.clusters)
	b.figures.AddTimes("  change of a claim after that", took, time.Second, 2)
	return errors.Join(err, b.settle(ctx))
}

// playHostClaims plays the hostclaim manager of the cluster with the claims: it binds each claim at once, publishes the
// hardware of a server, and reports that the host runs what is asked for.
func (b *remoteBench) playHostClaims(ctx context.Context) error {
	claims := make(chan *bmov1alpha1.HostClaim, 10000)
	for range 8 {
		go func() {
			for {
				select {
				case claim := <-claims:
					// Another one may have been faster with an older version.
					if err := b.serve(ctx, claim); client.IgnoreNotFound(client.IgnoreAlreadyExists(err)) != nil && ctx.Err() == nil {
						ctrl.Log.Error(err, "The hostclaim manager cannot be played", "claim", client.ObjectKeyFromObject(claim))
					}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return b.hosts.Follow(ctx, &bmov1alpha1.HostClaimList{}, func(object any, _ time.Time) {
		if claim, ok := object.(*bmov1alpha1.HostClaim); ok {
			b.claims.Store(types.NamespacedName{Namespace: claim.Namespace, Name: claim.Spec.ConsumerRef.Name}, client.ObjectKeyFromObject(claim))
			claims <- claim
		}
	})
}

// serve does the next thing for a claim.
func (b *remoteBench) serve(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if meta.IsStatusConditionTrue(claim.Status.Conditions, bmov1alpha1.AssociatedCondition) {
		if claim.Spec.Image == nil || meta.FindStatusCondition(claim.Status.Conditions, bmov1alpha1.ProvisionedCondition) != nil {
			return nil
		}
		return b.answer(ctx, client.ObjectKeyFromObject(claim), metav1.ConditionTrue, "")
	}
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}}
	facts := builder.Published(claim, hardware.Of(host))
	// By which connections to other clusters distinguish facts of claims from others.
	facts.Labels = map[string]string{infrav1.ClaimUIDLabel: string(claim.UID)}
	if err := b.hosts.Create(ctx, facts); err != nil {
		return err
	}
	before := claim.DeepCopy()
	builder.Bind(claim)
	return b.hosts.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// answer reports on the host of a claim.
func (b *remoteBench) answer(ctx context.Context, key types.NamespacedName, status metav1.ConditionStatus, message string) error {
	claim := &bmov1alpha1.HostClaim{}
	if err := b.hosts.Get(ctx, key, claim); err != nil {
		return fmt.Errorf("read claim %s: %w", key, err)
	}
	before := claim.DeepCopy()
	for _, kind := range []string{bmov1alpha1.SynchronizedCondition, bmov1alpha1.ProvisionedCondition} {
		meta.SetStatusCondition(&claim.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: "Played", Message: message, ObservedGeneration: claim.Generation,
		})
	}
	return b.hosts.Status().Patch(ctx, claim, client.MergeFrom(before))
}
