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

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// record makes the machine name the cluster of its claim before the claim exists, and
// the UID under which it took the claim over afterwards. Written says that the machine
// was changed, and that the claim must wait for the next pass.
func (c *claimClient) record(ctx context.Context, s *scope) (written bool, err error) {
	record := c.site.Record
	switch {
	case record == nil:
		return false, nil
	case s.claim != nil && claims.ConsumerUID(s.claim) != s.machine.UID:
		return false, nil // the claim is taken over first
	case c.recorded && record.UID == s.machine.UID:
		return false, nil
	}
	if !c.recorded {
		if err := c.confirmUnsettled(ctx, s); err != nil {
			return false, err
		}
	}
	renewed := *record
	renewed.UID = s.machine.UID
	return true, c.writeRecord(ctx, s, renewed)
}

// confirmUnsettled makes sure that the machine has no claim in its own namespace
// that the cache does not show yet.
func (c *claimClient) confirmUnsettled(ctx context.Context, s *scope) error {
	if !c.local.Started() {
		return nil
	}
	claim, found, err := readLive(ctx, c.live, s.machine.Namespace, claims.Name(s.machine.Name))
	if err == nil && found && claims.BelongsTo(claim, s.identified()) {
		return progress.ErrStale
	}
	return err
}

// writeRecord puts the record on the machine. It is written on its own, and only
// if the machine has not changed since it was read: a machine that is being
// deleted must not be let go by a pass which has not seen the record.
func (c *claimClient) writeRecord(ctx context.Context, s *scope, record identity.Record) error {
	ctrl.LoggerFrom(ctx).Info("Recording where the HostClaim is", "server", record.Server, "namespace", record.Namespace)
	return c.annotate(ctx, s, func(annotations map[string]string) { maps.Copy(annotations, record.Annotations()) })
}

// annotate changes the annotations of the machine in a locked write of its own.
func (c *claimClient) annotate(ctx context.Context, s *scope, change func(annotations map[string]string)) error {
	before := s.machine.DeepCopy()
	before.ResourceVersion = s.before.ResourceVersion
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	change(after.Annotations)
	err := c.client.Patch(ctx, after, patch.Locked(before))
	if err != nil {
		return fmt.Errorf("record the identity: %w", err)
	}
	// The patches at the end of the pass must not be refused because of this write.
	for _, m := range []*infrav1.Metal3Machine{s.before, s.machine} {
		m.Annotations, m.ResourceVersion = maps.Clone(after.Annotations), after.ResourceVersion
	}
	return nil
}
