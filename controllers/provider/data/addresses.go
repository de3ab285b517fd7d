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
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// addressSteps see to the addresses that the template asks pools for.
type addressSteps struct {
	claims addressClaims
	live   client.Reader
	clock  clock.PassiveClock
	// byHostName says that claims are named after the host.
	byHostName bool
}

// poolStep is the next step for one address.
type poolStep struct {
	ask  ippool.Ask
	step ippool.Step
	// until is when a step that was held back is looked at again, if nothing wakes it before.
	until time.Time
}

// observe finds out which addresses the template asks for, and decides what
// is next for each.
func (a addressSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	if s.complete() {
		return progress.Outcome{}
	}
	asks, err := ippool.Asks(s.template.Spec, s.facts())
	if err != nil {
		return cannotRender(err)
	}
	if len(asks) == 0 {
		return progress.Outcome{}
	}
	for _, ask := range asks {
		state, err := a.claims.observe(ctx, a.request(s), ask, s.held)
		if err != nil {
			return progress.Failed(err)
		}
		s.steps = append(s.steps, poolStep{ask: ask, step: ippool.Next(state)})
	}
	return progress.Outcome{}
}

// request says on whose behalf pools are asked.
func (a addressSteps) request(s *scope) ippool.Request {
	holder := s.data.Name
	if a.byHostName {
		holder = s.host.Name
	}
	return ippool.Request{Data: s.data, Holder: holder}
}

// ration holds back what there is no room for among the unanswered claims of the namespace.
func (a addressSteps) ration(ctx context.Context, s *scope) error {
	room, now := map[bool]int{}, a.clock.Now() // by the kind of claim
	until := now.Add(ippool.AnswerTime)
	for i, p := range s.steps {
		if !p.step.Apply {
			continue
		}
		kind := p.ask.Metal3()
		if _, counted := room[kind]; !counted {
			claims, err := unanswered(ctx, a.claims.client, s.data.Namespace, p.ask.Pool, now)
			if err != nil {
				return err
			}
			room[kind] = ippool.Room(len(claims))
			for _, claim := range claims {
				if ends := claim.GetCreationTimestamp().Add(ippool.AnswerTime); ends.Before(until) {
					until = ends
				}
			}
		}
		if room[kind]--; room[kind] < 0 {
			s.steps[i].step, s.steps[i].until = ippool.Later(p.ask), until
		}
	}
	return nil
}

// ask carries out the steps, and waits unless every pool has answered. What
// a user has to mend is named before what comes by itself.
func (a addressSteps) ask(ctx context.Context, s *scope) progress.Outcome {
	byReason := map[string]progress.Outcome{}
	failed := a.ration(ctx, s)
	if failed != nil {
		return progress.Failed(failed)
	}
	for _, p := range s.steps {
		failed = errors.Join(failed, a.carryOut(ctx, s, p))
		if p.step.Reason != "" {
			byReason[p.step.Reason] = byReason[p.step.Reason].And(progress.Until(p.until, p.step.Reason, p.step.Message))
		}
	}
	return byReason[infrav1.PoolAPIMissingReason].
		And(byReason[infrav1.PoolNotFoundReason]).
		And(byReason[infrav1.AddressUnavailableReason]).
		And(byReason[infrav1.WaitingForAddressesReason]).
		And(progress.Failed(failed))
}

func (a addressSteps) carryOut(ctx context.Context, s *scope, p poolStep) error {
	switch {
	case p.step.Apply:
		ctrl.LoggerFrom(ctx).Info("Asking pool for an address", "pool", klog.KRef(s.data.Namespace, p.ask.Name))
		return a.claims.create(ctx, a.request(s), p.ask)
	case p.step.Release:
		for _, claim := range s.held {
			if claim.asksFor(s.data.UID, p.ask) {
				return a.claims.retract(ctx, claim)
			}
		}
	}
	return nil
}

// read reads what the pools gave.
func (a addressSteps) read(ctx context.Context, s *scope) progress.Outcome {
	s.addresses = map[facts.AddressRef]facts.Address{}
	for _, p := range s.steps {
		address, err := a.claims.address(ctx, p.ask.Pool, s.data.Namespace, p.step.Read)
		if err != nil {
			return progress.FailedBecause(infrav1.WaitingForAddressesReason, fmt.Sprintf(
				"The address that %s gave cannot be read", p.ask), err)
		}
		s.addresses[p.ask.Ref()] = address
	}
	switch conditions.GetReason(s.before, infrav1.ReadyCondition) {
	case infrav1.WaitingForAddressesReason, infrav1.AddressUnavailableReason:
		ctrl.LoggerFrom(ctx).Info("Received the addresses from the pools", "addresses", len(s.addresses))
	}
	return progress.Outcome{}
}

