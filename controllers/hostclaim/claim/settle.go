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

package claim

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
)

// settle finds out where the claim stands with its host, and kills an intent
// that did not come to a bind. Recorded is what this pass knows of the host in the status
// already.
func (r *binder) settle(ctx context.Context, s *scope, recorded binding.RecordedHost) (standing, error) {
	at := standing{host: s.host}
	at.known = binding.Binding{
		Deleting: deleting(s.claim), Reserved: reservation.Holds(s.claim),
		Own: s.host != nil, Record: binding.RecordOf(s.claim), Recorded: recorded, Moved: len(s.adoptable()) > 0,
	}
	last, found := binding.LastIntent(s.claim)
	at.known.Unresolved = found && !binding.StatusNames(s.claim, last.Host) && (s.host == nil || !last.IsFor(s.host))
	at.known.NoHostNamesIt = !deleting(s.claim) && binding.New(s.claim) // the locked intent proves it
	return r.walk(ctx, s.claim, at)
}

// walk goes from step to step until no step of the binding is left. If one fails,
// the step that was known before stays.
func (r *binder) walk(ctx context.Context, claim *bmov1alpha1.HostClaim, at standing) (standing, error) {
	var recorded *bmov1alpha1.BareMetalHost
	for range binding.MaxSteps {
		var err error
		switch step := binding.Next(at.known); step {
		case binding.ReadRecorded:
			recorded, err = r.readRecorded(ctx, claim, &at)
		case binding.ListOwn:
			err = r.listOwn(ctx, claim, &at)
		case binding.Fence:
			err = r.fence(ctx, claim, recorded)
			at.known.Recorded = binding.Fenced
		case binding.FenceUnresolved:
			err = r.fenceUnresolved(ctx, claim, &at)
		case binding.DropIntent:
			err = r.dropIntent(ctx, claim)
			at.known.Record = binding.RecordOf(claim)
		default:
			at.step = step
			if step != binding.Choose && step != binding.Take {
				r.pool.Leave(keyOf(claim))
			}
			return at, nil
		}
		if err != nil {
			return at, err
		}
	}
	return at, errTooManySteps
}

// fence makes every writer lose that acts on the claim's intent: it writes to
// the host, and nothing of ours stays on it. Taking off the fence that an earlier pass
// left is a write; else there are two.
func (r *binder) fence(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if !binding.HasFence(host, claim) {
		before := host
		host = binding.FencedHost(host, claim)
		if err := r.client.Patch(ctx, host, apply.Locked(before)); err != nil {
			return fmt.Errorf("fence the intended host: %w", err)
		}
	}
	if err := r.client.Patch(ctx, binding.Unfenced(host), apply.Locked(host)); err != nil {
		return fmt.Errorf("take the fence off the intended host: %w", err)
	}
	return nil
}

// fenceUnresolved fences the host of an intent of which only the annotation tells, unless the host has
// changed since, and takes off a fence that an earlier pass has left there.
func (r *binder) fenceUnresolved(ctx context.Context, claim *bmov1alpha1.HostClaim, at *standing) error {
	last, _ := binding.LastIntent(claim)
	host := &bmov1alpha1.BareMetalHost{}
	err := r.live.Get(ctx, last.Host, host)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read the host that annotation %s names: %w", infrav1.IntendedHostAnnotation, err)
	case binding.Has(claim, host):
		at.known.Own, at.host = true, host
	case last.Open(host), binding.HasFence(host, claim):
		if err := r.fence(ctx, claim, host); err != nil {
			return err
		}
	}
	at.known.Unresolved = false
	return nil
}

// recordIntent writes the host that is about to be bound into the status, with
// the claim's resourceVersion: a pass that decided on an older claim fails.
func (r *binder) recordIntent(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if err := r.writeStatus(ctx, claim, binding.WithIntentStatus(claim, host, r.clock.Now())); err != nil {
		return fmt.Errorf("record the intent: %w", err)
	}
	return nil
}

// dropIntent takes a dead intent out of the status.
func (r *binder) dropIntent(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	if err := r.writeStatus(ctx, claim, binding.WithoutIntentStatus(claim, r.clock.Now())); err != nil {
		return fmt.Errorf("drop the intent: %w", err)
	}
	return nil
}

// writeStatus writes the status of the claim, locked on the version that was read.
func (r *binder) writeStatus(ctx context.Context, claim, desired *bmov1alpha1.HostClaim) error {
	if err := r.client.Status().Patch(ctx, desired, apply.Locked(claim)); err != nil {
		return err //nolint:wrapcheck // the callers say what for
	}
	*claim = *desired
	return nil
}
