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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/truncate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
)

// maxMessage bounds the message of the condition, which may repeat that of a claim.
const maxMessage = 4096

// report writes the plan into the status. Without one, because the remediation is paused or
// the pass failed, what was last said stands.
func report(s *scope, plan *remediations.Plan) {
	conditions.Set(s.remediation, pausing.Condition(s.remediation, s.cluster))
	if plan == nil {
		return
	}
	status := &s.remediation.Status
	status.Phase, status.RetryCount = plan.Progress.Phase, plan.Progress.Retries
	if since := plan.Progress.Since; !since.IsZero() {
		status.LastRemediated = ptr.To(metav1.NewTime(since))
	}
	ready := metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: plan.Reason, Message: truncate.Cut(plan.Message, maxMessage),
	}
	if plan.Ready {
		ready.Status = metav1.ConditionTrue
	}
	conditions.Set(s.remediation, ready)
}
