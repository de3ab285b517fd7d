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

package claim

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/policy"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// foreignData shows an empty HardwareData under every name.
type foreignData struct{ client.Reader }

func (foreignData) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return nil
}

func TestForeignHardwareDataIsWaitedForAndNoError(t *testing.T) {
	claim := newClaim()
	desired := binding.HardwareData(claim, newHost("infra"), nil, nil)
	s := &scope{claim: claim, hardware: refTo(desired)}
	expect.NoError(t, (&Reconciler{Live: foreignData{}}).updateHardwareData(t.Context(), s, desired))
	want := binding.Wait{
		Reason:  infrav1.HardwareDataNameTakenReason,
		Message: "HardwareData machine-hostclaim exists and was not made for this claim; remove it",
	}
	expect.Equal(t, want, s.waits.publish)
	expect.That(t, s.hardware == nil, "points at the foreign object %v", s.hardware)
}

// cachedFacts shows published facts as the cache holds them.
type cachedFacts struct {
	client.Client
	data *bmov1alpha1.HardwareData
}

func (c cachedFacts) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if data, ok := object.(*bmov1alpha1.HardwareData); ok {
		c.data.DeepCopyInto(data)
	}
	return nil
}

func TestHardwareIsReadOnlyWhenTheFactsAreNotCurrent(t *testing.T) {
	withHardware := func(h *bmov1alpha1.BareMetalHost) {
		h.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{RAMMebibytes: 1024}
		h.Labels = map[string]string{"rack": "a1"}
	}
	admitted := policy.Evaluate(nil, policy.Namespace{Name: "infra"}, policy.OwnWithoutPolicy)
	claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Namespace = "infra" })
	tests := map[string]struct {
		edit  func(*bmov1alpha1.BareMetalHost)
		reads bool
	}{
		"not while nothing has changed":  {func(*bmov1alpha1.BareMetalHost) {}, false},
		"not for what is not published":  {func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = true }, false},
		"when a label has changed":       {func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "a2" }, true},
		"when the hardware has changed":  {func(h *bmov1alpha1.BareMetalHost) { h.Status.HardwareDetails.RAMMebibytes = 2048 }, true},
		"when the boot MAC has been set": {func(h *bmov1alpha1.BareMetalHost) { h.Spec.BootMACAddress = "02:00:00:00:00:01" }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{claim: claim, decision: admitted, host: newHost("infra", withHardware), step: binding.Keep}
			data := facts(s, s.host)
			binding.StripFacts(data)
			tt.edit(s.host)
			binding.StripHost(s.host)
			l := &live{}
			err := (&Reconciler{Client: cachedFacts{data: data}, Live: l}).publish(t.Context(), s)
			if reads := l.count > 0; reads != tt.reads || (err == nil) == reads {
				t.Errorf("read %d times, %v, want a read: %t", l.count, err, tt.reads)
			}
			expect.That(t, s.hardware != nil, "the claim points at no facts")
		})
	}
}
