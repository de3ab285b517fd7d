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

package inplace

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// machineSet is what the Machines of a MachineSet are made from.
type machineSet struct {
	// Version is the version of Kubernetes; empty means none.
	Version string
	// Infrastructure and Bootstrap are the templates; Bootstrap is nil if there is none.
	Infrastructure, Bootstrap map[string]any
}

// setPatches are the changes that are made in place, as JSON patches of the present objects. An object
// without a patch stays as it is.
type setPatches struct {
	Set, Infrastructure, Bootstrap []byte
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// fields are those of a Metal3Machine that a rebuild brings about. All others ask for another
// server, for other data or for another claim.
func fields() []string { return []string{"image", "customDeploy"} }

// covered returns what a rebuild of the servers changes on the way from current to desired;
// Cluster API replaces the Machines if something is left. Why is the reason if nothing is covered.
func covered(current, desired machineSet) (patches setPatches, why string) {
	for _, s := range []machineSet{current, desired} {
		if kindOf(s.Infrastructure) != (schema.GroupKind{Group: infrav1.GroupName, Kind: "Metal3MachineTemplate"}) {
			return setPatches{}, "The machines are not made from a Metal3MachineTemplate"
		}
		if kindOf(s.Bootstrap) != (schema.GroupKind{Group: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfigTemplate"}) {
			return setPatches{}, "The bootstrap data is not made from a KubeadmConfigTemplate, so that no new data can be made for a server that joins again"
		}
	}
	if current.Version != desired.Version {
		patches.Set = jsonOf(change("/spec/template/spec/version", current.Version != "", desired.Version != "", desired.Version))
	}
	before, after := specOf(current.Infrastructure), specOf(desired.Infrastructure)
	var operations []operation
	for _, field := range fields() {
		was, had := before[field]
		is, has := after[field]
		if !reflect.DeepEqual(was, is) {
			operations = append(operations, change("/spec/template/spec/"+field, had, has, is)...)
		}
	}
	patches.Infrastructure = jsonOf(operations)
	if before, after := specOf(current.Bootstrap), specOf(desired.Bootstrap); !reflect.DeepEqual(before, after) {
		patches.Bootstrap = jsonOf(change("/spec/template/spec", before != nil, after != nil, after))
	}
	return patches, ""
}

// change is the operation that brings a value about; none where there is no value before and after.
func change(path string, had, has bool, value any) []operation {
	switch {
	case has && value != nil: // null is as good as absent
		return []operation{{Op: "add", Path: path, Value: value}} // also replaces
	case had:
		return []operation{{Op: "remove", Path: path}}
	default:
		return nil
	}
}

// jsonOf is nil for no operations.
func jsonOf(operations []operation) []byte {
	if len(operations) == 0 {
		return nil
	}
	text, err := json.Marshal(operations)
	if err != nil {
		panic(fmt.Sprintf("values that were read from JSON are none: %v", err))
	}
	return text
}

// specOf is spec.template.spec; nil if there is none.
func specOf(template map[string]any) map[string]any {
	for _, field := range []string{"spec", "template", "spec"} {
		template, _ = template[field].(map[string]any)
	}
	return template
}

func kindOf(object map[string]any) schema.GroupKind {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind).GroupKind()
}
