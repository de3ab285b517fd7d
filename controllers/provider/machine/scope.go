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
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// scope holds what one pass has observed of one machine.
type scope struct {
	// machine is set by load, and changed by report and the end of a deletion.
	machine *infrav1.Metal3Machine
	// before is the machine as the API server has it.
	before *infrav1.Metal3Machine
	// owner is set by load; nil means that Cluster API has not made a Machine
	// the owner yet, or that it is gone.
	owner *clusterv1.Machine
	// cluster is set by load; nil means that it is not known or gone.
	cluster *clusterv1.Cluster
	// infra is set by load; nil means that the Cluster has no infrastructure
	// of our kind, or none yet.
	infra *infrav1.Metal3Cluster
	// infraMissing is set by load: the Cluster names a Metal3Cluster that does
	// not exist.
	infraMissing bool

	// claim is set by claimClient.observe; nil means that the machine has none.
	claim *bmov1alpha1.HostClaim
	// made is set by claimClient.write where this pass has made the claim, which no cache shows yet.
	made *infrav1.Metal3ObjectRef
	// reserved is set by reservations: the claims that are reserved for the group
	// of the machine.
	reserved []bmov1alpha1.HostClaim
	// host is set by claimClient.observeHost; its zero value means that nothing is
	// published.
	host hardware.Host
	// dataClaim is set by dataSteps.observe; nil means that the machine has none.
	dataClaim *infrav1.Metal3DataClaim
	// nodeErr is set by nodeSteps.observe; nil means that the Nodes were read, or
	// that there is no connection to the workload cluster.
	nodeErr error
	// observed are the facts that the plan depends on, filled by all of them.
	observed machines.Observed
}

// planned is a scope with the plan for a machine that lives.
type planned struct {
	*scope

	plan machines.Plan
}

// releasing is a scope with the plan for a machine that is being deleted.
type releasing struct {
	*scope

	plan machines.ReleasePlan
}

// result is what a pass has decided and how it ended, for the report.
type result struct {
	// Outcome carries the waits and errors of the steps.
	progress.Outcome

	// identity is for the condition IdentityReady; nil means that no identityRef is
	// in effect.
	identity *metav1.Condition
	// plan is nil if the machine is being deleted or paused, or the pass failed before
	// the decision.
	plan *machines.Plan
	// release is the same for a machine that is being deleted.
	release *machines.ReleasePlan
	// abandoned is the record of a claim that was left behind; nil if none was.
	abandoned *identity.Record
}

// clusterKey names the Cluster of the machine.
func (s *scope) clusterKey() client.ObjectKey {
	return client.ObjectKeyFromObject(s.cluster)
}

// paused says that nothing is done for the machine but to report the pause, and to
// pause its claim with its Cluster.
func (s *scope) paused() bool {
	return conditions.IsPaused(s.machine, s.cluster)
}

// clusterPaused says that the Cluster, and not just the machine, is paused.
func (s *scope) clusterPaused() bool {
	return s.cluster != nil && ptr.Deref(s.cluster.Spec.Paused, false)
}

// deleted says that the machine is being deleted.
func (s *scope) deleted() bool {
	return !s.machine.DeletionTimestamp.IsZero()
}

// ownerless says that the machine has no Machine, or that its Machine has no Cluster.
func (s *scope) ownerless() bool {
	return s.owner == nil || s.cluster == nil
}

// infrastructureProvisioned says that servers may be asked for.
func infrastructureProvisioned(cluster *clusterv1.Cluster) bool {
	return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false)
}

// facts are the facts about the machine that need no reading.
func (s *scope) facts() machines.MachineFacts {
	facts := machines.MachineFacts{
		Owner:         s.identified(),
		ClusterName:   s.cluster.Name,
		InfraMissing:  s.infraMissing,
		Spec:          *s.machine.Spec.DeepCopy(),
		FailureDomain: s.owner.Spec.FailureDomain,
		ClusterReady:  infrastructureProvisioned(s.cluster),
		CloudProvider: s.infra != nil && ptr.Deref(s.infra.Spec.CloudProviderEnabled, false),
		Provisioned:   ptr.Deref(s.machine.Status.Initialization.Provisioned, false),
		NodeName:      s.machine.Status.NodeName,

		PullSecret:        s.machine.Annotations[infrav1.PullSecretAnnotation],
		Rebuild:           s.machine.Annotations[infrav1.RebuildAnnotation],
		Rebuilt:           s.machine.Annotations[infrav1.RebuiltAnnotation],
		OwnerRebuild:      s.owner.Annotations[infrav1.RebuildAnnotation],
		ControlPlane:      util.IsControlPlaneMachine(s.owner),
		SoftFailureDomain: s.machine.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
	if s.infra != nil {
		var err error
		if facts.LabelPrefixes, err = nodes.LabelPrefixes(s.infra.Annotations[infrav1.LabelSyncPrefixesAnnotation]); err != nil {
			facts.LabelPrefixesInvalid = err.Error()
		}
	}
	return facts
}

// identified is the machine as the owner of a claim.
func (s *scope) identified() claims.Owner {
	return claimreader.OwnerOf(s.machine)
}
