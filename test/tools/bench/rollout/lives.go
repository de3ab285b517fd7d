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

package main

import (
	"sync"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// Stations of a machine.
const (
	created     site.Mark = "created"
	bootstrap   site.Mark = "bootstrap data"
	claimed     site.Mark = "claim"
	bound       site.Mark = "bound"
	facts       site.Mark = "facts"
	rendered    site.Mark = "data"
	image       site.Mark = "image"
	provisioned site.Mark = "provisioned"
	node        site.Mark = "Node"
)

// Stations of a host: from available to taken is how long it waits for a machine.
const (
	available site.Mark = "available"
	taken     site.Mark = "taken"
)

// stations are those of a machine in the order in which it passes them. A provider
// without claims has fewer.
func stations() []site.Mark {
	return []site.Mark{created, bootstrap, claimed, bound, facts, rendered, image, provisioned, node}
}

// lives notes when each machine and each host was first seen at each station. Machines
// go by the name of their infrastructure machine.
type lives struct {
	*site.Timeline

	mu sync.Mutex
	// owners are the machines of the claims.
	owners map[types.NamespacedName]types.NamespacedName
}

func newLives() *lives {
	return &lives{Timeline: site.NewTimeline(), owners: map[types.NamespacedName]types.NamespacedName{}}
}

// see notes the stations that an object shows.
func (l *lives) see(object any, now time.Time) {
	switch o := object.(type) {
	case *clusterv1.Machine:
		l.seeMachine(o, now)
	case *bmov1alpha1.HostClaim:
		l.seeClaim(o, now)
	case *bmov1alpha1.BareMetalHost:
		l.seeHost(o, now)
	case *infrav1.Metal3Data:
		if o.Spec.Claim != nil && ptr.Deref(o.Status.Ready, false) {
			// The claim on data has the name of the machine that made it.
			l.Note(rendered, types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}, now)
		}
	}
}

func infrastructure(m *clusterv1.Machine) types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}
}

func (l *lives) seeMachine(m *clusterv1.Machine, now time.Time) {
	name := infrastructure(m)
	l.Note(created, name, now)
	if m.Spec.Bootstrap.DataSecretName != nil {
		l.Note(bootstrap, name, now)
	}
	if m.Status.NodeRef.Name != "" {
		l.Note(node, name, now)
	}
}

func (l *lives) seeClaim(claim *bmov1alpha1.HostClaim, now time.Time) {
	consumer := claim.Spec.ConsumerRef
	if consumer == nil {
		return
	}
	machine := types.NamespacedName{Namespace: claim.Namespace, Name: consumer.Name}
	l.mu.Lock()
	l.owners[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}] = machine
	l.mu.Unlock()
	l.Note(claimed, machine, now)
	if claim.Status.HardwareData != nil {
		l.Note(facts, machine, now)
	}
}

func (l *lives) seeHost(host *bmov1alpha1.BareMetalHost, now time.Time) {
	name := types.NamespacedName{Namespace: host.Namespace, Name: host.Name}
	if host.Spec.ConsumerRef == nil {
		if host.Status.Provisioning.State == bmov1alpha1.StateAvailable {
			l.Note(available, name, now)
		}
		return
	}
	l.Note(taken, name, now)
	machine := l.machine(host.Spec.ConsumerRef)
	l.Note(bound, machine, now)
	if host.Spec.Image == nil {
		return
	}
	l.Note(image, machine, now)
	if host.Status.Provisioning.State == bmov1alpha1.StateProvisioned {
		l.Note(provisioned, machine, now)
	}
}

// machine is the one that a host is for: its claim's or, without claims, its consumer
// itself. A claim that was not seen yet has the name of its machine.
func (l *lives) machine(consumer *corev1.ObjectReference) types.NamespacedName {
	name := types.NamespacedName{Namespace: consumer.Namespace, Name: consumer.Name}
	l.mu.Lock()
	defer l.mu.Unlock()
	if machine, found := l.owners[name]; found && consumer.Kind == "HostClaim" {
		return machine
	}
	return name
}

// spans are the times from each station to the next one that a machine has passed.
func (l *lives) spans(machines []types.NamespacedName) map[site.Mark][]time.Duration {
	spans := map[site.Mark][]time.Duration{}
	for _, machine := range machines {
		last := l.At(created, machine)
		for _, station := range stations()[1:] {
			if at := l.At(station, machine); !at.IsZero() {
				spans[station] = append(spans[station], max(0, at.Sub(last)))
				last = at
			}
		}
	}
	return spans
}

// between are the times from one mark to another of the objects that have both.
func (l *lives) between(from, to site.Mark, objects []types.NamespacedName) (took []time.Duration) {
	for _, object := range objects {
		if a, z := l.At(from, object), l.At(to, object); !a.IsZero() && !z.IsZero() {
			took = append(took, z.Sub(a))
		}
	}
	return took
}
