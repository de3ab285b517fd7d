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

package secretkeys

// The keys that baremetal-operator reads, by what the Secret is for.
const (
	UserData    = "userData"
	MetaData    = "metaData"
	NetworkData = "networkData"
)

// Bootstrap is the key of the Secrets of bootstrap providers of Cluster API. It is
// read where a Secret lacks the key of its purpose.
const Bootstrap = "value"

// Value returns what the data of a Secret holds for the purpose of a key: the
// content of the key, else that of Bootstrap. Network data is optional: without
// either key it is empty. For user data and metadata found is then false.
func Value(key string, data map[string][]byte) (value []byte, found bool) {
	for _, candidate := range [...]string{key, Bootstrap} {
		if value, found := data[candidate]; found {
			return value, true
		}
	}
	if key == NetworkData {
		return []byte{}, true
	}
	return nil, false
}
