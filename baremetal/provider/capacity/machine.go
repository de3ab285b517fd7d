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
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TemplateKind is how Cluster API writes the kind of our templates into what it makes
// of them.
const TemplateKind = "Metal3MachineTemplate." + infrav1.GroupName

// Machine is what one machine of the template has shown. A zero field means that this is
// not known, be it that there is no server yet or that its facts do not tell.
type Machine struct {
	// Deleting says that the machine is on its way out.
	Deleting bool
	// CPUs and MemoryMebibytes are those of its server.
	CPUs, MemoryMebibytes int
	// Hardware is the architecture of its server, in the words of the inspection.
	Hardware string
	// Architecture and OperatingSystem are what its Node says of itself.
	Architecture, OperatingSystem string
}

// TemplateOf is the name of the template that a Metal3Machine was made from, and
// whether it was made from one.
func TemplateOf(annotations map[string]string) (name string, ok bool) {
	name = annotations[clusterv1.TemplateClonedFromNameAnnotation]
	return name, len(validation.IsDNS1123Subdomain(name)) == 0 && annotations[clusterv1.TemplateClonedFromGroupKindAnnotation] == TemplateKind
}

// shown is what the server of the machine has of what a server tells.
func (m Machine) shown() corev1.ResourceList {
	list := corev1.ResourceList{}
	if m.CPUs > 0 {
		list[corev1.ResourceCPU] = *resource.NewQuantity(int64(m.CPUs), resource.DecimalSI)
	}
	if m.MemoryMebibytes > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(int64(m.MemoryMebibytes)<<20, resource.BinarySI)
	}
	return list
}

// architecture believes the Node before the inspection of the server.
func (m Machine) architecture() infrav1.Architecture {
	for _, name := range []string{m.Architecture, m.Hardware} {
		switch name {
		case "amd64", "x86_64":
			return infrav1.ArchitectureAMD64
		case "arm64", "aarch64":
			return infrav1.ArchitectureARM64
		case "s390x":
			return infrav1.ArchitectureS390X
		case "ppc64le":
			return infrav1.ArchitecturePPC64LE
		}
	}
	return ""
}

// Servers identifies the servers that machines of this spec ask for: equal text, equal
// question. Everything else of a machine has no say in which server it gets.
func Servers(spec infrav1.Metal3MachineSpec) string {
	question := infrav1.Metal3MachineSpec{
		HostSelector: spec.HostSelector, FailureDomain: spec.FailureDomain, IdentityRef: spec.IdentityRef,
	}
	text, err := json.Marshal(question)
	if err != nil {
		return "" // a spec that came from JSON goes back to JSON
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
