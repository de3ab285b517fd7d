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
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/hostview"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/machines"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// scope holds what one pass knows about one machine. It holds facts only.
type scope struct {
	// machine is set by load, and changed by report and the end of a deletion.
	machine *infrav1.Metal3Machine
	// paused is set at the start of the pass: but for the pause of the claim,
	// nothing is done for the machine.
	paused bool
	// before is the machine as it was when the phases began.
	before *infrav1.Metal3Machine
	// owner is set by load; nil means that Cluster API has not made a Machine
	// the owner yet, or that it is gone.
	owner *clusterv1.Machine
	// cluster is set by load; nil means that it is not known or gone.
	cluster *clusterv1.Cluster
	// infraMissing is set by load: the Cluster names a Metal3Cluster that does
	// not exist.
	infraMissing bool
	// infra is set by load; nil means that the Cluster has no infrastructure
	// of our kind, or none yet.
	infra *infrav1.Metal3Cluster

	// site is set by connect; nil means that the claim cannot be reached now, or
	// that there can be none.
	site *site
	// claimless is set by connect: this cluster serves no claims, and the machine
	// has none elsewhere.
	claimless bool
	// unreachable is set by connect; nil means that nothing is known against the
	// cluster of the claim.
	unreachable *identity.Problem
	// identity is set by connect, for the condition IdentityReady; nil means that
	// no identityRef is in effect.
	identity *metav1.Condition
	// abandoned is set by abandonClaim; nil means that no claim was left behind.
	abandoned *identity.Record
	// claim is set by observeClaim; nil means that the machine has none.
	claim *bmov1alpha1.HostClaim
	// host is set by observeHost; its zero value means that nothing is published.
	host hostview.Host
	// dataClaim is set by observeData; nil means that the machine has none.
	dataClaim *infrav1.Metal3DataClaim
	// nodeErr is set by observeNode; nil means that the Nodes were read, or that
	// there is no connection.
	nodeErr error
	// observed is filled by the observing phases.
	observed machines.Observed

	// plan is set by decide; nil means that it did not come to that.
	plan *machines.Plan
	// release is set by decideRelease; nil means that it did not come to that.
	release *machines.ReleasePlan
	// problems are added by phases that failed, for the conditions.
	problems []machines.Wait
}

// clusterKey names the Cluster of the machine.
func (s *scope) clusterKey() client.ObjectKey {
	return client.ObjectKeyFromObject(s.cluster)
}

// clusterPaused says whether the Cluster, not just the machine, is paused.
func (s *scope) clusterPaused() bool {
	return s.cluster != nil && ptr.Deref(s.cluster.Spec.Paused, false)
}

// facts are the facts about the machine that need no reading.
func (s *scope) facts() machines.MachineFacts {
	return machines.MachineFacts{
		Owner:         s.identified(),
		ClusterName:   s.cluster.Name,
		InfraMissing:  s.infraMissing,
		Spec:          *s.machine.Spec.DeepCopy(),
		FailureDomain: s.owner.Spec.FailureDomain,
		ClusterReady:  ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false),
		CloudProvider: s.infra != nil && ptr.Deref(s.infra.Spec.CloudProviderEnabled, false),
		Provisioned:   ptr.Deref(s.machine.Status.Initialization.Provisioned, false),
		NodeName:      s.machine.Status.NodeName,

		SoftFailureDomain: s.machine.Annotations[infrav1.SoftFailureDomainAnnotation] == "true",
	}
}

// identified says who the machine is.
func (s *scope) identified() claims.Owner {
	return claimreader.OwnerOf(s.machine)
}
