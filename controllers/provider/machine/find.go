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
	"cmp"
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// finder finds the claim of a machine, whatever its name.
type finder struct{ *claimClient }

// find reads the claim from the cache, and past it where the machine would be let go, or
// would seem to have lost its claim, on the strength of a cache that does not show it.
// The machine and another cluster are seen through two caches: a claim may seem to be a
// rival's that was only just taken over, and one that has lost its label is in no cache.
func (c finder) find(ctx context.Context, s *scope) (claim *bmov1alpha1.HostClaim, takenOver bool, err error) {
	claim, found, err := c.site.ClaimOf(ctx, s.machine)
	confirm := s.deleted() || (c.remote() && c.recorded)
	if err != nil || found || s.paused() || !confirm {
		return claim, false, err
	}
	claim, rival, err := c.findLive(ctx, s.machine)
	return claim, rival && claim == nil, err
}

// findLive looks past the cache for the claim of the machine: by its name, and by the one
// that the status reports, which an adopted claim has. Rival says that a copy of the machine
// has taken it over.
func (c finder) findLive(ctx context.Context, machine *infrav1.Metal3Machine) (held *bmov1alpha1.HostClaim, rival bool, err error) {
	if !c.remote() {
		held, err = c.findLocal(ctx, machine)
		return held, false, err
	}
	var list bmov1alpha1.HostClaimList
	origin := c.site.Record.Origin
	err = c.reader.List(ctx, &list, client.InNamespace(c.site.Namespace), client.MatchingLabels{infrav1.OriginKey: origin})
	if err != nil {
		return nil, false, fmt.Errorf("list HostClaims of origin %s: %w", origin, err)
	}
	if held, rival = claimreader.Choose(list.Items, machine, *c.site.Record); held != nil || rival {
		return held, rival, nil
	}
	// One that has lost its label, or has not got it yet, still names the machine.
	name := cmp.Or(c.site.Record.Claim, claims.RemoteName(machine.Name, origin))
	claim, found, err := readLive(ctx, c.reader, c.site.Namespace, name)
	if err != nil || !found || claims.ConsumerUID(claim) != machine.UID {
		return nil, false, err
	}
	return claim, false, nil
}

// findLocal is findLive in the namespace of the machine.
func (c finder) findLocal(ctx context.Context, machine *infrav1.Metal3Machine) (*bmov1alpha1.HostClaim, error) {
	owner, names := claimreader.OwnerOf(machine), []string{claims.Name(machine.Name)}
	if ref := machine.Status.HostClaim; ref != nil && ref.Name != names[0] {
		names = append(names, ref.Name)
	}
	for _, name := range names {
		claim, found, err := readLive(ctx, c.reader, c.site.Namespace, name)
		if err != nil || (found && claims.BelongsTo(claim, owner)) {
			return claim, err
		}
	}
	if machine.Status.HostClaim != nil {
		return nil, nil //nolint:nilnil // there is none
	}
	// A move loses the status, which would name a claim that was adopted.
	return c.findOfCluster(ctx, owner, machine.Labels[clusterv1.ClusterNameLabel])
}

// findOfCluster looks past the cache through the claims of a Cluster.
func (c finder) findOfCluster(ctx context.Context, owner claims.Owner, cluster string) (*bmov1alpha1.HostClaim, error) {
	var list bmov1alpha1.HostClaimList
	err := c.reader.List(ctx, &list, client.InNamespace(c.site.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	if err != nil {
		return nil, fmt.Errorf("list the HostClaims of Cluster %s: %w", cluster, err)
	}
	for i := range list.Items {
		if claims.BelongsTo(&list.Items[i], owner) {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// readLive reads a claim past the cache.
func readLive(ctx context.Context, reader client.Reader, namespace, name string) (*bmov1alpha1.HostClaim, bool, error) {
	claim := &bmov1alpha1.HostClaim{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := reader.Get(ctx, key, claim); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("read HostClaim %s: %w", key, err)
	}
	return claim, true, nil
}
