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
	"errors"

	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	workload "github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/nodes"
)

// nodeSteps find the Node of a machine, and write what it lacks.
type nodeSteps struct {
	nodes      Nodes
	controller clustercache.SourceWatcher[ctrl.Request]
	mapNode    workload.MapFunc
}

// observe looks for the Node of a machine whose server runs. A workload
// cluster that cannot be reached is a fact: its connection wakes us.
func (n nodeSteps) observe(ctx context.Context, s *scope) progress.Outcome {
	query := s.nodeQuery()
	if query.ProviderID == "" {
		return progress.Outcome{}
	}
	candidates, err := n.candidates(ctx, s, query)
	switch {
	case err == nil:
		s.observed.Node = nodes.Match(query, candidates)
	case !errors.Is(err, workload.ErrNotConnected):
		// Trouble in the workload cluster must not keep us from reporting what
		// is known of the server: apply fails with it.
		s.nodeErr = err
	}
	return progress.Outcome{}
}

// candidates watches the Nodes, then reads them.
func (n nodeSteps) candidates(ctx context.Context, s *scope, query nodes.Query) ([]nodes.Node, error) {
	if err := n.nodes.Watch(ctx, s.clusterKey(), n.controller, n.mapNode); err != nil {
		return nil, err
	}
	return n.nodes.Candidates(ctx, s.clusterKey(), query)
}

// nodeQuery says what is known about the Node. Its provider ID is empty while
// there is no point in looking.
func (s *scope) nodeQuery() nodes.Query {
	q := nodes.Query{ProviderID: s.machine.Spec.ProviderID, HostUID: s.host.UID}
	if q.ProviderID == "" && s.observed.Claim.Phase == claims.Provisioned {
		q.ProviderID = nodes.ProviderID{
			Namespace: s.machine.Namespace,
			Host:      s.observed.Claim.HostName,
			Machine:   s.machine.Name,
		}.String()
	}
	// A bootstrap provider gives the Node its provider ID or the label with the
	// UID of the host. Without one, the host name is all there may be.
	if !s.owner.Spec.Bootstrap.ConfigRef.IsDefined() {
		for _, address := range s.machine.Status.Addresses {
			if address.Type == clusterv1.MachineHostName || address.Type == clusterv1.MachineInternalDNS {
				q.Hostnames = append(q.Hostnames, address.Address)
			}
		}
	}
	return q
}

// apply writes what the Node lacks.
func (n nodeSteps) apply(ctx context.Context, p *planned) progress.Outcome {
	if p.nodeErr != nil {
		message := "The Nodes of the workload cluster cannot be read"
		var refused *identity.Problem // in words of ours
		if errors.As(p.nodeErr, &refused) {
			message += ": " + refused.Message
		}
		return failed(infrav1.KubernetesNodeReadyCondition, infrav1.WorkloadClusterUnreachableReason, message, p.nodeErr)
	}
	patch := p.plan.NodePatch
	if patch == nil {
		return progress.Outcome{}
	}
	ctrl.LoggerFrom(ctx).Info("Patching Node", "Node", klog.KRef("", patch.Node), "providerID", patch.ProviderID)
	err := n.nodes.Patch(ctx, p.clusterKey(), *patch)
	if err == nil || errors.Is(err, workload.ErrNotConnected) {
		return progress.Outcome{}
	}
	out := progress.Outcome{}
	if patch.Labels != nil {
		out = failed(infrav1.NodeLabelsSynchronizedCondition, infrav1.WaitingForNodeReason, "The labels of the server cannot be written to the Node", err)
	}
	if patch.ProviderID != "" || patch.HostUID != "" {
		out = out.And(failed(infrav1.KubernetesNodeReadyCondition, infrav1.WaitingForNodeReason, "The Node cannot be given its provider ID", err))
	}
	return out
}
