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

	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// confirmRebuild asks the API server, before the write that has a server wiped, whether Machine
// and Metal3Machine say what that was decided on. Their caches are apart: the text of a template
// may be seen on the Metal3Machine and not on the Machine yet, where Cluster API writes it first.
func (c *claimClient) confirmRebuild(ctx context.Context, s *scope, wanted claims.Wanted) error {
	if current := s.observed.Claim; current.Deployment == nil || wanted.Rebuild == "" || wanted.Rebuild == current.Rebuild {
		return nil
	}
	machine, owner := &infrav1.Metal3Machine{}, &clusterv1.Machine{}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.machine), machine); err != nil {
		return fmt.Errorf("read Metal3Machine before its server is wiped: %w", err)
	}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.owner), owner); err != nil {
		return fmt.Errorf("read Machine before its server is wiped: %w", err)
	}
	unchanged := equality.Semantic.DeepEqual(machine.Spec, s.before.Spec) && machine.DeletionTimestamp.IsZero()
	for _, key := range []string{infrav1.RebuildAnnotation, infrav1.RebuiltAnnotation} {
		unchanged = unchanged && machine.Annotations[key] == s.before.Annotations[key] && owner.Annotations[key] == s.owner.Annotations[key]
	}
	if !unchanged {
		return fmt.Errorf("the rebuild was decided on what is no more: %w", progress.ErrStale)
	}
	return nil
}
