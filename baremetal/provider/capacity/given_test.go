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
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestParse(t *testing.T) {
	const capacity, nodeInfo = infrav1.CapacityAnnotation, infrav1.NodeInfoAnnotation
	tests := map[string]struct {
		annotations map[string]string
		want        Given
		problem     string // part of the message; empty for none
	}{
		"nothing given":                     {},
		"annotations of others say nothing": {annotations: annotated("capacity", "cpu=1")},
		"resources of any name": {
			annotations: annotated(capacity, "cpu=500m,memory=1Gi,nvidia.com/gpu=1,hugepages-2Mi=4Mi"),
			want:        Given{Capacity: list("cpu", "500m", "memory", "1Gi", "nvidia.com/gpu", "1", "hugepages-2Mi", "4Mi")},
		},
		"blanks around names and values": {
			annotations: annotated(capacity, " cpu = 4 , memory = 8Gi "), want: Given{Capacity: list("cpu", "4", "memory", "8Gi")},
		},
		"architecture and operating system": {
			annotations: annotated(nodeInfo, "operatingSystem=linux,architecture=s390x"),
			want:        Given{NodeInfo: infrav1.NodeInfo{Architecture: infrav1.ArchitectureS390X, OperatingSystem: "linux"}},
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
			got, err := Parse(tc.annotations)
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("given (-want +got):\n%s", diff)
			}
			var invalid *InvalidError
			switch {
			case tc.problem == "" && err == nil:
			case !errors.As(err, &invalid):
				t.Fatalf("error is %v", err)
			case !strings.Contains(invalid.Problem, tc.problem):
				t.Errorf("problem is %q, want %q", invalid.Problem, tc.problem)
			case tc.annotations[invalid.Annotation] != invalid.Value:
				t.Errorf("the error names annotation %q with value %q", invalid.Annotation, invalid.Value)
			}
		})
	}
}

// The remedy that the messages name must be one.
func TestExamplesAreUnderstood(t *testing.T) {
	got, err := Parse(annotated(infrav1.CapacityAnnotation, capacityExample, infrav1.NodeInfoAnnotation, nodeInfoExample))
	want := Given{
		Capacity: list("cpu", "32", "memory", "128Gi"),
		NodeInfo: infrav1.NodeInfo{Architecture: infrav1.ArchitectureAMD64, OperatingSystem: "linux"},
	}
	if diff := cmp.Diff(want, got, equal); diff != "" || err != nil {
		t.Errorf("error %v, given (-want +got):\n%s", err, diff)
	}
}
