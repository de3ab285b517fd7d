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
	"slices"
	"sync"
	"time"

	ipamv1alpha1 "github.com/metal3-io/ip-address-manager/api/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// What the timelines note.
const (
	// requested is a Metal3DataClaim that is about to be created, made one with a
	// Metal3Data, ready one whose Metal3Data is.
	requested site.Mark = "requested"
	made      site.Mark = "answered by a Metal3Data"
	ready     site.Mark = "ready"
	// asked is a Metal3Data with a claim on a pool, answered one whose claim has an
	// address.
	asked    site.Mark = "waiting for an address"
	answered site.Mark = "given an address"
)

// watcher notes what happens to Metal3Data and their claims on pools.
type watcher struct {
	// claims goes by Metal3DataClaim, addresses by Metal3Data.
	claims, addresses *site.Timeline

	mu sync.Mutex
	// data is the Metal3Data of a Metal3DataClaim.
	data map[types.NamespacedName]types.NamespacedName
}

func newWatcher() *watcher {
	return &watcher{
		claims: site.NewTimeline(), addresses: site.NewTimeline(),
		data: map[types.NamespacedName]types.NamespacedName{},
	}
}

func (w *watcher) watch(ctx context.Context, s *site.Site) error {
	if err := s.Follow(ctx, &infrav1.Metal3DataList{}, w.see); err != nil {
		return err
	}
	return s.Follow(ctx, &ipamv1alpha1.IPClaimList{}, w.see)
}

func (w *watcher) see(object any, now time.Time) {
	switch o := object.(type) {
	case *infrav1.Metal3Data:
		claim := types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}
		w.mu.Lock()
		w.data[claim] = client.ObjectKeyFromObject(o)
		w.mu.Unlock()
		w.claims.Note(made, claim, now)
		if conditions.IsTrue(o, infrav1.ReadyCondition) {
			w.claims.Note(ready, claim, now)
		}
	case *ipamv1alpha1.IPClaim:
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return
		}
		data := types.NamespacedName{Namespace: o.Namespace, Name: owner.Name}
		w.addresses.Note(asked, data, now)
		if o.Status.Address != nil {
			w.addresses.Note(answered, data, now)
		}
	}
}

// life is what has happened to a Metal3DataClaim, once its data is ready.
func (w *watcher) life(claim types.NamespacedName) life {
	w.mu.Lock()
	data := w.data[claim]
	w.mu.Unlock()
	return life{
		requested: w.claims.At(requested, claim), made: w.claims.At(made, claim),
		asked: w.addresses.At(asked, data), answered: w.addresses.At(answered, data),
		ready: w.claims.At(ready, claim),
	}
}

// life says when what happened to one Metal3DataClaim: it was about to be created,
// had a Metal3Data, that one had a claim on a pool, that one an address, and the
// Metal3Data was ready. All but the first are when a watch showed it.
type life struct {
	requested, made, asked, answered, ready time.Time
}

// inHand are the parts of a life in which the provider manager is to act, and the
// part in which ip-address-manager is.
func (l life) inHand() (provider [2][2]time.Time, pools [2]time.Time) {
	return [2][2]time.Time{{l.requested, l.asked}, {l.answered, l.ready}}, [2]time.Time{l.asked, l.answered}
}

// each takes one duration from every life.
func each(lives []life, from func(life) time.Duration) []time.Duration {
	out := make([]time.Duration, len(lives))
	for i, l := range lives {
		out[i] = from(l)
	}
	return out
}

// span is from the first of the times to the last of the others.
func span(lives []life, from, to func(life) time.Time) time.Duration {
	if len(lives) == 0 {
		return 0
	}
	first := slices.MinFunc(lives, func(a, b life) int { return from(a).Compare(from(b)) })
	last := slices.MaxFunc(lives, func(a, b life) int { return to(a).Compare(to(b)) })
	return to(last).Sub(from(first))
}

// poolSpan is from the first claim on a pool to the last address.
func poolSpan(lives []life) time.Duration {
	return span(lives, func(l life) time.Time { return l.asked }, func(l life) time.Time { return l.answered })
}

// allWait is for how long every Metal3DataClaim that was there and not ready waited
// for an address: time that no provider manager could have saved.
func allWait(lives []life) time.Duration {
	type change struct {
		at              time.Time
		provider, pools int
	}
	var changes []change
	for _, l := range lives {
		provider, pools := l.inHand()
		for _, part := range provider {
			changes = append(changes, change{at: part[0], provider: 1}, change{at: part[1], provider: -1})
		}
		changes = append(changes, change{at: pools[0], pools: 1}, change{at: pools[1], pools: -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
	var sum time.Duration
	provider, pools := 0, 0
	for i, c := range changes {
		if i > 0 && provider == 0 && pools > 0 {
			sum += c.at.Sub(changes[i-1].at)
		}
		provider, pools = provider+c.provider, pools+c.pools
	}
	return sum
}
