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

package machine

import (
	"context"
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/apply"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// keepRecord sees to it that the machine says where its claim is before the claim
// exists, and under which UID it took it over afterwards. It is done when nothing
// had to be written; else the pass ends, and the machine's own event begins the
// next one.
func (c connector) keepRecord(ctx context.Context, s *scope) (done bool, out progress.Outcome) {
	record := s.site.claims.Record
	switch {
	case record == nil:
		return true, progress.Outcome{}
	case s.claim != nil && claims.ConsumerUID(s.claim) != s.machine.UID:
		return true, progress.Outcome{} // the claim is taken over first
	case s.site.recorded && record.UID == s.machine.UID:
		return true, progress.Outcome{}
	}
	if !s.site.recorded {
		if err := c.confirmUnsettled(ctx, s); err != nil {
			return false, s.claimProblem(err)
		}
	}
	renewed := *record
	renewed.UID = s.machine.UID
	if err := c.writeRecord(ctx, s, renewed); err != nil {
		return false, s.claimProblem(err)
	}
	return false, progress.Outcome{}
}

// confirmUnsettled makes sure that the machine has no claim in its own namespace
// that the cache does not show yet.
func (c connector) confirmUnsettled(ctx context.Context, s *scope) error {
	if !c.local.Started() {
		return nil
	}
	here := &site{claims: c.claims.Own(s.machine), live: c.live}
	claim, found, err := here.readLive(ctx, claims.Name(s.machine.Name))
	if err == nil && found && claims.BelongsTo(claim, s.identified()) {
		return progress.ErrStale
	}
	return err
}

// writeRecord puts the record on the machine. It is written on its own, and only
// if nobody has written the machine since it was read: a machine that is being
// deleted must not be let go by a pass which has not seen the record.
func (c connector) writeRecord(ctx context.Context, s *scope, record identity.Record) error {
	before := s.machine.DeepCopy()
	before.ResourceVersion = s.before.ResourceVersion
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	maps.Copy(after.Annotations, record.Annotations())
	ctrl.LoggerFrom(ctx).Info("Recording where the HostClaim is", "server", record.Server, "namespace", record.Namespace)
	err := c.client.Patch(ctx, after, apply.Locked(before))
	if err != nil {
		return fmt.Errorf("record the identity: %w", err)
	}
	// The patches at the end of the pass must not be refused because of this write.
	for _, m := range []*infrav1.Metal3Machine{s.before, s.machine} {
		m.Annotations, m.ResourceVersion = maps.Clone(after.Annotations), after.ResourceVersion
	}
	return nil
}

// readLive reads a claim of the site past the cache.
func (s *site) readLive(ctx context.Context, name string) (*bmov1alpha1.HostClaim, bool, error) {
	claim := &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: s.claims.Namespace, Name: name}
	if err := s.live.Get(ctx, key, claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return claim, true, nil
}

// findLive looks past the cache for the claim of the machine. Rival says that a
// copy of the machine has taken it over.
func (s *site) findLive(ctx context.Context, machine *infrav1.Metal3Machine) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	owner := claimreader.OwnerOf(machine)
	if !s.elsewhere() {
		claim, found, err := s.readLive(ctx, claims.Name(machine.Name))
		if err != nil || !found || !claims.BelongsTo(claim, owner) {
			return nil, false, err
		}
		return claim, false, nil
	}
	var list bmov1alpha1.HostClaimList
	origin := s.claims.Record.Origin
	err = s.live.List(ctx, &list, client.InNamespace(s.claims.Namespace), client.MatchingLabels{infrav1.OriginKey: origin})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of origin %s: %w", origin, err)
	}
	if held, rival = claimreader.Choose(list.Items, machine, *s.claims.Record); held != nil || rival {
		return held, rival, nil
	}
	// One that has lost its label still names the machine.
	claim, found, err := s.readLive(ctx, claims.NameElsewhere(machine.Name, origin))
	if err != nil || !found || claims.ConsumerUID(claim) != machine.UID {
		return nil, false, err
	}
	return claim, false, nil
}
