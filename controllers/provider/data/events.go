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
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// Metrics are the measurements of the Metal3Data controller.
type Metrics struct {
	timeToReady prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{timeToReady: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "capm3_data_time_to_ready_seconds",
		Help: "Time from the creation of a Metal3Data until its secrets exist.",
		// From an idle address manager to a pool that has to be extended first.
		Buckets: []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 1800},
	})}
	if err := registry.Register(m.timeToReady); err != nil {
		return nil, fmt.Errorf("register metrics of Metal3Data: %w", err)
	}
	return m, nil
}

func (m *Metrics) ready(after time.Duration) {
	m.timeToReady.Observe(after.Seconds())
}

// announce tells of a change of readiness after it has been written; by an event if a user must do something.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	log := ctrl.LoggerFrom(ctx)
	was, is := conditions.Get(s.before, infrav1.ReadyCondition), conditions.Get(s.data, infrav1.ReadyCondition)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return
	}
	if is.Status == metav1.ConditionTrue {
		log.Info("Secrets are ready")
	} else {
		log.V(4).Info("Not ready", "reason", is.Reason)
	}
	switch {
	case is.Status == metav1.ConditionTrue:
		r.Metrics.ready(r.Clock.Since(s.data.CreationTimestamp.Time))
	case mendable(is.Reason):
		r.Recorder.Eventf(s.data, nil, corev1.EventTypeWarning, is.Reason, "Render", "%s", is.Message)
	}
}
