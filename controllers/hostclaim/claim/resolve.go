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
	"errors"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// resolve finds out how the claim is bound, and drops an intent that did not lead to a bind.
// Recorded is what this pass already knows of the host in the status.
func (r *Reconciler) resolve(ctx context.Context, s *scope, recorded binding.RecordedHost) error {
	s.known = binding.Binding{
		Deleting: deleting(s.claim), Reserved: reservation.Holds(s.claim),
		Own: s.host != nil, Record: binding.RecordOf(s.claim), Recorded: recorded, Moved: len(s.adoptable()) > 0,
	}
	last, found := binding.LastIntent(s.claim)
	s.known.Unresolved = found && !binding.StatusNames(s.claim, last.Host) && (s.host == nil || !last.IsFor(s.host))
	s.known.NoHostNamesIt = !deleting(s.claim) && binding.New(s.claim) // the locked intent proves it
	if err := r.walk(ctx, s); err != nil || s.host == nil || s.known.Record != binding.Intended {
		return err
	}
	if err := r.current(ctx, s.claim); err != nil {
		s.step = "" // not known
		return err
	}
	return nil
}

// current makes sure that the claim is the newest version. A host that names the claim is believed for an
// intent. The cache may show one that was dropped, and an administrator may have named the claim since.
func (r *Reconciler) current(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	now, err := r.readLive(ctx, claim)
	if err != nil {
		return err
	}
	if now.ResourceVersion != claim.ResourceVersion {
		return patch.Conflict("the claim is not as the cache shows it")
	}
	return nil
}

// errTooManySteps guards against a binding that never settles; binding.Next adds
// a fact with each step, so it cannot happen.
var errTooManySteps = errors.New("the binding of the claim does not settle")

// walk reads live and fences hosts until binding.Next asks for no more of that. If a request fails,
// the step that was known before stays.
func (r *Reconciler) walk(ctx context.Context, s *scope) error {
	var recorded *bmov1alpha1.BareMetalHost
	for range binding.MaxSteps {
		var err error
		switch step := binding.Next(s.known); step {
		case binding.ReadRecorded:
			recorded, err = r.readRecorded(ctx, s)
		case binding.ListOwn:
			err = r.listOwn(ctx, s)
		case binding.Fence:
			err = r.fence(ctx, s.claim, recorded)
			s.known.Recorded = binding.Fenced
		case binding.FenceUnresolved:
			err = r.fenceUnresolved(ctx, s)
		case binding.DropIntent:
			err = r.dropIntent(ctx, s.claim)
			s.known.Record = binding.RecordOf(s.claim)
		default:
			s.step = step
			if step != binding.Choose && step != binding.Take {
				r.Pool.Leave(keyOf(s.claim))
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errTooManySteps
}

// pageSize bounds the answers of a live list.
const pageSize = 500

// readRecorded reads the host that the claim's status names; it is empty if the host is gone.
func (r *Reconciler) readRecorded(ctx context.Context, s *scope) (*bmov1alpha1.BareMetalHost, error) {
	claim := s.claim
	ref, host := claim.Status.BareMetalHost, &bmov1alpha1.BareMetalHost{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, host)
	switch {
	case apierrors.IsNotFound(err):
		s.known.Recorded = binding.Gone
	case err != nil:
		return nil, fmt.Errorf("read the recorded host: %w", err)
	case binding.Has(claim, host):
		s.known.Own, s.host = true, host
	case host.Spec.ConsumerRef != nil && !binding.Moved(host, claim) && !binding.OfMachine(host):
		s.known.Recorded = binding.Taken
	default:
		s.known.Recorded = binding.Idle
	}
	return host, nil
}

// listOwn looks for the claim's host by a paged live list, narrowed by the label that a bind
// gives it.
func (r *Reconciler) listOwn(ctx context.Context, s *scope) error {
	hosts := &bmov1alpha1.BareMetalHostList{}
	options := []client.ListOption{
		client.MatchingLabels{infrav1.ClaimUIDLabel: string(s.claim.UID)}, client.Limit(pageSize),
	}
	for more := true; more; more = hosts.Continue != "" {
		if err := r.Live.List(ctx, hosts, append(options, client.Continue(hosts.Continue))...); err != nil {
			return fmt.Errorf("list hosts that name the claim: %w", err)
		}
		for i := range hosts.Items {
			if host := &hosts.Items[i]; binding.Has(s.claim, host) {
				s.known.Own, s.host = true, host.DeepCopy()
			}
		}
	}
	s.known.NoHostNamesIt = !s.known.Own
	return nil
}

// readLive reads the claim from the API server; empty, without a UID, if it has gone.
func (r *Reconciler) readLive(ctx context.Context, claim *bmov1alpha1.HostClaim) (*bmov1alpha1.HostClaim, error) {
	now := &bmov1alpha1.HostClaim{}
	if err := r.Live.Get(ctx, keyOf(claim), now); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the claim as it is now: %w", err)
	}
	return now, nil
}

// fence makes every write fail that acts on the claim's intent: it writes to the host, and
// leaves nothing on it. Taking off the fence that an earlier pass left is a write; else there
// are two.
func (r *Reconciler) fence(ctx context.Context, claim *bmov1alpha1.HostClaim, host *bmov1alpha1.BareMetalHost) error {
	if !binding.HasFence(host, claim) {
		before := host
		host = binding.FencedHost(host, claim)
		if err := r.Client.Patch(ctx, host, patch.Locked(before)); err != nil {
			return fmt.Errorf("fence the intended host: %w", err)
		}
	}
	if err := r.Client.Patch(ctx, binding.Unfenced(host), patch.Locked(host)); err != nil {
		return fmt.Errorf("take the fence off the intended host: %w", err)
	}
	return nil
}

// fenceUnresolved fences the host of an intent that only the annotation records, unless the host has
// changed since, and takes off a fence that an earlier pass has left there.
func (r *Reconciler) fenceUnresolved(ctx context.Context, s *scope) error {
	claim := s.claim
	last, _ := binding.LastIntent(claim)
	host := &bmov1alpha1.BareMetalHost{}
	err := r.Live.Get(ctx, last.Host, host)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read the host that annotation %s names: %w", infrav1.IntendedHostAnnotation, err)
	case binding.Has(claim, host):
		s.known.Own, s.host = true, host
	case last.Open(host), binding.HasFence(host, claim):
		if err := r.fence(ctx, claim, host); err != nil {
			return err
		}
	}
	s.known.Unresolved = false
	return nil
}

// dropIntent takes a dead intent out of the status.
func (r *Reconciler) dropIntent(ctx context.Context, claim *bmov1alpha1.HostClaim) error {
	return r.writeStatus(ctx, claim, binding.WithoutIntentStatus(claim, r.Clock.Now()), "drop the intent")
}

// writeStatus writes the status of the claim, locked on the version that was read.
func (r *Reconciler) writeStatus(ctx context.Context, claim, desired *bmov1alpha1.HostClaim, what string) error {
	if err := r.Client.Status().Patch(ctx, desired, patch.Locked(claim)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	*claim = *desired
	return nil
}
