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
	"fmt"
	"strings"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// unread are metrics that no test looks at.
func unread() *Metrics { return NewMetrics(prometheus.NewRegistry(), nothing{}) }

func newMetrics(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	return NewMetrics(registry, nothing{}), registry
}

// values gives the values of a metric by the values of its labels; of histograms,
// how often and how much.
func values(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	expect.NoError(t, err)
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			out[strings.Join(labels, ",")] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			if h := metric.GetHistogram(); h != nil {
				out["count"], out["sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
			}
		}
	}
	return out
}

// claimsOf is a cache with some claims.
type claimsOf []bmov1alpha1.HostClaim

func (c claimsOf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not expected")
}

func (c claimsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if claims, ok := list.(*bmov1alpha1.HostClaimList); ok {
		claims.Items = c
	}
	return nil
}

func TestWaitingClaimsAreCountedByReason(t *testing.T) {
	with := func(conditions map[string]string, edits ...func(*bmov1alpha1.HostClaim)) bmov1alpha1.HostClaim {
		claim := newClaim(edits...)
		claim.Status.Conditions = conditionsOf(conditions)
		return *claim
	}
	paused := func(c *bmov1alpha1.HostClaim) { c.Annotations = map[string]string{"cluster.x-k8s.io/paused": ""} }
	registry := prometheus.NewRegistry()
	NewMetrics(registry, claimsOf{
		with(nil),
		with(map[string]string{isReady: "False/NoBareMetalHost"}), with(map[string]string{isReady: "False/NoBareMetalHost"}),
		with(map[string]string{isReady: "False/Provisioning"}),
		with(map[string]string{isReady: "True/Provisioned"}),
		with(map[string]string{isReady: "False/HostPaused"}, paused),
		with(map[string]string{isReady: "False/WhateverThatOneSays", infrav1.StoodDownCondition: "True/OtherController"}),
	})
	want := map[string]float64{"NoBareMetalHost": 2, "Provisioning": 1}
	expect.Equal(t, want, values(t, registry, "hostclaim_waiting_claims"))
}

func TestSecretsAreCountedByKindAndResult(t *testing.T) {
	m, registry := newMetrics(t)
	m.secret(binding.UserData, nil)
	m.secret(binding.UserData, nil)
	m.secret(binding.MetaData, fmt.Errorf("wrapped: %w", &secretError{kind: binding.MetaData, message: "missing"}))
	m.secret(binding.OCIAuth, errors.New("no answer"))
	want := map[string]float64{"userdata,written": 2, "metadata,refused": 1, "ociauth,failed": 1}
	expect.Equal(t, want, values(t, registry, "hostclaim_secrets_synchronized_total"))
}

func TestProvisioningIsMeasuredFromTheBind(t *testing.T) {
	at := func(kind string, status metav1.ConditionStatus, minute int) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: status, Reason: "Any",
			LastTransitionTime: metav1.NewTime(now.Add(time.Duration(minute) * time.Minute)),
		}
	}
	const provisioned = bmov1alpha1.ProvisionedCondition
	tests := map[string]struct {
		before []metav1.Condition
		after  metav1.Condition
		want   map[string]float64
	}{
		"from the bind": {
			[]metav1.Condition{at(associated, "True", 1), at(provisioned, "False", 0)},
			at(provisioned, "True", 6),
			map[string]float64{"count": 1, "sum": 300},
		},
		"from the beginning of a second round": {
			[]metav1.Condition{at(associated, "True", 1), at(provisioned, "False", 4)},
			at(provisioned, "True", 6),
			map[string]float64{"count": 1, "sum": 120},
		},
		"not while it lasts":      {[]metav1.Condition{at(associated, "True", 1), at(provisioned, "False", 0)}, at(provisioned, "False", 0), map[string]float64{"count": 0, "sum": 0}},
		"not when it was so":      {[]metav1.Condition{at(associated, "True", 1), at(provisioned, "True", 2)}, at(provisioned, "True", 2), map[string]float64{"count": 0, "sum": 0}},
		"not of a status rebuilt": {nil, at(provisioned, "True", 6), map[string]float64{"count": 0, "sum": 0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, registry := newMetrics(t)
			after := bmov1alpha1.HostClaimStatus{}
			meta.SetStatusCondition(&after.Conditions, tt.after)
			m.provisioned(bmov1alpha1.HostClaimStatus{Conditions: tt.before}, after)
			got := values(t, registry, "hostclaim_provision_duration_seconds")
			delete(got, "")
			expect.Equal(t, tt.want, got)
		})
	}
}
