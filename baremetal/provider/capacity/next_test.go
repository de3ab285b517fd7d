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
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// list reads resources as a person would write them.
func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func annotated(pairs ...string) map[string]string {
	annotations := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		annotations[pairs[i]] = pairs[i+1]
	}
	return annotations
}

// server is a machine with a server of that size.
func server(cpus, gibibytes int) Machine {
	return Machine{CPUs: cpus, MemoryMebibytes: gibibytes << 10, Hardware: "x86_64"}
}

// promised is what the status of a template says.
func promised(reason string, capacity corev1.ResourceList) Promise {
	return Promise{Capacity: capacity, NodeInfo: amd64(), Reason: reason}
}

func amd64() *infrav1.NodeInfo { return &infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64} }

// equal compares quantities by value.
var equal = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

func TestNext(t *testing.T) {
	const observed, given = infrav1.CapacityObservedReason, infrav1.CapacityGivenReason
	unknownYet := Promise{Reason: infrav1.CapacityUnknownReason, Message: unknown}
	half := list("cpu", "16", "memory", "64Gi")
	whole := list("cpu", "32", "memory", "128Gi")
	dying := server(8, 32)
	dying.Deleting = true

	tests := map[string]struct {
		given Observed
		want  Promise
	}{
		"promises nothing of a template without machines": {
			given: Observed{}, want: unknownYet,
		},
		"promises nothing while no machine has a server": {
			given: Observed{Machines: []Machine{{}, {}}}, want: unknownYet,
		},
		"promises what the only server has": {
			given: Observed{Machines: []Machine{server(32, 128)}}, want: promised(observed, whole),
		},
		"promises the least of each resource, be they of different servers": {
			given: Observed{Machines: []Machine{server(32, 64), server(16, 128)}}, want: promised(observed, half),
		},
		"a machine without server does not count": {
			given: Observed{Machines: []Machine{{}, server(32, 128)}}, want: promised(observed, whole),
		},
		"a machine that is being deleted does not count": {
			given: Observed{Machines: []Machine{dying, server(32, 128)}}, want: promised(observed, whole),
		},
		"a server that hides its memory says nothing of memory": {
			given: Observed{Machines: []Machine{server(32, 128), {CPUs: 16, Hardware: "x86_64"}}},
			want:  promised(observed, list("cpu", "16", "memory", "128Gi")),
		},
		"keeps the promise when no machine is left": {
			given: Observed{Promised: promised(observed, whole)}, want: promised(observed, whole),
		},
		"a lesser server lowers the promise at once": {
			given: Observed{Promised: promised(observed, whole), Machines: []Machine{server(32, 128), server(16, 64)}},
			want:  promised(observed, half),
		},
		"the promise is not raised when the lesser server has gone, since the next may be like it": {
			given: Observed{Promised: promised(observed, half), Machines: []Machine{server(32, 128)}},
			want:  promised(observed, half),
		},
		"what is given wins over what servers have": {
			given: Observed{Annotations: annotated(infrav1.CapacityAnnotation, "cpu=30,memory=120Gi"), Machines: []Machine{server(32, 128)}},
			want:  promised(given, list("cpu", "30", "memory", "120Gi")),
		},
		"what is given may be more than servers have shown": {
			given: Observed{Annotations: annotated(infrav1.CapacityAnnotation, "cpu=64,memory=256Gi"), Machines: []Machine{server(32, 128)}},
			want:  promised(given, list("cpu", "64", "memory", "256Gi")),
		},
		"a resource that no inspection finds is added to what servers have": {
			given: Observed{Annotations: annotated(infrav1.CapacityAnnotation, "nvidia.com/gpu=2"), Machines: []Machine{server(32, 128)}},
			want:  promised(given, list("cpu", "32", "memory", "128Gi", "nvidia.com/gpu", "2")),
		},
		"what is given needs no machine": {
			given: Observed{Annotations: annotated(infrav1.CapacityAnnotation, "cpu=4", infrav1.NodeInfoAnnotation, "architecture=arm64")},
			want: Promise{
				Reason: given, Capacity: list("cpu", "4"), NodeInfo: &infrav1.NodeInfo{Architecture: infrav1.ArchitectureARM64},
			},
		},
		"what was given is no bound for servers afterwards": {
			given: Observed{Promised: promised(given, half), Machines: []Machine{server(32, 128)}}, want: promised(observed, whole),
		},
		"what was given stays until a machine shows something else": {
			given: Observed{Promised: promised(given, half)}, want: promised(observed, half),
		},
		"a resource that only was given goes with its annotation": {
			given: Observed{Promised: promised(given, list("cpu", "32", "memory", "128Gi", "nvidia.com/gpu", "2"))},
			want:  promised(observed, whole),
		},
		"an annotation that cannot be understood leaves the promise and is reported": {
			given: Observed{
				Annotations: annotated(infrav1.CapacityAnnotation, "cpu=many"),
				Promised:    promised(observed, whole), Machines: []Machine{server(16, 64)},
			},
			want: Promise{
				Capacity: whole, NodeInfo: amd64(), Reason: infrav1.InvalidCapacityAnnotationReason,
				Message: `annotation hostclaim.metal3.io/capacity is "cpu=many", and "many" is no quantity of cpu: ` +
					`write it like "cpu=32,memory=128Gi", or remove it`,
			},
		},
		"a new template begins with the least that its siblings have observed": {
			given: Observed{Siblings: []Promise{
				promised(observed, list("cpu", "32", "memory", "64Gi")), promised(observed, list("cpu", "16", "memory", "128Gi")),
			}},
			want: promised(observed, half),
		},
		"a better server of its own does not raise what a template has from its siblings": {
			given: Observed{Siblings: []Promise{promised(observed, half)}, Machines: []Machine{server(32, 128)}},
			want:  promised(observed, half),
		},
		"what was given to a sibling is no observation": {
			given: Observed{Siblings: []Promise{promised(given, whole), {Reason: infrav1.CapacityUnknownReason}}}, want: unknownYet,
		},
		"siblings that contradict each other tell no architecture": {
			given: Observed{Siblings: []Promise{
				promised(observed, whole),
				{Capacity: whole, Reason: observed, NodeInfo: &infrav1.NodeInfo{Architecture: infrav1.ArchitectureARM64}},
			}},
			want: Promise{Capacity: whole, Reason: observed},
		},
		"a template with a promise does not look at its siblings": {
			given: Observed{Promised: promised(observed, whole), Siblings: []Promise{promised(observed, half)}},
			want:  promised(observed, whole),
		},
		"node info alone does not make a promise of capacity": {
			given: Observed{Annotations: annotated(infrav1.NodeInfoAnnotation, "operatingSystem=windows")},
			want: Promise{
				NodeInfo: &infrav1.NodeInfo{OperatingSystem: "windows"}, Reason: infrav1.CapacityUnknownReason, Message: unknown,
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Next(tc.given)
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("promise (-want +got):\n%s", diff)
			}
			tc.given.Promised = got
			if diff := cmp.Diff(got, Next(tc.given), equal); diff != "" {
				t.Errorf("the same facts give another promise the next time (-first +second):\n%s", diff)
			}
		})
	}
}

