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

package cost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// read returns the counts by namespace, as Prometheus would.
func read(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			counts[series.GetLabel()[0].GetValue()] = series.GetCounter().GetValue()
		}
	}
	return counts
}

func newMeter(t *testing.T) (*Meter, *prometheus.Registry, *clocktesting.FakePassiveClock) {
	t.Helper()
	registry := prometheus.NewRegistry()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	m, err := New(registry, clock, "test_namespace_total", "Help.")
	if err != nil {
		t.Fatal(err)
	}
	return m, registry, clock
}

func TestSeriesOfNamespacesAreBounded(t *testing.T) {
	m, registry, clock := newMeter(t)
	for i := range maxNamespaces + 5 {
		m.Add(fmt.Sprintf("tenant-%d", i), 1)
	}
	m.AddSeconds("tenant-7", 90*time.Second)
	got := read(t, registry)
	if len(got) != maxNamespaces+1 || got[other] != 5 || got["tenant-7"] != 91 {
		t.Errorf("%d series, %g for %s, %g for tenant-7; want %d, 5, 91", len(got), got[other], other, got["tenant-7"], maxNamespaces+1)
	}

	clock.SetTime(clock.Now().Add(idle / 2))
	m.Add("tenant-7", 1)
	clock.SetTime(clock.Now().Add(idle / 2))
	m.Add("", 1)
	if diff := cmp.Diff(map[string]float64{"tenant-7": 92}, read(t, registry)); diff != "" {
		t.Errorf("after the others cost nothing for an hour (-want +got):\n%s", diff)
	}
	m.Add("tenant-new", 1)
	if diff := cmp.Diff(map[string]float64{"tenant-7": 92, "tenant-new": 1}, read(t, registry)); diff != "" {
		t.Errorf("once there is room again (-want +got):\n%s", diff)
	}
}

// A pass pays for every request that it makes; what is sent outside of passes counts for
// the namespace in its path, if there is one.
func TestRequestsCountForTheObjectThatIsWorkedOn(t *testing.T) {
	m, registry, _ := newMeter(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client := &http.Client{Transport: m.Transport(http.DefaultTransport)}
	send := func(ctx context.Context, path string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	pass := Attribute(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, errors.Join(
			send(ctx, "/apis/metal3.io/v1alpha1/namespaces/infra/baremetalhosts/host-0"),
			send(ctx, "/apis/metal3.io/v1alpha1/baremetalhosts"))
	}))
	_, err := pass.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "tenant", Name: "claim"}})
	if err := errors.Join(err,
		send(t.Context(), "/api/v1/namespaces/other/secrets"),
		send(t.Context(), "/api/v1/namespaces/other"),
		send(t.Context(), "/apis/metal3.io/v1alpha1/hostclaims")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"tenant": 2, "other": 2}, read(t, registry)); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
