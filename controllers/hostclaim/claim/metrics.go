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

package claim

import (
	"context"
	"errors"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
)

// Metrics measures what claims do. Its labels are namespaces, and words
// of fixed lists: nothing that a tenant could make up.
type Metrics struct {
	bindSeconds, provisionSeconds, releaseSeconds prometheus.Histogram

	secrets *prometheus.CounterVec
}

// NewMetrics registers the metrics of claims, which are read from a cache.
func NewMetrics(registry prometheus.Registerer, claims client.Reader) *Metrics {
	registry.MustRegister(waitingClaims{claims, prometheus.NewDesc("hostclaim_waiting_claims",
		"HostClaims that are not ready, by the reason of their condition Ready.", []string{"reason"}, nil)})
	factory := promauto.With(registry)
	return &Metrics{
		bindSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostclaim_bind_duration_seconds",
			Help:    "Time from the creation of a HostClaim to the bind of a host.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 10),
		}),
		provisionSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostclaim_provision_duration_seconds",
			Help:    "Time from the bind of a host, or from when it ceased to be provisioned, until it runs what its HostClaim asks for.",
			Buckets: []float64{5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200},
		}),
		releaseSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "hostclaim_release_duration_seconds",
			Help:    "Time from the deletion of a HostClaim to its host being free again.",
			Buckets: prometheus.ExponentialBuckets(0.05, 4, 10),
		}),
		secrets: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "hostclaim_secrets_synchronized_total",
			Help: "Secrets on their way next to a host, by kind and result: written, refused (a person must fix it) or failed (tried again).",
		}, []string{"kind", "result"}),
	}
}

// provisioned measures a host that has just come to run what its claim asks for,
// from the later of the bind and the moment at which it ceased to do so.
func (m *Metrics) provisioned(before, after bmov1alpha1.HostClaimStatus) {
	const kind = bmov1alpha1.ProvisionedCondition
	associated := binding.ConditionOf(before.Conditions, bmov1alpha1.AssociatedCondition)
	was, is := binding.ConditionOf(before.Conditions, kind), binding.ConditionOf(after.Conditions, kind)
	if associated.Status != metav1.ConditionTrue || is.Status != metav1.ConditionTrue ||
		was.Status == "" || was.Status == metav1.ConditionTrue || was.Reason == infrav1.WaitingForHostStatusReason {
		return
	}
	since := associated.LastTransitionTime.Time
	if was.LastTransitionTime.After(since) {
		since = was.LastTransitionTime.Time
	}
	m.provisionSeconds.Observe(is.LastTransitionTime.Sub(since).Seconds())
}

// secret counts a secret that was brought next to a host, or was not: then a person must mend something, or
// a request failed and is tried again.
func (m *Metrics) secret(kind binding.SecretKind, err error) {
	result := "written"
	if problem := (*secretError)(nil); errors.As(err, &problem) {
		result = "refused"
	} else if err != nil {
		result = "failed"
	}
	m.secrets.WithLabelValues(string(kind), result).Inc()
}

// waitingClaims counts the claims that the cache shows by the reason for which they are not ready.
type waitingClaims struct {
	claims client.Reader
	desc   *prometheus.Desc
}

// Describe names the gauge.
func (w waitingClaims) Describe(all chan<- *prometheus.Desc) { all <- w.desc }

// Collect counts. A claim that another controller works on, or that is paused, is not counted.
func (w waitingClaims) Collect(metrics chan<- prometheus.Metric) {
	claims := &bmov1alpha1.HostClaimList{}
	if err := w.claims.List(context.Background(), claims, client.UnsafeDisableDeepCopy); err != nil {
		return // before the cache is filled
	}
	counts := map[string]int{}
	for i := range claims.Items {
		all := claims.Items[i].Status.Conditions
		ready := binding.ConditionOf(all, bmov1alpha1.ReadyCondition)
		if ready.Status != "" && ready.Status != metav1.ConditionTrue && !binding.OnHold(&claims.Items[i]) &&
			!meta.IsStatusConditionTrue(all, infrav1.StoodDownCondition) {
			counts[ready.Reason]++
		}
	}
	for reason, n := range counts {
		metrics <- prometheus.MustNewConstMetric(w.desc, prometheus.GaugeValue, float64(n), reason)
	}
}
