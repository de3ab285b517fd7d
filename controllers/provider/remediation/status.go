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
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/patch"
)

// maxMessage bounds the message of the condition, which may repeat that of a claim.
const maxMessage = 4096

// finish writes the result of the pass, and then emits its events. The last condition stands if
// the pass has failed for another reason than its workload cluster. Nothing is written after a
// conflict, since the pass decided on an old version.
func (r *Reconciler) finish(ctx context.Context, s *scope, before *infrav1.Metal3Remediation, failed error) (ctrl.Result, error) {
	if apierrors.IsConflict(failed) {
		return ctrl.Result{}, failed
	}
	if failed != nil && s.unreachable == nil {
		s.reason = ""
	}
	updateStatus(s)
	if err := patch.Changes(ctx, r.Client, before, s.remediation); err != nil {
		return ctrl.Result{}, errors.Join(failed, fmt.Errorf("write Metal3Remediation: %w", err))
	}
	r.announce(ctx, s, before)
	if failed != nil || s.wakeAt.IsZero() {
		return ctrl.Result{}, failed
	}
	return ctrl.Result{RequeueAfter: max(s.wakeAt.Sub(s.now), time.Nanosecond)}, nil
}

// updateStatus computes the conditions. Phase, retries and time are set where they change.
func updateStatus(s *scope) {
	capiconditions.Set(s.remediation, conditions.Paused(s.remediation, s.cluster))
	if s.reason == "" {
		return
	}
	ready := metav1.Condition{
		Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse, Reason: s.reason, Message: text.Cut(s.message, maxMessage),
	}
	if s.ready {
		ready.Status = metav1.ConditionTrue
	}
	capiconditions.Set(s.remediation, ready)
}

// announce emits events and metrics for the result of the pass.
func (r *Reconciler) announce(ctx context.Context, s *scope, before *infrav1.Metal3Remediation) {
	log, status := ctrl.LoggerFrom(ctx), s.remediation.Status
	if status.Phase != before.Status.Phase {
		log.Info("Phase has changed", "phase", status.Phase, "retries", status.RetryCount)
	}
	if s.ready && !capiconditions.IsTrue(before, infrav1.ReadyCondition) {
		r.event(s, corev1.EventTypeNormal, s.reason, "Reboot", "The server was rebooted")
		r.Metrics.duration.Observe(s.now.Sub(status.LastRemediated.Time).Seconds())
	}
	if s.skipped != "" {
		log.Info("The workload stays on the Node", "reason", s.skipped)
		r.event(s, corev1.EventTypeWarning, "EvacuationSkipped", "Evacuate", s.skipped)
	}
	if s.left != "" {
		log.Info("Something is left behind on the Node", "reason", s.left)
		r.event(s, corev1.EventTypeWarning, "NodeNotRestored", "Restore", "The remediation ends, although "+s.left)
	}
}

// event emits an event for the remediation, and for its Machine if there is one.
func (r *Reconciler) event(s *scope, kind, reason, action, message string) {
	var related runtime.Object
	if s.machine != nil {
		related = s.machine
	}
	r.Recorder.Eventf(s.remediation, related, kind, reason, action, "%s", text.Shorten(message, text.MaxNote))
}

// Metrics are the measurements of the remediation controller.
type Metrics struct {
	reboots    prometheus.Counter
	handedBack prometheus.Counter
	duration   prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	factory := promauto.With(registry)
	return &Metrics{
		reboots: factory.NewCounter(prometheus.CounterOpts{
			Name: "capm3_remediation_reboots_total",
			Help: "Reboots that Metal3Remediations began.",
		}),
		handedBack: factory.NewCounter(prometheus.CounterOpts{
			Name: "capm3_remediation_handed_back_total",
			Help: "Machines that rebooting did not help, handed back to their owner to be replaced.",
		}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "capm3_remediation_reboot_seconds",
			Help: "Time from the beginning of a reboot until the server is on and its Node as it was.",
			// From a simulated server to one whose firmware tests its memory.
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800},
		}),
	}
}
