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
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// What a correct annotation looks like, for those who wrote another one.
const (
	capacityExample = "cpu=32,memory=128Gi"
	nodeInfoExample = "architecture=amd64,operatingSystem=linux"
)

// maxName bounds the name of an operating system, as the API does.
const maxName = 63

// Given is what the annotations of a template say. It wins over what machines show.
type Given struct {
	// Capacity is nil if the annotations give none.
	Capacity corev1.ResourceList
	// NodeInfo has empty fields where the annotations say nothing.
	NodeInfo infrav1.NodeInfo
}

// InvalidError is the error of an annotation that cannot be understood. Its text is
// for the author of the template.
type InvalidError struct {
	Annotation, Value, Problem, Example string
}

// Error names annotation, value, fault and remedy.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("annotation %s is %q, %s: write it like %q, or remove it", e.Annotation, e.Value, e.Problem, e.Example)
}

// Parse reads the annotations of a template. The error is an *InvalidError.
func Parse(annotations map[string]string) (Given, error) {
	var given Given
	if text, ok := annotations[infrav1.CapacityAnnotation]; ok {
		list, problem := parseCapacity(text)
		if problem != "" {
			return Given{}, &InvalidError{infrav1.CapacityAnnotation, text, problem, capacityExample}
		}
		given.Capacity = list
	}
	if text, ok := annotations[infrav1.NodeInfoAnnotation]; ok {
		info, problem := parseNodeInfo(text)
		if problem != "" {
			return Given{}, &InvalidError{infrav1.NodeInfoAnnotation, text, problem, nodeInfoExample}
		}
		given.NodeInfo = info
	}
	return given, nil
}

func parseCapacity(text string) (list corev1.ResourceList, problem string) {
	list = corev1.ResourceList{}
	return list, eachPair(text, func(name, value string) string {
		if len(validation.IsQualifiedName(name)) > 0 {
			return fmt.Sprintf("and %q is no name of a resource", name)
		}
		quantity, err := resource.ParseQuantity(value)
		switch {
		case err != nil:
			return fmt.Sprintf("and %q is no quantity of %s", value, name)
		case quantity.Sign() <= 0:
			return fmt.Sprintf("and %q of %s is not more than zero", value, name)
		}
		list[corev1.ResourceName(name)] = quantity
		return ""
	})
}

func parseNodeInfo(text string) (info infrav1.NodeInfo, problem string) {
	problem = eachPair(text, func(name, value string) string {
		switch name {
		case "architecture":
			info.Architecture = infrav1.Architecture(value)
			if !slices.Contains(architectures(), info.Architecture) {
				return fmt.Sprintf("and %q is none of the architectures amd64, arm64, s390x and ppc64le", value)
			}
		case "operatingSystem":
			info.OperatingSystem = value
			if value == "" || len(value) > maxName {
				return fmt.Sprintf("and the name of an operating system has 1 to %d characters", maxName)
			}
		default:
			return fmt.Sprintf("and %q is neither architecture nor operatingSystem", name)
		}
		return ""
	})
	return info, problem
}

// eachPair splits name=value pairs at their commas and stops at the first problem.
func eachPair(text string, take func(name, value string) (problem string)) string {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found:
			return fmt.Sprintf("and %q is no pair of name and value", strings.TrimSpace(pair))
		case seen[name]:
			return fmt.Sprintf("and names %s twice", name)
		}
		seen[name] = true
		if problem := take(name, value); problem != "" {
			return problem
		}
	}
	return ""
}

func architectures() []infrav1.Architecture {
	return []infrav1.Architecture{
		infrav1.ArchitectureAMD64, infrav1.ArchitectureARM64, infrav1.ArchitectureS390X, infrav1.ArchitecturePPC64LE,
	}
}
