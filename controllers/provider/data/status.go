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
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
)

const (
	// maxMessage bounds status.errorMessage.
	maxMessage = 512
	// maxConditionMessage bounds the messages of conditions. The API has room for
	// more than a reader needs about one template.
	maxConditionMessage = 4096
)

// waiting is what a Metal3Data waits for.
func waiting(reason, format string, args ...any) conditions.Wait {
	return conditions.Wait{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// join makes one wait of several, most important first.
func join(waits []conditions.Wait) conditions.Wait {
	if len(waits) == 0 {
		return conditions.Wait{}
	}
	messages := make([]string, 0, len(waits))
	for _, wait := range waits {
		messages = append(messages, wait.Message)
	}
	return conditions.Wait{Reason: waits[0].Reason, Message: strings.Join(messages, "; ")}
}

// report computes the status from what the pass waits for and the error that it met. It is pure: the same
// scope, wait and error give the same status, but for the time at which a change is noted.
func report(s *scope, wait conditions.Wait, err error) {
	capiconditions.Set(s.data, conditions.Paused(s.data, s.cluster))
	if s.paused() {
		return
	}
	ready := readiness(s, wait, err)
	capiconditions.Set(s.data, ready)
	s.data.Status.Ready = ptr.To(ready.Status == metav1.ConditionTrue)
	s.data.Status.ErrorMessage = ""
	if mendable(ready.Reason) {
		s.data.Status.ErrorMessage = text.Cut(ready.Message, maxMessage)
	}
}

// outdated reports whether the status tells what does not hold while the Metal3Data waits. One that is rendered
// may leave without a word.
func outdated(data *infrav1.Metal3Data, leaves bool) bool {
	ready := capiconditions.Get(data, infrav1.ReadyCondition)
	holds := ready == nil || ready.Status == metav1.ConditionTrue && leaves
	return !holds || capiconditions.IsTrue(data, infrav1.PausedCondition)
}

// readiness sums up the pass in one condition. An error without a message for the user leaves
// the last condition.
func readiness(s *scope, wait conditions.Wait, err error) metav1.Condition {
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionFalse}
	last := capiconditions.Get(s.data, infrav1.ReadyCondition)
	switch {
	case wait.Reason != "":
		ready.Reason, ready.Message = wait.Reason, text.Cut(wait.Message, maxConditionMessage)
	case err != nil && last != nil:
		return *last
	case err != nil:
		ready.Reason, ready.Message = infrav1.NotReadyReason, "An error occurred, see the log of the provider"
	case !s.data.DeletionTimestamp.IsZero():
		ready.Reason, ready.Message = infrav1.DeletingReason, "The Metal3Data is being deleted"
	default:
		ready.Status, ready.Reason = metav1.ConditionTrue, infrav1.SecretsReadyReason
	}
	return ready
}

// mendable reports whether a user has to change something.
func mendable(reason string) bool {
	return slices.Contains([]string{
		infrav1.PoolNotFoundReason, infrav1.PoolAPIMissingReason, infrav1.AddressUnavailableReason, infrav1.InterfaceNotFoundReason,
		infrav1.RenderingFailedReason, infrav1.TemplateNotFoundReason, infrav1.SecretsForbiddenReason,
		infrav1.SecretNameTakenReason, infrav1.InvalidConfigurationReason,
	}, reason)
}

// Metrics are the measurements of the Metal3Data controller.
type Metrics struct {
	timeToReady prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{timeToReady: promauto.With(registry).NewHistogram(prometheus.HistogramOpts{
		Name: "capm3_data_time_to_ready_seconds",
		Help: "Time from the creation of a Metal3Data until its secrets exist.",
		// From an idle address manager to a pool that has to be extended first.
		Buckets: []float64{0.5, 1, 2, 5, 10, 30, 60, 300, 1800},
	})}
}

// announce logs and measures a change of readiness after it has been written, and emits an event if a user
// must act.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	log := ctrl.LoggerFrom(ctx)
	was, is := capiconditions.Get(s.before, infrav1.ReadyCondition), capiconditions.Get(s.data, infrav1.ReadyCondition)
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
		r.Metrics.timeToReady.Observe(r.Clock.Since(s.data.CreationTimestamp.Time).Seconds())
	case mendable(is.Reason):
		r.Recorder.Eventf(s.data, nil, corev1.EventTypeWarning, is.Reason, "Render", "%s", text.Shorten(is.Message, text.MaxNote))
	}
}
