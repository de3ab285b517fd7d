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

package data

import (
	"cmp"
	"context"
	"maps"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/requests"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/clusterindex"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
)

// mapper finds the Metal3Datas that an event wakes.
type mapper struct {
	client client.Client
	clock  clock.PassiveClock
}

// wake wakes the Metal3Datas that the options select.
func (m mapper) wake(ctx context.Context, options ...client.ListOption) []ctrl.Request {
	return requests.For(ctx, m.client, &infrav1.Metal3DataList{}, options...)
}

// by selects by a field index within a namespace.
func by(namespace, index, value string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingFields{index: value}}
}

func (m mapper) templateToData(ctx context.Context, o client.Object) []ctrl.Request {
	return m.wake(ctx, by(o.GetNamespace(), datatemplate.ByTemplate, o.GetName())...)
}

func (m mapper) claimToData(ctx context.Context, o client.Object) []ctrl.Request {
	return m.wake(ctx, by(o.GetNamespace(), byClaim, o.GetName())...)
}

func (m mapper) metal3MachineToData(ctx context.Context, o client.Object) []ctrl.Request {
	return m.wake(ctx, by(o.GetNamespace(), byMachine, o.GetName())...)
}

func (m mapper) machineToData(ctx context.Context, o client.Object) []ctrl.Request {
	machine, ok := o.(*clusterv1.Machine)
	if !ok || machine.Spec.InfrastructureRef.Kind != machineKind {
		return nil
	}
	return m.wake(ctx, by(machine.Namespace, byMachine, machine.Spec.InfrastructureRef.Name)...)
}

// hostClaimToData goes by the consumer of the claim. It may name a machine of
// another cluster, of which we then know nothing.
func (m mapper) hostClaimToData(ctx context.Context, o client.Object) []ctrl.Request {
	claim, ok := o.(*bmov1alpha1.HostClaim)
	if !ok || claim.Spec.ConsumerRef == nil || claim.Spec.ConsumerRef.Kind != machineKind {
		return nil
	}
	return m.wake(ctx, by(claim.Namespace, byMachine, claim.Spec.ConsumerRef.Name)...)
}

func (m mapper) hardwareToData(ctx context.Context, o client.Object) []ctrl.Request {
	var woken []ctrl.Request
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind != "HostClaim" {
			continue
		}
		var claim bmov1alpha1.HostClaim
		if err := m.client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}, &claim); err != nil {
			continue // the event of the claim will do
		}
		woken = append(woken, m.hostClaimToData(ctx, &claim)...)
	}
	return woken
}

// userToData maps a machine whose host is in another cluster.
func (m mapper) userToData(ctx context.Context, machine types.NamespacedName) []ctrl.Request {
	return m.wake(ctx, by(machine.Namespace, byMachine, machine.Name)...)
}

// waitingForAddress are those of the namespace whose pool is missing or has not
// given an address. One that comes to wait right now, and has not said so yet, is
// woken by its own report.
func (m mapper) waitingForAddress(ctx context.Context, o client.Object) []ctrl.Request {
	var woken []ctrl.Request
	for _, reason := range []string{
		infrav1.PoolAPIMissingReason, infrav1.PoolNotFoundReason, infrav1.AddressUnavailableReason, infrav1.WaitingForAddressesReason,
	} {
		woken = append(woken, m.wake(ctx, by(o.GetNamespace(), byReason, reason)...)...)
	}
	return woken
}

// poolMapper finds those that an event of a pool wakes.
type poolMapper struct {
	mapper
	kinds availability
}

// refused are those that a pool has refused an address: it looks at no claim twice, and may have
// refused it for something else than a want of addresses, so any change of it is worth another try.
func (m poolMapper) refused(ctx context.Context, pool client.Object) []ctrl.Request {
	served, err := m.kinds.Available(ctx, &ipamv1alpha1.IPClaim{})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Claims cannot be listed, an event of their pool is lost", "pool", klog.KObj(pool))
	}
	if !served {
		return nil
	}
	return requests.From(ctx, m.client, &ipamv1alpha1.IPClaimList{}, func(claim *ipamv1alpha1.IPClaim) []ctrl.Request {
		return toOwner(ctx, claim)
	}, by(pool.GetNamespace(), byRefusal, pool.GetName())...)
}

// nextInTurn are the first of those of the namespace that may be held back, in the order in which
// they came, for whom there is room once a claim is answered. Those with a claim out are woken by its
// answer.
func (m mapper) nextInTurn(ctx context.Context, answered client.Object) []ctrl.Request {
	var waiting []*infrav1.Metal3Data
	for _, reason := range []string{"", infrav1.WaitingForAddressesReason} {
		var some infrav1.Metal3DataList
		if err := m.client.List(ctx, &some, append(by(answered.GetNamespace(), byReason, reason), client.UnsafeDisableDeepCopy)...); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Metal3Datas cannot be listed, an answer to a claim is lost", "claim", klog.KObj(answered))
		}
		for i := range some.Items {
			waiting = append(waiting, &some.Items[i])
		}
	}
	claims, err := unanswered(ctx, m.client, answered.GetNamespace(), ippool.PoolOf(answered), m.clock.Now())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Claims cannot be listed, an answer to one is lost", "claim", klog.KObj(answered))
	}
	asking := map[string]bool{}
	for _, claim := range claims {
		for _, name := range ownerNames(claim) {
			asking[name] = true
		}
	}
	waiting = slices.DeleteFunc(waiting, func(data *infrav1.Metal3Data) bool { return asking[data.Name] })
	slices.SortFunc(waiting, func(a, b *infrav1.Metal3Data) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var woken []ctrl.Request
	for i := range min(len(waiting), max(0, ippool.MaxUnanswered-len(claims))) {
		woken = append(woken, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(waiting[i])})
	}
	return woken
}

// withUnfitAddress are those of the namespace that cannot be rendered, perhaps for an address
// that their pool gave before it was mended.
func (m mapper) withUnfitAddress(ctx context.Context, o client.Object) []ctrl.Request {
	return m.wake(ctx, by(o.GetNamespace(), byReason, infrav1.RenderingFailedReason)...)
}

// waitingForAPI are those whose address management API was missing.
func (m mapper) waitingForAPI(ctx context.Context) []ctrl.Request {
	return m.wake(ctx, client.MatchingFields{byReason: infrav1.PoolAPIMissingReason})
}

// secretToData goes by the names of the rendered secrets. Without a name, the
// watch has just begun: rights may have come, and a secret may have gone unseen.
func (m mapper) secretToData(ctx context.Context, namespace, name string) []ctrl.Request {
	if name == "" {
		return m.wake(ctx, client.InNamespace(namespace))
	}
	return m.wake(ctx, by(namespace, bySecret, name)...)
}

func (m mapper) clusterToData(ctx context.Context, o client.Object) []ctrl.Request {
	return m.wake(ctx, by(o.GetNamespace(), clusterindex.Field, o.GetName())...)
}

// nothingElse lets through no change of a claim that stays: a Metal3Data waits for nothing else of it.
func nothingElse(_, _ *infrav1.Metal3DataClaim) bool { return false }

// anotherSpec lets through no change of a status: that of a template tells the indexes of all its
// machines, and that of a pool their addresses, and both change with each.
func anotherSpec(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration()
}

// otherNames lets through what a template may refer to.
func otherNames(before, after client.Object) bool {
	return !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		len(before.GetOwnerReferences()) != len(after.GetOwnerReferences())
}
