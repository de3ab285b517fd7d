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

package machinetemplate

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

// maxMessage bounds the message of a condition, as the API does.
const maxMessage = 32768

// unknown is the message of the condition as long as nothing is known.
const unknown = "No machine of this template has had a server yet, so that its size is not known: " +
	"let it make one, or set the annotation " + infrav1.CapacityAnnotation + " to scale up from zero"

// updateStatus brings the status in line with what was read. While the template is paused, only that is
// reported. Annotations that cannot be parsed leave what was published.
func updateStatus(s *scope) {
	paused := conditions.Paused(s.template, s.clusters...)
	capiconditions.Set(s.template, paused)
	if paused.Status == metav1.ConditionTrue {
		return
	}
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue}
	status := &s.template.Status
	capacity, info, err := parseAnnotations(s.template.Annotations)
	if err == nil {
		status.Capacity = capacityOf(capacity, status.Capacity, s.servers)
		status.NodeInfo = nodeInfoOf(info, status.NodeInfo, s.servers)
	}
	switch {
	case err != nil:
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.InvalidCapacityAnnotationReason
		ready.Message = text.Shorten(err.Error(), maxMessage)
	case len(capacity) > 0:
		ready.Reason = infrav1.CapacityGivenReason
	case len(status.Capacity) > 0:
		ready.Reason = infrav1.CapacityObservedReason
	default:
		ready.Reason, ready.Message = infrav1.CapacityUnknownReason, unknown
	}
	capiconditions.Set(s.template, ready)
}

// announce logs a new capacity, and emits an event when an annotation has to be
// corrected.
func (r *Reconciler) announce(ctx context.Context, before, after *infrav1.Metal3MachineTemplate) {
	if !apiequality.Semantic.DeepEqual(before.Status.Capacity, after.Status.Capacity) {
		ctrl.LoggerFrom(ctx).Info("Published the capacity of the machines",
			"cpu", after.Status.Capacity.Cpu().String(), "memory", after.Status.Capacity.Memory().String())
	}
	ready := capiconditions.Get(after, infrav1.ReadyCondition)
	if ready == nil || ready.Reason != infrav1.InvalidCapacityAnnotationReason ||
		capiconditions.GetMessage(before, infrav1.ReadyCondition) == ready.Message {
		return
	}
	r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, ready.Reason, "ReportCapacity", "%s", text.Shorten(ready.Message, text.MaxNote))
}
