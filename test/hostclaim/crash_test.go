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

package hostclaim

import (
	"fmt"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// life plays the whole life of a claim: it binds, provisions, is deleted and
// goes. When the manager dies, another takes over.
func life(w *world, c *harness.Crash) {
	w.T.Helper()
	w.policy(nil, w.tenant)
	// The infrastructure's network data must not reach the tenant, so that an
	// empty one is copied as well.
	w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) { h.Spec.PreprovisioningNetworkDataName = "infra-network" })
	w.host("host-1", nil)
	w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
	stop := w.managerWith(c.Write)
	w.claim("machine", withImage("boot"))
	replaced, deleted := false, false
	w.G.Eventually(func() bool {
		if c.Dead.Load() && !replaced {
			replaced = true
			stop()
			w.manager()
		}
		claim := &bmov1alpha1.HostClaim{}
		if err := w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "machine"}, claim); apierrors.IsNotFound(err) {
			return true
		}
		if !deleted && harness.Condition(claim.Status.Conditions, "Ready") == "True/Provisioned" {
			w.OK(w.Delete(w.Ctx, claim))
			deleted = true
		}
		return false
	}).Should(gomega.BeTrue())
	if !deleted {
		w.T.Error("the claim went without being deleted")
	}
	w.expectPristine("host-0")
	w.expectPristine("host-1")
}

// TestManagerMayDieBetweenAnyTwoWrites lets the manager die with each of its
// writes, before the write arrives and after it, and wants the same end.
func TestManagerMayDieBetweenAnyTwoWrites(t *testing.T) {
	healthy := &harness.Crash{}
	life(newWorld(t).withRights(), healthy)
	for at := int32(1); at <= healthy.Writes.Load(); at++ {
		for _, arrives := range []bool{true, false} {
			t.Run(fmt.Sprintf("write %d arrives %t", at, arrives), func(t *testing.T) {
				life(newWorld(t).withRights(), &harness.Crash{At: at, Arrives: arrives})
			})
		}
	}
	t.Logf("the life of a claim takes %d writes", healthy.Writes.Load())
}
