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

package machines

import (
	"fmt"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// NameFacts are the facts about the secret with the metadata that gives a server
// the name of its machine, for machines that get no other metadata.
type NameFacts struct {
	// Secret is the name that the secret has, or would have.
	Secret string
	// Exists says that it is there, with metadata in it. False unless NeedsName.
	Exists bool
	// Reason and Message tell why it can neither be used nor written; empty when
	// nothing is in the way.
	Reason, Message string
}

// NameRequest asks for that secret.
type NameRequest struct {
	// Secret is the name of the secret.
	Secret string
}

// NeedsName says whether a secret of our own has to give the server the name of its
// machine. Names of hosts are unique in one namespace only: two servers of one name
// from two of them would join their cluster as one Node. Metadata that a template
// renders sees to that itself, and metadata that the machine brings is taken as it is.
func NeedsName(o Observed) bool {
	spec := o.Machine.Spec
	return o.Facts && o.ForeignHost && o.Claim.Deployment == nil && firstName(spec.MetaData, o.Data.MetaData) == "" &&
		(!usesTemplate(spec) || o.Data.Ready)
}

// namesServer asks for the secret and waits for it.
func namesServer(o Observed, p *Plan) (waits bool) {
	const condition = infrav1.Metal3DataReadyCondition
	switch {
	case !NeedsName(o):
		return false
	case o.Name.Exists:
		p.Secrets.MetaData = o.Name.Secret
		return false
	case o.Name.Reason != "":
		p.wait(condition, o.Name.Reason, o.Name.Message)
	default:
		p.Name = &NameRequest{Secret: o.Name.Secret}
		p.wait(condition, infrav1.WaitingForMetal3DataReason, fmt.Sprintf(
			"Waiting for secret %q to be written, which gives the server the name of its machine", o.Name.Secret))
	}
	return true
}
