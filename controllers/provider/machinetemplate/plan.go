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
	"cmp"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hardware"
)

// What a correct annotation looks like, for the author of another one.
const (
	capacityExample = "cpu=32,memory=128Gi"
	nodeInfoExample = "architecture=amd64,operatingSystem=linux"
)

// maxName bounds the name of an operating system, as the API does.
const maxName = 63

// server is what one machine of a template has shown. A zero field is not known: the machine
// has no server yet, no Node yet, or their facts lack it.
type server struct {
	host hardware.Host
	node corev1.NodeSystemInfo
}

// capacityOf returns what a machine of the template has:
//
//	what the annotation gives   wins
//	cpu and memory              are the least that a server of its machines has
//	without such a server       they stay as they were published last
func capacityOf(given, published corev1.ResourceList, servers []server) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, found := published[name]; found {
			list[name] = quantity
		}
	}
	maps.Copy(list, least(servers))
	maps.Copy(list, given)
	return list
}

// least is of each resource the least that a server has.
func least(servers []server) corev1.ResourceList {
	list := corev1.ResourceList{}
	lower := func(name corev1.ResourceName, quantity *resource.Quantity) {
		if known, found := list[name]; quantity.Sign() > 0 && (!found || quantity.Cmp(known) < 0) {
			list[name] = *quantity
		}
	}
	for _, s := range servers {
		lower(corev1.ResourceCPU, resource.NewQuantity(int64(s.host.CPUs), resource.DecimalSI))
		lower(corev1.ResourceMemory, resource.NewQuantity(int64(s.host.MemoryMebibytes)<<20, resource.BinarySI))
	}
	return list
}

// nodeInfoOf returns what the Node of a machine will be: what the annotation gives, or what all servers
// agree on, or what was published last; nil if nothing is known.
func nodeInfoOf(given infrav1.NodeInfo, published *infrav1.NodeInfo, servers []server) *infrav1.NodeInfo {
	if published == nil {
		published = &infrav1.NodeInfo{}
	}
	info := infrav1.NodeInfo{
		Architecture:    cmp.Or(given.Architecture, agreed(published.Architecture, servers, server.architecture)),
		OperatingSystem: cmp.Or(given.OperatingSystem, agreed(published.OperatingSystem, servers, server.operatingSystem)),
	}
	if info == (infrav1.NodeInfo{}) {
		return nil
	}
	return &info
}

// agreed is what all servers with a value have in common, or what was published if none has one. Servers that
// contradict each other leave nothing: a wrong label would strand the Pods that ask for it.
func agreed[T ~string](published T, servers []server, of func(server) T) T {
	var common T
	for _, s := range servers {
		said := of(s)
		if said != "" && common != "" && common != said {
			return ""
		}
		common = cmp.Or(common, said)
	}
	return cmp.Or(common, published)
}

// architecture believes the Node before the inspection of the server.
func (s server) architecture() infrav1.Architecture {
	return cmp.Or(architectureOf(s.node.Architecture), architectureOf(s.host.Architecture))
}

func (s server) operatingSystem() string { return s.node.OperatingSystem }

// architectureOf is the architecture of that name in Kubernetes or in an inspection; empty if there is none.
func architectureOf(name string) infrav1.Architecture {
	switch name {
	case "amd64", "x86_64":
		return infrav1.ArchitectureAMD64
	case "arm64", "aarch64":
		return infrav1.ArchitectureARM64
	case "s390x":
		return infrav1.ArchitectureS390X
	case "ppc64le":
		return infrav1.ArchitecturePPC64LE
	default:
		return ""
	}
}

// parseAnnotations reads what the annotations of a template give; it is empty where they give nothing.
// The error names annotation, value, fault and remedy.
func parseAnnotations(annotations map[string]string) (capacity corev1.ResourceList, info infrav1.NodeInfo, err error) {
	capacity = corev1.ResourceList{}
	err = eachPair(annotations, infrav1.CapacityAnnotation, capacityExample, func(name, value string) string {
		quantity, problem := parseResource(name, value)
		capacity[corev1.ResourceName(name)] = quantity
		return problem
	})
	if err == nil {
		err = eachPair(annotations, infrav1.NodeInfoAnnotation, nodeInfoExample, func(name, value string) string {
			return setNodeInfo(&info, name, value)
		})
	}
	return capacity, info, err
}

// eachPair splits the name=value pairs of an annotation at their commas and stops at the first problem.
func eachPair(annotations map[string]string, key, example string, take func(name, value string) (problem string)) error {
	text, found := annotations[key]
	if !found {
		return nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, paired := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		var problem string
		switch {
		case !paired:
			problem = fmt.Sprintf("and %q is no pair of name and value", name)
		case seen[name]:
			problem = fmt.Sprintf("and names %s twice", name)
		default:
			problem = take(name, value)
		}
		if problem != "" {
			return fmt.Errorf("annotation %s is %q, %s: write it like %q, or remove it", key, text, problem, example)
		}
		seen[name] = true
	}
	return nil
}

func parseResource(name, value string) (quantity resource.Quantity, problem string) {
	if len(validation.IsQualifiedName(name)) > 0 {
		return quantity, fmt.Sprintf("and %q is no name of a resource", name)
	}
	quantity, err := resource.ParseQuantity(value)
	switch {
	case err != nil:
		return quantity, fmt.Sprintf("and %q is no quantity of %s", value, name)
	case quantity.Sign() <= 0:
		return quantity, fmt.Sprintf("and %q of %s is not more than zero", value, name)
	}
	return quantity, ""
}

func setNodeInfo(info *infrav1.NodeInfo, name, value string) (problem string) {
	switch name {
	case "architecture":
		info.Architecture = infrav1.Architecture(value)
		if value == "" || architectureOf(value) != info.Architecture {
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
}