func TestNodeInfo(t *testing.T) {
	node := func(architecture, system string) Machine {
		return Machine{Architecture: architecture, OperatingSystem: system}
	}
	hardware := func(name string) Machine { return Machine{Hardware: name} }
	info := func(architecture infrav1.Architecture, system string) *infrav1.NodeInfo {
		return &infrav1.NodeInfo{Architecture: architecture, OperatingSystem: system}
	}
	tests := map[string]struct {
		annotations map[string]string
		former      *infrav1.NodeInfo
		machines    []Machine
		want        *infrav1.NodeInfo
	}{
		"nothing is known without machines":                   {},
		"nothing is said of an architecture without a name":   {machines: []Machine{hardware("mips")}},
		"x86_64 of the inspection is amd64":                   {machines: []Machine{hardware("x86_64")}, want: info("amd64", "")},
		"aarch64 of the inspection is arm64":                  {machines: []Machine{hardware("aarch64")}, want: info("arm64", "")},
		"s390x has one name":                                  {machines: []Machine{hardware("s390x")}, want: info("s390x", "")},
		"ppc64le has one name":                                {machines: []Machine{hardware("ppc64le")}, want: info("ppc64le", "")},
		"the Node knows better than the inspection":           {machines: []Machine{{Hardware: "x86_64", Architecture: "arm64"}}, want: info("arm64", "")},
		"the operating system is that of the Nodes":           {machines: []Machine{node("amd64", "linux"), hardware("x86_64")}, want: info("amd64", "linux")},
		"machines that contradict each other promise nothing": {machines: []Machine{hardware("x86_64"), hardware("aarch64")}},
		"a contradiction takes a promise back":                {former: info("amd64", "linux"), machines: []Machine{hardware("x86_64"), hardware("aarch64")}, want: info("", "linux")},
		"the promise stays when no machine is left":           {former: info("amd64", "linux"), want: info("amd64", "linux")},
		"machines of today win over those that have gone":     {former: info("amd64", "linux"), machines: []Machine{node("arm64", "linux")}, want: info("arm64", "linux")},
		"what is given wins, each on its own": {
			annotations: annotated(infrav1.NodeInfoAnnotation, "architecture=arm64"),
			machines:    []Machine{node("amd64", "linux")}, want: info("arm64", "linux"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Next(Observed{Annotations: tc.annotations, Promised: Promise{NodeInfo: tc.former}, Machines: tc.machines}).NodeInfo
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("node info (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextChangesNothingItWasGiven(t *testing.T) {
	machines := []Machine{{Deleting: true}, server(16, 64)}
	given := Observed{Promised: promised(infrav1.CapacityObservedReason, list("cpu", "32", "memory", "128Gi")), Machines: machines}
	Next(given)
	want := Observed{
		Promised: promised(infrav1.CapacityObservedReason, list("cpu", "32", "memory", "128Gi")),
		Machines: []Machine{{Deleting: true}, server(16, 64)},
	}
	if diff := cmp.Diff(want, given, equal); diff != "" {
		t.Errorf("facts (-before +after):\n%s", diff)
	}
}

func TestTemplateOf(t *testing.T) {
	const name, kind = "cluster.x-k8s.io/cloned-from-name", "cluster.x-k8s.io/cloned-from-groupkind"
	tests := map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a machine made from a template": {
			annotated(name, "workers", kind, "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"), "workers",
		},
		"a machine made by hand":                    {nil, ""},
		"a machine made from a template of others":  {annotated(name, "workers", kind, "OtherTemplate.example.com"), ""},
		"a machine that does not say of which kind": {annotated(name, "workers"), ""},
		"a machine that does not say of which name": {annotated(kind, TemplateKind), ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, ok := TemplateOf(tc.annotations)
			if !ok {
				got = ""
			}
			if got != tc.want {
				t.Errorf("template is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestServers(t *testing.T) {
	spec := func(change ...func(*infrav1.Metal3MachineSpec)) infrav1.Metal3MachineSpec {
		s := infrav1.Metal3MachineSpec{
			Image:        &infrav1.Image{URL: "http://images.example.com/a"},
			HostSelector: &infrav1.HostSelector{MatchLabels: map[string]string{"size": "large", "rack": "r1"}},
		}
		for _, f := range change {
			f(&s)
		}
		return s
	}
	tests := map[string]struct {
		other infrav1.Metal3MachineSpec
		same  bool
	}{
		"the same machine":      {spec(), true},
		"another image":         {spec(func(s *infrav1.Metal3MachineSpec) { s.Image.URL = "http://images.example.com/b" }), true},
		"another data template": {spec(func(s *infrav1.Metal3MachineSpec) { s.DataTemplate = &infrav1.Metal3ObjectRef{Name: "b"} }), true},
		"another label":         {spec(func(s *infrav1.Metal3MachineSpec) { s.HostSelector.MatchLabels["size"] = "small" }), false},
		"any server":            {spec(func(s *infrav1.Metal3MachineSpec) { s.HostSelector = nil }), false},
		"another place":         {spec(func(s *infrav1.Metal3MachineSpec) { s.FailureDomain = "row-1" }), false},
		"another cluster":       {spec(func(s *infrav1.Metal3MachineSpec) { s.IdentityRef = &infrav1.IdentityReference{Name: "remote"} }), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Servers(spec()) == Servers(tc.other); got != tc.same {
				t.Errorf("the same servers: %v, want %v", got, tc.same)
			}
		})
	}
}
