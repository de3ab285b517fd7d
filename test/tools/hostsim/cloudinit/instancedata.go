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

package cloudinit

import (
	"maps"
	"strings"
)

// InstanceData lists the names that a user data template may use on a machine
// whose config drive carries this metadata: the metadata itself as
// ds.meta_data, the standardized v1 names, and these once more without prefix.
// A key with hyphens can also be written with underscores.
func InstanceData(metaData map[string]any) map[string]any {
	meta := maps.Clone(metaData)
	if meta == nil {
		meta = map[string]any{}
	}
	// The OpenStack reader of cloud-init renames two keys.
	if uuid, ok := meta["uuid"]; ok {
		meta["instance-id"] = uuid
	}
	if hostname, ok := meta["hostname"]; ok {
		meta["local-hostname"] = hostname
	}
	v1 := map[string]any{}
	if id, ok := meta["instance-id"]; ok {
		v1["instance_id"] = id
	}
	if name := Hostname(meta); name != "" {
		v1["local_hostname"] = name
	}
	if zone, ok := meta["availability_zone"]; ok {
		v1["availability_zone"] = zone
	}
	vars := maps.Clone(v1)
	vars["v1"] = v1
	vars["ds"] = map[string]any{"meta_data": meta}
	return aliased(vars)
}

// Hostname is the name that cloud-init gives the machine: local-hostname up to
// its first dot, or nothing if the metadata has none.
func Hostname(metaData map[string]any) string {
	name, _ := metaData["local-hostname"].(string)
	if hostname, ok := metaData["hostname"].(string); ok {
		name = hostname
	}
	short, _, _ := strings.Cut(name, ".")
	return short
}

// aliased adds an underscore spelling for every hyphenated key, at all levels.
// A key that is really there wins over an alias.
func aliased(in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		if nested, ok := value.(map[string]any); ok {
			value = aliased(nested)
		}
		out[key] = value
		alias := strings.ReplaceAll(key, "-", "_")
		if _, taken := in[alias]; !taken {
			out[alias] = value
		}
	}
	return out
}
