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

package machinetemplate

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
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

// sized is a server of that size.
func sized(cpus, gibibytes int) server {
	return server{host: hardware.Host{CPUs: cpus, MemoryMebibytes: gibibytes << 10}}
}

// equal compares quantities by value.
var equal = cmp.Options{
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }), cmpopts.EquateEmpty(),
}

func TestCapacityOf(t *testing.T) {
	half, whole := list("cpu", "16", "memory", "64Gi"), list("cpu", "32", "memory", "128Gi")
	tests := map[string]struct {
		given, published corev1.ResourceList
		servers          []server
		want             corev1.ResourceList
	}{
		"nothing before the first machine":                    {},
		"nothing while no machine has a server":               {servers: []server{{}, {}}},
		"what the only server has":                            {servers: []server{sized(32, 128)}, want: whole},
		"the least of each resource, be it of another server": {servers: []server{sized(32, 64), sized(16, 128)}, want: half},
		"a machine without server does not count":             {servers: []server{{}, sized(32, 128)}, want: whole},
		"what was published stays when no machine is left":    {published: whole, want: whole},
		"a lesser server counts at once":                      {published: whole, servers: []server{sized(32, 128), sized(16, 64)}, want: half},
		"a lesser server counts no more when it has gone":     {published: half, servers: []server{sized(32, 128)}, want: whole},
		"what is given wins over what servers have":           {given: half, servers: []server{sized(32, 128)}, want: half},
		"what is given may be more than servers have":         {given: whole, servers: []server{sized(16, 64)}, want: whole},
		"what is given needs no machine":                      {given: list("cpu", "4"), want: list("cpu", "4")},
		"what was given stays until a machine has a server":   {published: half, want: half},
		"what was given is no bound for servers afterwards":   {published: half, servers: []server{sized(32, 128)}, want: whole},
		"a resource that only was given goes with its annotation": {
			published: list("cpu", "32", "memory", "128Gi", "nvidia.com/gpu", "2"), want: whole,
		},
		"a resource that no inspection finds is added to what servers have": {
			given: list("nvidia.com/gpu", "2"), servers: []server{sized(32, 128)}, want: list("cpu", "32", "memory", "128Gi", "nvidia.com/gpu", "2"),
		},
		"a server that hides its memory says nothing of memory": {
			servers: []server{sized(32, 128), sized(16, 0)}, want: list("cpu", "16", "memory", "128Gi"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			published := maps.Clone(tc.published)
			got := capacityOf(tc.given, tc.published, tc.servers)
			expect.Equal(t, tc.want, got, equal)
			if diff := cmp.Diff(got, capacityOf(tc.given, got, tc.servers), equal); diff != "" {
				t.Errorf("the same servers have another capacity the next time (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(published, tc.published, equal); diff != "" {
				t.Errorf("what was published has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestNodeInfoOf(t *testing.T) {
	node := func(architecture, system string) server {
		return server{node: corev1.NodeSystemInfo{Architecture: architecture, OperatingSystem: system}}
	}
	inspected := func(name string) server { return server{host: hardware.Host{Architecture: name}} }
	info := func(architecture infrav1.Architecture, system string) *infrav1.NodeInfo {
		return &infrav1.NodeInfo{Architecture: architecture, OperatingSystem: system}
	}
	tests := map[string]struct {
		given     infrav1.NodeInfo
		published *infrav1.NodeInfo
		servers   []server
		want      *infrav1.NodeInfo
	}{
		"nothing is known without machines":                 {},
		"nothing is said of an architecture without a name": {servers: []server{inspected("mips")}},
		"x86_64 of the inspection is amd64":                 {servers: []server{inspected("x86_64")}, want: info("amd64", "")},
		"aarch64 of the inspection is arm64":                {servers: []server{inspected("aarch64")}, want: info("arm64", "")},
		"s390x has one name":                                {servers: []server{inspected("s390x")}, want: info("s390x", "")},
		"ppc64le has one name":                              {servers: []server{inspected("ppc64le")}, want: info("ppc64le", "")},
		"the Node knows better than the inspection":         {servers: []server{{host: inspected("x86_64").host, node: node("arm64", "").node}}, want: info("arm64", "")},
		"the operating system is that of the Nodes":         {servers: []server{node("amd64", "linux"), inspected("x86_64")}, want: info("amd64", "linux")},
		"machines that contradict each other say nothing":   {servers: []server{inspected("x86_64"), inspected("aarch64")}},
		"a contradiction takes back what was published":     {published: info("amd64", "linux"), servers: []server{inspected("x86_64"), inspected("aarch64")}, want: info("", "linux")},
		"what was published stays when no machine is left":  {published: info("amd64", "linux"), want: info("amd64", "linux")},
		"machines of today win over those that have gone":   {published: info("amd64", "linux"), servers: []server{node("arm64", "linux")}, want: info("arm64", "linux")},
		"what is given wins, each on its own": {
			given:   *info("arm64", ""),
			servers: []server{node("amd64", "linux")}, want: info("arm64", "linux"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, nodeInfoOf(tc.given, tc.published, tc.servers)) })
	}
}

func TestParseAnnotations(t *testing.T) {
	const capacity, nodeInfo = infrav1.CapacityAnnotation, infrav1.NodeInfoAnnotation
	type given struct {
		capacity corev1.ResourceList
		nodeInfo infrav1.NodeInfo
	}
	tests := map[string]struct {
		annotations map[string]string
		want        given
		problem     string // part of the message; empty for none
	}{
		"nothing given":                     {},
		"annotations of others say nothing": {annotations: annotated("capacity", "cpu=1")},
		"resources of any name": {
			annotations: annotated(capacity, "cpu=500m,memory=1Gi,nvidia.com/gpu=1,hugepages-2Mi=4Mi"),
			want:        given{capacity: list("cpu", "500m", "memory", "1Gi", "nvidia.com/gpu", "1", "hugepages-2Mi", "4Mi")},
		},
		"blanks around names and values": {
			annotations: annotated(capacity, " cpu = 4 , memory = 8Gi "), want: given{capacity: list("cpu", "4", "memory", "8Gi")},
		},
		"architecture and operating system": {
			annotations: annotated(nodeInfo, "operatingSystem=linux,architecture=s390x"),
			want:        given{nodeInfo: infrav1.NodeInfo{Architecture: infrav1.ArchitectureS390X, OperatingSystem: "linux"}},
		},
		"empty":                             {annotations: annotated(capacity, ""), problem: `"" is no pair of name and value`},
		"a comma too many":                  {annotations: annotated(capacity, "cpu=1,"), problem: `"" is no pair of name and value`},
		"no quantity":                       {annotations: annotated(capacity, "memory=500mb"), problem: `"500mb" is no quantity of memory`},
		"nothing of a resource":             {annotations: annotated(capacity, "cpu=0"), problem: `"0" of cpu is not more than zero`},
		"less than nothing":                 {annotations: annotated(capacity, "cpu=-1"), problem: `"-1" of cpu is not more than zero`},
		"a colon instead of an equals sign": {annotations: annotated(capacity, "cpu:1"), problem: `"cpu:1" is no pair of name and value`},
		"no name of a resource":             {annotations: annotated(capacity, "a b=1"), problem: `"a b" is no name of a resource`},
		"a resource twice":                  {annotations: annotated(capacity, "cpu=1,cpu=2"), problem: "names cpu twice"},
		"an unknown architecture":           {annotations: annotated(nodeInfo, "architecture=x86_64"), problem: `"x86_64" is none of the architectures amd64, arm64, s390x and ppc64le`},
		"an operating system without name":  {annotations: annotated(nodeInfo, "operatingSystem="), problem: "1 to 63 characters"},
		"an operating system with a long name": {
			annotations: annotated(nodeInfo, "operatingSystem="+strings.Repeat("x", 64)), problem: "1 to 63 characters",
		},
		"something else about Nodes": {annotations: annotated(nodeInfo, "kernel=6"), problem: `"kernel" is neither architecture nor operatingSystem`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got given
			var err error
			got.capacity, got.nodeInfo, err = parseAnnotations(tc.annotations)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) {
					t.Errorf("error is %v, want %q", err, tc.problem)
				}
				for annotation, text := range tc.annotations {
					if err != nil && !strings.Contains(err.Error(), annotation) {
						t.Errorf("error %v does not name %s=%s", err, annotation, text)
					}
				}
				return
			}
			if diff := cmp.Diff(tc.want, got, equal, cmp.AllowUnexported(given{})); diff != "" || err != nil {
				t.Errorf("error %v, given (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The examples in the messages must be valid.
func TestExamplesAreUnderstood(t *testing.T) {
	capacity, info, err := parseAnnotations(annotated(infrav1.CapacityAnnotation, capacityExample, infrav1.NodeInfoAnnotation, nodeInfoExample))
	if diff := cmp.Diff(list("cpu", "32", "memory", "128Gi"), capacity, equal); diff != "" || err != nil {
		t.Errorf("error %v, capacity (-want +got):\n%s", err, diff)
	}
	if want := (infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64, OperatingSystem: "linux"}); info != want {
		t.Errorf("node info is %v", info)
	}
}
