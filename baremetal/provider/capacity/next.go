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

package capacity

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// unknown is what the author of a template reads as long as nothing can be promised.
const unknown = "No machine of this template has had a server yet, so that its size is not known: " +
	"let it make one, or set the annotation " + infrav1.CapacityAnnotation + " to scale up from zero"

// Observed is everything that a promise depends on.
type Observed struct {
	// Annotations are those of the template.
	Annotations map[string]string
	// Promised is what the status of the template says so far.
	Promised Promise
	// Machines are those that were made from the template and still exist.
	Machines []Machine
	// Siblings are the promises of other templates that ask for the same servers. They
	// matter as long as this one promises nothing.
	Siblings []Promise
}

// Promise is what a template promises of its machines.
type Promise struct {
	// Capacity is nil, and NodeInfo nil, if nothing can be said.
	Capacity corev1.ResourceList
	NodeInfo *infrav1.NodeInfo
	// Reason tells where it comes from: one of those of the condition Ready.
	Reason string
	// Message is for the author of the template; empty if there is nothing to do.
	Message string
}

// Next returns what the template may promise now:
//
//	what the annotations give                  is promised, whatever machines show
//	annotations that cannot be understood      leave what was promised, and are reported
//	cpu and memory                             are the least that a machine had, since the
//	                                           template exists or since they were last given
//	architecture and operating system          are what all machines agree on, or nothing
//	machines without server, or being deleted  say nothing
//	no machine that says anything              leaves what was promised
//	nothing promised at all                    takes the least that siblings have observed
func Next(o Observed) Promise {
	given, err := Parse(o.Annotations)
	if err != nil {
		next := o.Promised
		next.Reason, next.Message = infrav1.InvalidCapacityAnnotationReason, err.Error()
		return next
	}
	machines := slices.DeleteFunc(slices.Clone(o.Machines), func(m Machine) bool { return m.Deleting })
	former := o.Promised
	if len(former.Capacity) == 0 && former.NodeInfo == nil {
		former = inherited(o.Siblings)
	}
	next := Promise{
		Capacity: capacityOf(given, former, machines),
		NodeInfo: nodeInfoOf(given, former, machines),
	}
	switch {
	case given.Capacity != nil:
		next.Reason = infrav1.CapacityGivenReason
	case next.Capacity != nil:
		next.Reason = infrav1.CapacityObservedReason
	default:
		next.Reason, next.Message = infrav1.CapacityUnknownReason, unknown
	}
	return next
}

// inherited is what a template begins with that has had no machine: what its siblings
// have observed. A rollout makes such a template, and the group may be at zero then.
func inherited(siblings []Promise) Promise {
	first := Promise{Capacity: corev1.ResourceList{}, Reason: infrav1.CapacityObservedReason}
	var shown []Machine
	for _, s := range siblings {
		if s.Reason != infrav1.CapacityObservedReason {
			continue
		}
		lower(first.Capacity, s.Capacity)
		if s.NodeInfo != nil {
			shown = append(shown, Machine{
				Architecture: string(s.NodeInfo.Architecture), OperatingSystem: s.NodeInfo.OperatingSystem,
			})
		}
	}
	first.NodeInfo = nodeInfoOf(Given{}, Promise{}, shown)
	return first
}

// capacityOf promises what is given and, of what servers tell, the least. What was
// promised because servers had it is a bound for good: the server that had so little has
// gone back to where the next one comes from. What an annotation gives is no such bound.
func capacityOf(given Given, promised Promise, machines []Machine) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, m := range machines {
		lower(list, m.shown())
	}
	if given.Capacity == nil && promised.Reason == infrav1.CapacityObservedReason {
		lower(list, promised.Capacity)
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, known := list[name]
		if former, ok := promised.Capacity[name]; ok && !known {
			list[name] = former
		}
	}
	maps.Copy(list, given.Capacity)
	if len(list) == 0 {
		return nil
	}
	return list
}

// lower brings the list down to what the bound has, and adds what only the bound knows.
func lower(list, bound corev1.ResourceList) {
	for name, quantity := range bound {
		if had, ok := list[name]; !ok || quantity.Cmp(had) < 0 {
			list[name] = quantity
		}
	}
}

func nodeInfoOf(given Given, promised Promise, machines []Machine) *infrav1.NodeInfo {
	var former infrav1.NodeInfo
	if promised.NodeInfo != nil {
		former = *promised.NodeInfo
	}
	next := infrav1.NodeInfo{
		Architecture: agreed(given.NodeInfo.Architecture, former.Architecture, machines, Machine.architecture),
		OperatingSystem: agreed(given.NodeInfo.OperatingSystem, former.OperatingSystem, machines,
			func(m Machine) string { return m.OperatingSystem }),
	}
	if next == (infrav1.NodeInfo{}) {
		return nil
	}
	return &next
}

// agreed is what is given, else what all machines say that say anything, else what was
// promised if none does. Machines that contradict each other leave nothing to promise:
// a wrong label would strand the pods that ask for it.
func agreed[T ~string](given, former T, machines []Machine, of func(Machine) T) T {
	if given != "" {
		return given
	}
	var common T
	for _, m := range machines {
		said := of(m)
		if said == "" {
			continue
		}
		if common != "" && common != said {
			return ""
		}
		common = said
	}
	if common == "" {
		return former
	}
	return common
}
