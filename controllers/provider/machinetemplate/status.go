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
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/capacity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/pausing"
)

// maxMessage bounds the message of a condition, as the API does.
const maxMessage = 32768

// report brings the status in line with the facts. It is pure: the same scope gives the
// same status. While the template is paused, it says that and nothing else.
func report(s *scope) {
	status := &s.template.Status
	conditions.Set(s.template, pausing.Condition(s.template, s.clusters...))
	if s.paused() {
		return
	}
	promise := capacity.Next(capacity.Observed{
		Annotations: s.template.Annotations,
		Promised:    promiseOf(s.template),
		Machines:    s.machines,
		Siblings:    s.siblings,
	})
	status.Capacity, status.NodeInfo = promise.Capacity, promise.NodeInfo
	ready := metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionTrue,
		Reason: promise.Reason, Message: promise.Message[:min(len(promise.Message), maxMessage)],
	}
	if promise.Reason == infrav1.InvalidCapacityAnnotationReason {
		ready.Status = metav1.ConditionFalse
	}
	conditions.Set(s.template, ready)
}

// promiseOf reads what a template promises.
func promiseOf(template *infrav1.Metal3MachineTemplate) capacity.Promise {
	return capacity.Promise{
		Capacity: template.Status.Capacity,
		NodeInfo: template.Status.NodeInfo,
		Reason:   conditions.GetReason(template, infrav1.ReadyCondition),
	}
}

func promisesNothing(template *infrav1.Metal3MachineTemplate) bool {
	return len(template.Status.Capacity) == 0 && template.Status.NodeInfo == nil
}

func sameCapacity(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

// announce logs a new capacity, and emits an event when an annotation has to be
// corrected.
func (r *Reconciler) announce(ctx context.Context, before, after *infrav1.Metal3MachineTemplate) {
	if !sameCapacity(before.Status.Capacity, after.Status.Capacity) {
		ctrl.LoggerFrom(ctx).Info("Published the capacity of the machines",
			"cpu", after.Status.Capacity.Cpu().String(), "memory", after.Status.Capacity.Memory().String())
	}
	ready := conditions.Get(after, infrav1.ReadyCondition)
	if ready == nil || ready.Reason != infrav1.InvalidCapacityAnnotationReason ||
		conditions.GetMessage(before, infrav1.ReadyCondition) == ready.Message {
		return
	}
	r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, ready.Reason, "ReportCapacity", "%s", ready.Message)
}
