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

package configdrive

import (
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/yaml"
)

// MetaData is the meta_data.json of the host's drive: what baremetal-operator
// says about every host, with the keys of the given document, JSON or YAML, put
// over it one by one.
func MetaData(host *bmov1alpha1.BareMetalHost, document []byte) (map[string]any, error) {
	merged := map[string]any{
		"uuid":             string(host.UID),
		"metal3-namespace": host.Namespace,
		"metal3-name":      host.Name,
		"local-hostname":   host.Name,
		"local_hostname":   host.Name,
		"name":             host.Name,
	}
	var own map[string]any
	if err := yaml.Unmarshal(document, &own); err != nil {
		return nil, fmt.Errorf("not a map in JSON or YAML: %w", err)
	}
	maps.Copy(merged, own)
	return merged, nil
}
