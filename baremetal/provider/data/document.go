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

package data

import (
	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/facts"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/metadata"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/networkdata"
)

// Document is one of the documents that a server finds on its config drive. Each
// is in a secret of its own.
type Document struct {
	// Key is the key of the secret.
	Key string
	// Secret is the name of the secret, unless the Metal3Data names another one.
	Secret string
}

// Wanted lists the documents that a template asks for on behalf of a
// Metal3Machine: metadata first, then network data.
func Wanted(spec infrav1.Metal3DataTemplateSpec, machine string) []Document {
	var wanted []Document
	if spec.MetaData != nil {
		wanted = append(wanted, Document{Key: metadata.SecretKey, Secret: MetaDataSecret(machine)})
	}
	if spec.NetworkData != nil {
		wanted = append(wanted, Document{Key: networkdata.SecretKey, Secret: machine + "-networkdata"})
	}
	return wanted
}

// MetaDataSecret is the name of the secret with the metadata of a Metal3Machine.
func MetaDataSecret(machine string) string {
	return machine + "-metadata"
}

// Render returns what the document with a key holds.
func Render(key string, spec infrav1.Metal3DataTemplateSpec, f facts.Facts) ([]byte, error) {
	if key == metadata.SecretKey {
		return metadata.Render(spec.MetaData, f)
	}
	return networkdata.Render(spec.NetworkData, f)
}
