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

package pool

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// counted gives what a scrape shows, as "metric,namespace[,state]".
func counted(t *testing.T, c *Pool) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	expect.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	expect.NoError(t, err)
	out := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			parts := []string{strings.TrimPrefix(family.GetName(), "hostclaim_")}
			for _, label := range metric.GetLabel() {
				parts = append(parts, label.GetValue())
			}
			out[strings.Join(parts, ",")] = metric.GetGauge().GetValue()
		}
	}
	return out
}

func resident(namespace, name string, state bmov1alpha1.ProvisioningState, consumer string) *bmov1alpha1.BareMetalHost {
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	host.Status.Provisioning.State = state
	if consumer != "" {
		host.Spec.ConsumerRef = &corev1.ObjectReference{Name: consumer}
	}
	return host
}

func TestHostMetrics(t *testing.T) {
	c := New()
	see := func(namespace, name string, state bmov1alpha1.ProvisioningState, consumer string) func() {
		return func() { c.Observe(resident(namespace, name, state, consumer)) }
	}
	drop := func(namespace, name string) func() {
		return func() { c.Forget(client.ObjectKey{Namespace: namespace, Name: name}) }
	}
	for _, step := range []struct {
		what string
		do   func()
		want map[string]float64
	}{
		{"nothing is known", func() {}, map[string]float64{}},
		{"a host is registered", see("a", "1", "registering", ""), map[string]float64{"hosts,a,registering": 1, "free_hosts,a": 0}},
		{"it becomes free", see("a", "1", "available", ""), map[string]float64{"hosts,a,available": 1, "free_hosts,a": 1}},
		{"it is seen again", see("a", "1", "available", ""), map[string]float64{"hosts,a,available": 1, "free_hosts,a": 1}},
		{"it is bound", see("a", "1", "available", "x"), map[string]float64{"hosts,a,available": 1, "free_hosts,a": 0}},
		{"another namespace has one of that name", see("b", "1", "available", ""), map[string]float64{
			"hosts,a,available": 1, "free_hosts,a": 0, "hosts,b,available": 1, "free_hosts,b": 1,
		}},
		{"one has an unknown state", see("b", "2", "made up", ""), map[string]float64{
			"hosts,a,available": 1, "free_hosts,a": 0, "hosts,b,available": 1, "hosts,b,unknown": 1, "free_hosts,b": 1,
		}},
		{"the last of a namespace goes", drop("a", "1"), map[string]float64{"hosts,b,available": 1, "hosts,b,unknown": 1, "free_hosts,b": 1}},
		{"it goes again", drop("a", "1"), map[string]float64{"hosts,b,available": 1, "hosts,b,unknown": 1, "free_hosts,b": 1}},
	} {
		step.do()
		t.Run(step.what, func(t *testing.T) { expect.Equal(t, step.want, counted(t, c)) })
	}
}