// renew gives an address back that the template cannot use, and that no secret tells a server
// yet, once its pool may give a better one.
func (a addressSteps) renew(ctx context.Context, s *scope, unfit facts.AddressRef, problem error) progress.Outcome {
	at := slices.IndexFunc(s.steps, func(p poolStep) bool { return p.ask.Ref() == unfit })
	if at < 0 {
		return cannotRender(problem)
	}
	ask := s.steps[at].ask
	state, err := a.claims.observe(ctx, a.request(s), ask, s.held)
	if err == nil && ask.Metal3() {
		state.PoolState, err = a.claims.poolState(ctx, s.data.Namespace, ask.Pool)
	}
	if err != nil {
		return progress.Failed(err)
	}
	step := ippool.Unfit(state, problem.Error())
	if step.Release {
		for _, claim := range s.held {
			if claim.asksFor(s.data.UID, ask) {
				ctrl.LoggerFrom(ctx).Info("Giving back an address that cannot be used", "claim", klog.KObj(claim.object))
				err = errors.Join(err, a.claims.release(ctx, claim))
			}
		}
	}
	return progress.Waiting(step.Reason, step.Message).And(progress.Failed(err))
}

// observeHeld reads the claims of the Metal3Data, and gives back what an earlier one of the same
// name left.
func (a addressSteps) observeHeld(ctx context.Context, s *scope) progress.Outcome {
	key := client.ObjectKeyFromObject(s.data)
	var err error
	if s.held, err = a.claims.held(ctx, key); err != nil {
		return progress.Failed(err)
	}
	return progress.Failed(a.releaseForeign(ctx, key, s.data.UID, s.held))
}

// restore puts back what claims have lost of their owner, and the finalizer that holds them. One
// that is adopted so is seen with its owner by the next pass.
func (a addressSteps) restore(ctx context.Context, s *scope) progress.Outcome {
	var failed error
	for _, claim := range s.held {
		if !claim.of(s.data.UID) {
			continue
		}
		err := apply.Restore(ctx, a.claims.client, claim.object, []metav1.OwnerReference{ownedBy(s.data)}, infrav1.DataFinalizer)
		if err == nil && claim.owner == "" && claim.object.GetDeletionTimestamp().IsZero() {
			err = progress.ErrStale
		}
		failed = errors.Join(failed, err)
	}
	return progress.Failed(failed)
}

// releaseVanished gives back what a Metal3Data that is gone left.
func (a addressSteps) releaseVanished(ctx context.Context, key types.NamespacedName) error {
	held, err := a.claims.held(ctx, key)
	return errors.Join(err, a.releaseForeign(ctx, key, "", held))
}

// releaseForeign gives back those claims that belong to a Metal3Data of that name,
// but not of that UID. Should the API server know a newer one than the cache,
// its claims are left alone, and so are those that have lost their owner: in a restore from a
// backup they may come before it.
func (a addressSteps) releaseForeign(ctx context.Context, key types.NamespacedName, uid types.UID, held []addressClaim) error {
	var failed error
	for _, claim := range held {
		if claim.of(uid) || claim.released() {
			continue
		}
		var live infrav1.Metal3Data
		if err := a.live.Get(ctx, key, &live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read Metal3Data %s: %w", key.Name, err)
		}
		if claim.owner == live.UID {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Giving back an address that was left behind", "claim", klog.KObj(claim.object))
		failed = errors.Join(failed, a.claims.release(ctx, claim))
	}
	return failed
}

// releaseAll gives back all addresses.
func (a addressSteps) releaseAll(ctx context.Context, s *scope) progress.Outcome {
	var failed error
	for _, claim := range s.held {
		if claim.of(s.data.UID) {
			failed = errors.Join(failed, a.claims.release(ctx, claim))
		}
	}
	if failed != nil {
		return progress.FailedBecause(infrav1.DeletionFailedReason, "The addresses cannot be given back", failed)
	}
	return progress.Outcome{}
}
