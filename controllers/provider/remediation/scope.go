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

package remediation

import (
	"cmp"
	"maps"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/claimreader"
)

// What holds where the strategy of a remediation, or a field of it, is left out.
const (
	defaultLimit   = 1
	defaultTimeout = 600
)

// scope holds what one pass knows about one Metal3Remediation.
type scope struct {
	// remediation is set by load; before is the copy that it is compared with.
	remediation, before *infrav1.Metal3Remediation
	// machine, metal3Machine and cluster are set by load; nil means that they do not exist, or
	// that the remediation has no owner.
	machine       *clusterv1.Machine
	metal3Machine *infrav1.Metal3Machine
	cluster       *clusterv1.Cluster
	// claim and its site are set by claimSteps; the claim is nil if there is none, or if it
	// cannot be read now.
	claim *bmov1alpha1.HostClaim
	site  claimreader.Site
	// node is set by nodeSteps; nil means that there is none, or that it is not asked for.
	node *corev1.Node
	// nodeErr is why requests to the workload cluster fail, set by nodeSteps.
	nodeErr error
	// observed are the facts that the decision is made on.
	observed remediations.Observed
	// done are the steps that this pass has taken.
	done []remediations.Step
}

func (s *scope) deleted() bool { return !s.remediation.DeletionTimestamp.IsZero() }

// paused says whether nothing may be done now.
func (s *scope) paused() bool { return pausing.Paused(s.remediation, s.cluster) }

// clusterKey is the workload cluster of the machine. It is not asked for without a machine.
func (s *scope) clusterKey() client.ObjectKey {
	return client.ObjectKey{Namespace: s.machine.Namespace, Name: s.machine.Spec.ClusterName}
}

// Strip is a cache transform that drops the annotations of a remediation that the controller
// does not read.
func Strip(r *infrav1.Metal3Remediation) {
	maps.DeleteFunc(r.Annotations, func(key, _ string) bool { return key != clusterv1.PausedAnnotation })
}

// own are the facts that the remediation itself gives.
func own(r *infrav1.Metal3Remediation) remediations.Observed {
	strategy := infrav1.RemediationStrategy{}
	if r.Spec.Strategy != nil {
		strategy = *r.Spec.Strategy
	}
	o := remediations.Observed{
		Limit:    cmp.Or(strategy.RetryLimit, defaultLimit),
		Timeout:  time.Duration(cmp.Or(strategy.TimeoutSeconds, defaultTimeout)) * time.Second,
		Progress: remediations.Progress{Phase: r.Status.Phase, Retries: r.Status.RetryCount},
	}
	if r.Status.LastRemediated != nil {
		o.Since = r.Status.LastRemediated.Time
	}
	if r.DeletionTimestamp != nil {
		o.DeletedAt = r.DeletionTimestamp.Time
	}
	return o
}

// related is the other object that events are about, nil if there is none.
func (s *scope) related() runtime.Object {
	if s.machine == nil {
		return nil
	}
	return s.machine
}
