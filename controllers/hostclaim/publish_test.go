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
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/lease"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// foreignData shows an empty HardwareData under every name.
type foreignData struct{ client.Reader }

func (foreignData) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return nil
}

func TestForeignHardwareDataIsWaitedForAndNoError(t *testing.T) {
	s := &scope{claim: newClaim(), step: lease.Keep, host: newHost("infra")}
	desired := lease.HardwareData(s.claim, s.host, lease.Published{})
	out := (&Reconciler{Live: foreignData{}}).updateHardwareData(t.Context(), s, desired)
	if out.Err() != nil {
		t.Errorf("error %v, want to wait for the watch", out.Err())
	}
	want := []progress.Wait{{
		Reason:  infrav1.HardwareDataNameTakenReason,
		Message: "HardwareData machine-hostclaim exists and was not made for this claim; remove it",
	}}
	if diff := cmp.Diff(want, out.Waits()); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if s.hardware != nil {
		t.Errorf("points at the foreign object %v", s.hardware)
	}
	if diff := cmp.Diff([]string{"machine-hostclaim"}, factsValues(&bmov1alpha1.HostClaim{ObjectMeta: s.claim.ObjectMeta})); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}
