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

	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/ippool"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// observePools finds out which addresses the template asks for, and decides what
// is next for each.
func (r *Reconciler) observePools(ctx context.Context, s *scope) progress.Outcome {
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
	if s.held, err = r.addresses.Held(ctx, client.ObjectKeyFromObject(s.data)); err != nil {
		return progress.Failed(err)
	}
	for _, ask := range asks {
		state, err := r.addresses.Observe(ctx, r.request(s), ask, s.held)
		if err != nil {
			return progress.Failed(err)
		}
		s.steps = append(s.steps, poolStep{ask: ask, step: ippool.Next(state)})
	}
	return progress.Outcome{}
}

// request says on whose behalf pools are asked.
func (r *Reconciler) request(s *scope) ippool.Request {
	holder := s.data.Name
	if r.ClaimsByHostName {
		holder = s.host.Name
	}
	return ippool.Request{Data: s.data, Holder: holder}
}

// askPools carries out the steps, and waits unless every pool has answered. What
// a user has to mend is named before what comes by itself.
func (r *Reconciler) askPools(ctx context.Context, s *scope) progress.Outcome {
	byReason := map[string]progress.Outcome{}
	var failed error
	for _, p := range s.steps {
		failed = errors.Join(failed, r.carryOut(ctx, s, p))
		if p.step.Reason != "" {
			byReason[p.step.Reason] = byReason[p.step.Reason].And(progress.Waiting(p.step.Reason, p.step.Message))
		}
	}
	return byReason[infrav1.PoolAPIMissingReason].
		And(byReason[infrav1.PoolNotFoundReason]).
		And(byReason[infrav1.WaitingForAddressesReason]).
		And(progress.Failed(failed))
}

func (r *Reconciler) carryOut(ctx context.Context, s *scope, p poolStep) error {
	switch {
	case p.step.Apply:
		ctrl.LoggerFrom(ctx).Info("Asking pool for an address", "pool", klog.KRef(s.data.Namespace, p.ask.Name))
		return r.addresses.Create(ctx, r.request(s), p.ask)
	case p.step.Release:
		for _, claim := range s.held {
			if claim.For(s.data.UID, p.ask) {
				return r.addresses.Retract(ctx, claim)
			}
		}
	}
	return nil
}

// readAddresses reads what the pools gave.
func (r *Reconciler) readAddresses(ctx context.Context, s *scope) progress.Outcome {
	s.addresses = map[facts.AddressRef]facts.Address{}
	for _, p := range s.steps {
		address, err := r.addresses.Address(ctx, p.ask.Pool, s.data.Namespace, p.step.Read)
		if err != nil {
			return progress.FailedBecause(infrav1.WaitingForAddressesReason, fmt.Sprintf(
				"The address that %s gave cannot be read", p.ask), err)
		}
		s.addresses[p.ask.Ref()] = address
	}
	if conditions.GetReason(s.before, infrav1.ReadyCondition) == infrav1.WaitingForAddressesReason {
		ctrl.LoggerFrom(ctx).Info("Received the addresses from the pools", "addresses", len(s.addresses))
	}
	return progress.Outcome{}
}

// cannotRender waits for what is wrong with template, machine, host or pool to
// be mended; each of them is watched.
func cannotRender(err error) progress.Outcome {
	if facts.IsInterfaceNotFound(err) {
		return progress.Waiting(infrav1.InterfaceNotFoundReason, err.Error())
	}
	return progress.Waiting(infrav1.RenderingFailedReason, err.Error())
}
