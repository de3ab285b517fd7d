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
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
)

// transition is a change of a machine that is emitted as an event.
type transition struct {
	kind, reason, action, note string
}

func givenBack(host string, reserved bool) transition {
	if reserved {
		return transition{corev1.EventTypeNormal, "Reserved", "Release", "Host " + host + " is kept for the next machine"}
	}
	return transition{corev1.EventTypeNormal, "Released", "Release", "Host " + host + " was given back"}
}

// claimAbandoned returns the transition of a machine that leaves its claim behind, with the
// place of the claim.
func claimAbandoned(machine string, record identity.Record) transition {
	what := "The HostClaim of this machine in another cluster, if there is one,"
	if record.Origin != "" {
		what = fmt.Sprintf("HostClaim %q in namespace %q of %s", claims.RemoteName(machine, record.Origin), record.Namespace, record.Server)
	}
	return transition{
		corev1.EventTypeWarning, "ClaimAbandoned", "Release",
		what + " was left behind with its server, which may still run: delete it in that cluster",
	}
}

// eventRule selects a condition for events when it becomes False: for these reasons or, without any, for all
// but the excepted one.
type eventRule struct {
	condition, kind, action string
	reasons                 []string
	except                  string
}

func eventRules() []eventRule {
	return []eventRule{
		{condition: infrav1.HostClaimReadyCondition, kind: corev1.EventTypeNormal, action: "Rebuild", reasons: []string{infrav1.RebuildingReason}},
		{condition: infrav1.AssociateBareMetalHostCondition, kind: corev1.EventTypeWarning, action: "Bind", reasons: []string{
			infrav1.HostLostReason, infrav1.HostClaimNameTakenReason, infrav1.BootstrapSecretNotFoundReason,
			infrav1.SecretsForbiddenReason, infrav1.HostClaimTakenOverReason, infrav1.HostClaimAPIMissingReason,
			infrav1.InvalidConfigurationReason, infrav1.WaitingForMetal3MachineOwnerRefReason,
		}},
		{condition: infrav1.IdentityReadyCondition, kind: corev1.EventTypeWarning, action: "Connect", except: infrav1.IdentityConnectingReason},
		{condition: infrav1.KubernetesNodeReadyCondition, kind: corev1.EventTypeWarning, action: "FindNode", reasons: []string{
			infrav1.NodeAmbiguousReason, infrav1.NodeTakenReason,
		}},
	}
}

// transitions compares a machine before and after a pass.
func transitions(before, after *infrav1.Metal3Machine) []transition {
	all := serverTransitions(before, after)
	for _, t := range eventRules() {
		c, became := becameFalse(before, after, t.condition)
		if became && c.Reason != t.except && (t.reasons == nil || slices.Contains(t.reasons, c.Reason)) {
			all = append(all, transition{t.kind, c.Reason, t.action, c.Message})
		}
	}
	return all
}

// serverTransitions compares what is known of the server of a machine before and after a pass.
func serverTransitions(before, after *infrav1.Metal3Machine) []transition {
	var all []transition
	if hostOf(before) != "" && released(after) && !released(before) {
		all = append(all, givenBack(hostOf(before), decided(before) == infrav1.ReservedReason))
	}
	bound, begins := hostOf(after) != "" && hostOf(before) != hostOf(after), provisioned(after) && !provisioned(before)
	switch {
	case begins && bound:
		all = append(all, transition{
			corev1.EventTypeNormal, "Provisioned", "Provision",
			"Bound to host " + hostOf(after) + ", and provisioned with provider ID " + after.Spec.ProviderID,
		})
	case begins:
		all = append(all, transition{
			corev1.EventTypeNormal, "Provisioned", "Provision", "Provisioned with provider ID " + after.Spec.ProviderID,
		})
	case bound:
		all = append(all, transition{corev1.EventTypeNormal, "HostBound", "Bind", "Bound to host " + hostOf(after)})
	}
	if writtenAnew(before, after) {
		all = append(all, transition{corev1.EventTypeNormal, "Rebuilt", "Rebuild", "The server was written anew"})
	}
	return all
}

// writtenAnew reports whether the server of a machine was written anew in a pass.
func writtenAnew(before, after *infrav1.Metal3Machine) bool {
	rebuilt := after.Annotations[infrav1.RebuiltAnnotation]
	refused := capiconditions.GetReason(after, infrav1.SpecAppliedCondition) == infrav1.RebuildRefusedReason
	return rebuilt != "" && rebuilt != before.Annotations[infrav1.RebuiltAnnotation] && provisioned(before) && !refused
}

// becameFalse returns the condition if it is False for another reason than before.
func becameFalse(before, after *infrav1.Metal3Machine, conditionType string) (*metav1.Condition, bool) {
	was, is := capiconditions.Get(before, conditionType), capiconditions.Get(after, conditionType)
	if is == nil || is.Status != metav1.ConditionFalse {
		return nil, false
	}
	return is, was == nil || was.Status != is.Status || was.Reason != is.Reason
}

// announce emits the events of a pass once its result is written.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	happened := transitions(s.before, s.Machine)
	if s.abandoned != nil && released(s.Machine) { // and not given back
		happened = []transition{claimAbandoned(s.Machine.Name, *s.abandoned)}
	}
	for _, t := range happened {
		r.Recorder.Eventf(s.Machine, nil, t.kind, t.reason, t.action, "%s", text.Shorten(t.note, text.MaxNote))
		if t.kind == corev1.EventTypeNormal {
			ctrl.LoggerFrom(ctx).Info(t.note)
		}
	}
	if now := s.Machine.Status.NodeName; now != "" && now != s.before.Status.NodeName {
		ctrl.LoggerFrom(ctx).Info("Node found", "Node", klog.KRef("", now))
	}
	if provisioned(s.Machine) && !provisioned(s.before) {
		r.Metrics.provisioned(s.Machine.Namespace, s.Machine.Labels[clusterv1.ClusterNameLabel], r.Clock.Since(s.Machine.CreationTimestamp.Time))
	}
}

// Metrics are the measurements of the machine controller.
type Metrics struct {
	timeToProvisioned *prometheus.HistogramVec
	stale             prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	factory := promauto.With(registry)
	return &Metrics{
		timeToProvisioned: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "capm3_machine_time_to_provisioned_seconds",
			Help: "Time from the creation of a Metal3Machine until its server runs the image.",
			// From a simulated server to one with slow firmware in a long queue.
			Buckets: []float64{5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200},
		}, []string{"namespace", "cluster"}),
		stale: factory.NewCounter(prometheus.CounterOpts{
			Name: "capm3_machine_stale_decisions_total",
			Help: "Passes over a Metal3Machine whose write met a newer object than was read, in this cluster or in that of its HostClaim.",
		}),
	}
}

// Forget ends the series of a Cluster that is gone.
func (m *Metrics) Forget(namespace, cluster string) {
	m.timeToProvisioned.DeleteLabelValues(namespace, cluster)
}

func (m *Metrics) provisioned(namespace, cluster string, after time.Duration) {
	m.timeToProvisioned.WithLabelValues(namespace, cluster).Observe(after.Seconds())
}
