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
	"errors"
	"fmt"
	"sync"
	"time"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// Marks of Metal3DataClaims, which have the name of their machine.
const (
	asking   site.Mark = "asking for data"
	rendered site.Mark = "given its data"
)

// Counts are the IPClaims of a namespace: those that had an address, those that wait for one, and
// the most that ever waited at a time.
type Counts struct{ Answered, Unanswered, Most int }

// Addresses counts the IPClaims of each tenant.
type Addresses struct {
	mu       sync.Mutex
	waiting  map[types.NamespacedName]bool // whether an IPClaim waits; none of those that are not known
	byTenant map[string]Counts
}

// FollowAddresses watches IPClaims, and the data that is rendered from their answers.
func (t *Town) FollowAddresses(ctx context.Context) (*Addresses, error) {
	a := &Addresses{waiting: map[types.NamespacedName]bool{}, byTenant: map[string]Counts{}}
	return a, errors.Join(
		t.Follow(ctx, &ipamv1alpha1.IPClaimList{}, a.see),
		t.Follow(ctx, &infrav1.Metal3DataClaimList{}, func(object any, now time.Time) {
			if claim, ok := object.(*infrav1.Metal3DataClaim); ok {
				t.marks.Note(asking, client.ObjectKeyFromObject(claim), now)
			}
		}),
		t.Follow(ctx, &infrav1.Metal3DataList{}, func(object any, now time.Time) {
			if data, ok := object.(*infrav1.Metal3Data); ok && conditions.IsTrue(data, infrav1.ReadyCondition) {
				t.marks.Note(rendered, types.NamespacedName{Namespace: data.Namespace, Name: data.Spec.Claim.Name}, now)
			}
		}),
	)
}

func (a *Addresses) see(object any, _ time.Time) {
	claim, ok := object.(*ipamv1alpha1.IPClaim)
	if !ok {
		return // it is gone: no test deletes claims that it counts
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key, counts := client.ObjectKeyFromObject(claim), a.byTenant[claim.Namespace]
	waited, known := a.waiting[key]
	switch answered := claim.Status.Address != nil; {
	case !known && !answered:
		counts.Unanswered++
	case waited && answered:
		counts.Unanswered--
		counts.Answered++
	}
	counts.Most = max(counts.Most, counts.Unanswered)
	a.waiting[key], a.byTenant[claim.Namespace] = claim.Status.Address == nil, counts
}

// Of are the counts of a tenant.
func (a *Addresses) Of(tenant string) Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byTenant[tenant]
}

// AskEach makes pools, as they are once ip-address-manager has seen them, and a template that asks
// each of them.
func (t *Town) AskEach(ctx context.Context, template types.NamespacedName, pools int) error {
	entries := make([]infrav1.FromPool, pools)
	for n := range entries {
		name := fmt.Sprintf("pool-%d", n)
		entries[n] = infrav1.FromPool{Key: name, Name: name}
	}
	err := site.InParallel(ctx, 0, pools, func(ctx context.Context, n int) error {
		pool := &ipamv1alpha1.IPPool{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: template.Namespace, Name: entries[n].Name, Finalizers: []string{ipamv1alpha1.IPPoolFinalizer},
			},
			Spec: ipamv1alpha1.IPPoolSpec{NamePrefix: entries[n].Name, Prefix: 24, Pools: []ipamv1alpha1.Pool{{
				Start: ptr.To[ipamv1alpha1.IPAddressStr]("192.0.2.10"), End: ptr.To[ipamv1alpha1.IPAddressStr]("192.0.2.249"),
			}}},
		}
		if err := t.Create(ctx, pool); err != nil {
			return err
		}
		before := pool.DeepCopy()
		pool.Status.LastUpdated = ptr.To(metav1.Now())
		return t.Status().Patch(ctx, pool, client.MergeFrom(before))
	})
	return errors.Join(err, t.Create(ctx, &infrav1.Metal3DataTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: template.Name},
		Spec:       infrav1.Metal3DataTemplateSpec{MetaData: &infrav1.MetaData{IPAddressesFromPool: entries}},
	}))
}

// MachineOf makes a host and a machine for it whose data comes from a template.
func (t *Town) MachineOf(ctx context.Context, key types.NamespacedName, template string) error {
	if err := t.Host(ctx, types.NamespacedName{Namespace: Infra, Name: key.Namespace + "." + key.Name}, Only(key)); err != nil {
		return err
	}
	return t.Machine(ctx, key, func(m *infrav1.Metal3Machine) {
		m.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: Only(key)}
		m.Spec.DataTemplate = &infrav1.Metal3ObjectRef{Name: template}
	})
}

// AwaitData waits until the data of a machine is rendered, and returns how long after its
// Metal3DataClaim that was.
func (t *Town) AwaitData(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	if _, err := t.marks.Await(ctx, asking, key); err != nil {
		return 0, err
	}
	at, err := t.marks.Await(ctx, rendered, key)
	return at.Sub(t.marks.At(asking, key)), err
}
