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

package orphans

import (
	"maps"
	"slices"
	"sync"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/orphan"
)

// register remembers the orphans of this manager and what was last told of each,
// so that each change is told once. The zero value knows none.
type register struct {
	mu      sync.Mutex
	orphans map[types.NamespacedName]tale
}

// tale is the step that an orphan is at, and the reasons told meanwhile.
type tale struct {
	step orphan.Step
	told map[string]bool
}

// Metrics counts orphans.
type Metrics struct {
	hosts *prometheus.GaugeVec
}

// NewMetrics registers the metrics of orphans.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{hosts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hostclaim_orphaned_hosts",
		Help: "Hosts whose HostClaim does not exist any more.",
	}, []string{"namespace"})}
	return m, registry.Register(m.hosts)
}

// note counts a host as an orphan unless it is left alone, and tells the
// administrator what happens to it: each reason once while the host is at one step.
func (r *Reconciler) note(host *bmov1alpha1.BareMetalHost, plan orphan.Plan) {
	if r.told.first(client.ObjectKeyFromObject(host), plan, r.count) && plan.Reason != "" {
		kind := corev1.EventTypeWarning
		if plan.Reason == orphan.ReleasingReason {
			kind = corev1.EventTypeNormal
		}
		r.Recorder.Eventf(host, nil, kind, plan.Reason, string(plan.Step), "%s", plan.Message)
	}
}

// first says that a reason is new for an orphan, and remembers it.
func (g *register) first(key types.NamespacedName, plan orphan.Plan, count func(namespace string, orphans int)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.orphans == nil {
		g.orphans = map[types.NamespacedName]tale{}
	}
	if current, known := g.orphans[key]; !known || current.step != plan.Step {
		g.orphans[key] = tale{step: plan.Step, told: map[string]bool{}}
	}
	count(key.Namespace, len(g.inLocked(key.Namespace)))
	before := g.orphans[key].told[plan.Reason]
	g.orphans[key].told[plan.Reason] = true
	return !before
}

// forget takes a host out of the count: it is no orphan, or gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.told.mu.Lock()
	defer r.told.mu.Unlock()
	if _, known := r.told.orphans[key]; known {
		delete(r.told.orphans, key)
		r.count(key.Namespace, len(r.told.inLocked(key.Namespace)))
	}
}

// in returns the known orphans of a namespace.
func (g *register) in(namespace string) []types.NamespacedName {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inLocked(namespace)
}

func (g *register) inLocked(namespace string) []types.NamespacedName {
	return slices.DeleteFunc(slices.Collect(maps.Keys(g.orphans)), func(key types.NamespacedName) bool {
		return key.Namespace != namespace || g.orphans[key].step == orphan.Leave
	})
}

// count sets the gauge of a namespace.
func (r *Reconciler) count(namespace string, orphans int) {
	if r.Metrics != nil {
		r.Metrics.hosts.WithLabelValues(namespace).Set(float64(orphans))
	}
}
