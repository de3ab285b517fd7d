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

package machine

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// TestSecretsForbidden shows that a missing RoleBinding is named, and that the
// machine goes on by itself once it is there.
func TestSecretsForbidden(t *testing.T) {
	t.Parallel()
	tn := &tenant{Tenant: server.NewTenant(t, "tenant"), claim: machineName}
	tn.begins()
	tn.waits("AssociateBareMetalHost", "SecretsForbidden", "get secrets", tn.Namespace, "RoleBinding", secretsRole)
	tn.G.Expect(server.Bind(tn.Ctx, harness.ProviderAccount(), tn.Namespace, secretsRole)).To(gomega.Succeed())
	tn.claimed()
}
