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
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/remediations"
)

// Metrics are the measurements of the remediation controller.
type Metrics struct {
	reboots    prometheus.Counter
	handedBack prometheus.Counter
	duration   prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		reboots: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capm3_remediation_reboots_total",
			Help: "Reboots that Metal3Remediations began.",
		}),
		handedBack: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "capm3_remediation_handed_back_total",
			Help: "Machines that rebooting did not help, handed back to their owner to be replaced.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "capm3_remediation_reboot_seconds",
			Help: "Time from the beginning of a reboot until the server is on and its Node as it was.",
			// From a simulated server to one whose firmware tests its memory.
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800},
		}),
	}
	for _, c := range []prometheus.Collector{m.reboots, m.handedBack, m.duration} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of Metal3Remediation: %w", err)
		}
	}
	return m, nil
}

// step counts a step that was taken.
func (m *Metrics) step(step remediations.Step) {
	switch step {
	case remediations.PowerOff:
		m.reboots.Inc()
	case remediations.HandBack:
		m.handedBack.Inc()
	default:
	}
}

func (m *Metrics) rebooted(after time.Duration) {
	m.duration.Observe(after.Seconds())
}

// note is what an event says about a step.
type note struct{ kind, reason, action, message string }

// noteOf is what is told of a step; a step that needs no explanation has no reason.
func noteOf(step remediations.Step) note {
	switch step {
	case remediations.PowerOff:
		return note{corev1.EventTypeNormal, infrav1.PoweringOffReason, "PowerOff", "The server is switched off"}
	case remediations.PowerOn:
		return note{corev1.EventTypeNormal, infrav1.PoweringOnReason, "PowerOn", "The server is switched on"}
	case remediations.TaintNode:
		return note{corev1.EventTypeNormal, "NodeOutOfService", "Evacuate", "The Node is declared out of service"}
	case remediations.UntaintNode:
		return note{corev1.EventTypeNormal, "NodeRestored", "Restore", "The Node has back what it had"}
	case remediations.HandBack:
		return note{corev1.EventTypeWarning, infrav1.HandedBackReason, "HandBack", "Rebooting did not help: the owner of the Machine is to replace it"}
	default:
		return note{}
	}
}

// announce tells of the steps of a pass, and of what its plan has come to if that was written.
func (r *Reconciler) announce(ctx context.Context, s *scope, plan *remediations.Plan, written bool) {
	for _, step := range s.done {
		r.Metrics.step(step)
		if n := noteOf(step); n.reason != "" {
			r.Recorder.Eventf(s.remediation, s.related(), n.kind, n.reason, n.action, "%s", n.message)
		}
	}
	if plan == nil || !written {
		return
	}
	log := ctrl.LoggerFrom(ctx)
	if plan.Progress.Phase != s.before.Status.Phase {
		log.Info("Phase has changed", "phase", plan.Progress.Phase, "retries", plan.Progress.Retries)
	}
	if plan.Ready && !conditions.IsTrue(s.before, infrav1.ReadyCondition) {
		r.Recorder.Eventf(s.remediation, s.related(), corev1.EventTypeNormal, plan.Reason, "Reboot", "The server was rebooted")
		r.Metrics.rebooted(r.Clock.Since(plan.Progress.Since))
	}
	if plan.Skipped != "" {
		log.Info("The workload stays on the Node", "reason", plan.Skipped)
		r.Recorder.Eventf(s.remediation, s.related(), corev1.EventTypeWarning, "EvacuationSkipped", "Evacuate", "%s", plan.Skipped)
	}
	if plan.Left != "" {
		log.Info("Something is left behind on the Node", "reason", plan.Left)
		r.Recorder.Eventf(s.remediation, s.related(), corev1.EventTypeWarning, "NodeNotRestored", "Restore", "The remediation ends, although %s", plan.Left)
	}
}
