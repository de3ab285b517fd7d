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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/datatemplate"
)

// release brings a machine that is being deleted a step closer to its end: first its
// server, then its data, then its finalizer go.
func (r *Reconciler) release(ctx context.Context, s *scope, c connection) result {
	data := r.dataSteps()
	var (
		observe []progress.Step[*scope]
		act     []progress.Step[*releasing]
		res     result
	)
	switch {
	case c.claim != nil:
		observe, act = append(observe, c.claim.observe, c.claim.pause, reservations{c.claim}.observeLeaving), append(act, c.claim.release)
	case c.unserved:
	case s.abandoning() && c.problem.Reason != infrav1.IdentityConnectingReason:
		res.abandoned = abandon(ctx, s)
	default:
		res.Outcome = holdRemoteClaim(*c.problem)
		return res
	}
	res.Outcome = progress.Run(ctx, s, progress.UntilError, append(observe, data.observe, data.confirmNoClaim)...)
	if res.Err() != nil {
		return res
	}
	p := &releasing{scope: s, plan: machines.Release(s.observed)}
	res.Outcome = res.And(progress.Run(ctx, p, progress.UntilError, append(act, data.release, dropFinalizer)...))
	res.release = &p.plan
	return res
}

// confirmNoClaim makes sure that a Metal3DataClaim which the cache does not show does not
// exist either, before the machine is let go: it would keep our finalizer for ever.
func (d dataSteps) confirmNoClaim(ctx context.Context, s *scope) progress.Outcome {
	if s.claim != nil || s.dataClaim != nil {
		return progress.Outcome{}
	}
	claim, found, err := readDataClaim(ctx, d.live, s.machine)
	if err != nil {
		return failed(infrav1.AssociateMetal3MachineMetaDataCondition, infrav1.DisassociateM3MetaDataFailedReason,
			"The Metal3DataClaim of the machine cannot be read", err)
	}
	if found && datatemplate.MadeBy(claim, s.machine) {
		s.dataClaim = claim
		s.observed.Data = dataFacts(claim, infrav1.Metal3Data{})
	}
	return progress.Outcome{}
}

// holdRemoteClaim says that the machine stays because its claim in another cluster
// cannot be released now, and what its owner can do about it.
func holdRemoteClaim(p identity.Problem) progress.Outcome {
	if p.Reason == infrav1.IdentityConnectingReason {
		return progress.Outcome{} // connect has said so
	}
	return waiting(infrav1.HostClaimReadyCondition, infrav1.DeletionFailedReason,
		"The HostClaim in another cluster cannot be released: "+p.Message+
			". To let the machine go without it, and leave claim and server behind, set annotation "+
			infrav1.AbandonClaimAnnotation+" to \"true\"")
}

// abandon lets the machine go without its claim in another cluster, as its owner wants
// it, and returns the record of that claim.
func abandon(ctx context.Context, s *scope) *identity.Record {
	record, _, _ := identity.Read(s.identified(), s.machine.Annotations)
	ctrl.LoggerFrom(ctx).Info("Abandoning the HostClaim", "server", record.Server, "namespace", record.Namespace,
		"HostClaim", claims.RemoteName(s.machine.Name, record.Origin))
	return &record
}

// abandoning says that the owner of the machine has given its claim up.
func (s *scope) abandoning() bool {
	return s.machine.Annotations[infrav1.AbandonClaimAnnotation] == "true"
}

// dropFinalizer lets the machine go; the patch at the end of the pass writes it.
func dropFinalizer(_ context.Context, r *releasing) progress.Outcome {
	if r.plan.Done {
		controllerutil.RemoveFinalizer(r.machine, infrav1.MachineFinalizer)
	}
	return progress.Outcome{}
}
