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

package data

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/truncate"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

const (
	// maxMessage bounds status.errorMessage.
	maxMessage = 512
	// maxConditionMessage bounds the messages of conditions. The API has room for
	// more than a reader needs about one template.
	maxConditionMessage = 4096
)

// report computes the status from what the pass found. It is pure: the same
// scope and outcome give the same status, but for the time at which a change is noted.
func report(s *scope, out progress.Outcome) {
	conditions.Set(s.data, pausing.Condition(s.data, s.cluster))
	if s.paused() {
		return
	}
	ready := readiness(s, out)
	conditions.Set(s.data, ready)
	s.data.Status.Ready = ptr.To(ready.Status == metav1.ConditionTrue)
	s.data.Status.ErrorMessage = ""
	if mendable(ready.Reason) {
		s.data.Status.ErrorMessage = truncate.Cut(ready.Message, maxMessage)
	}
}

// readiness sums up the outcome in one condition. An error that has no words
// for the user leaves what was last said.
func readiness(s *scope, out progress.Outcome) metav1.Condition {
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse}
	waits := out.Waits()
	last := conditions.Get(s.data, infrav1.ReadyCondition)
	switch {
	case len(waits) > 0:
		ready.Reason = waits[0].Reason
		messages := make([]string, 0, len(waits))
		for _, wait := range waits {
			messages = append(messages, wait.Message)
		}
		ready.Message = truncate.Cut(strings.Join(messages, "; "), maxConditionMessage)
	case out.Err() != nil && last != nil:
		return *last
	case out.Err() != nil:
		ready.Reason, ready.Message = infrav1.NotReadyReason, "An error occurred, see the log of the provider"
	case !s.data.DeletionTimestamp.IsZero():
		ready.Reason, ready.Message = infrav1.DeletingReason, "The Metal3Data is being deleted"
	default:
		ready.Status, ready.Reason = metav1.ConditionTrue, infrav1.SecretsReadyReason
	}
	return ready
}

// mendable says whether a user has to change something.
func mendable(reason string) bool {
	switch reason {
	case infrav1.PoolNotFoundReason, infrav1.PoolAPIMissingReason, infrav1.AddressUnavailableReason, infrav1.InterfaceNotFoundReason,
		infrav1.RenderingFailedReason, infrav1.TemplateNotFoundReason, infrav1.SecretsForbiddenReason,
		infrav1.SecretNameTakenReason, infrav1.InvalidConfigurationReason:
		return true
	default:
		return false
	}
}
