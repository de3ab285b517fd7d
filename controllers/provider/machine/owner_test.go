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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestBeforeOwner shows that a machine which Cluster API is still making is not
// written: its second write to the machine would meet a conflict and give up.
func TestBeforeOwner(t *testing.T) {
	ownerless := func(c *cast) { c.owner, c.machine.OwnerReferences = nil, nil }
	dying := func(c *cast) {
		c.machine.DeletionTimestamp, c.machine.Finalizers = &noon, []string{"example.com/other"}
	}
	for name, tc := range map[string]struct {
		given   *cast
		age     time.Duration
		again   time.Duration
		written bool
	}{
		"a new one is looked at again at the deadline":   {given: newCast(ownerless), age: time.Minute, again: ownerDeadline - time.Minute},
		"so is one whose Machine is not seen yet":        {given: newCast(func(c *cast) { c.owner = nil }), again: ownerDeadline},
		"one past the deadline says so":                  {given: newCast(ownerless), age: ownerDeadline, written: true},
		"a paused one says nothing":                      {given: newCast(ownerless, func(c *cast) { c.cluster.Spec.Paused = ptr.To(true) }), age: ownerDeadline},
		"one that is being deleted is not held":          {given: newCast(ownerless, dying), age: ownerDeadline},
		"one that is deleted with its owner is not held": {given: newCast(dying), age: ownerDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, tc.given)
			recorder := w.record()
			w.Clock = clocktesting.NewFakePassiveClock(w.machine.CreationTimestamp.Add(tc.age))
			w.get(w.machine)
			before := w.machine.DeepCopy()
			result, err := w.Reconcile(t.Context(), request(w.namespace, "m-1"))
			if err != nil || result.RequeueAfter != tc.again {
				t.Errorf("result is %v, error %v, want another look after %v", result, err, tc.again)
			}
			w.settled()
			w.get(w.machine)
			expect.Equal(t, before.Finalizers, w.machine.Finalizers)
			if !tc.written {
				if w.machine.ResourceVersion != before.ResourceVersion || len(recorder.Events) > 0 {
					t.Errorf("the machine was written: %v, %d events", w.machine.Status.Conditions, len(recorder.Events))
				}
				return
			}
			w.expect(w.machine, "AssociateBareMetalHost/False/WaitingForMetal3MachineOwnerRef", "owner")
			w.expect(w.machine, "Ready/False/WaitingForMetal3MachineOwnerRef", "owner")
			expect.Equal(t, 1, len(recorder.Events))
		})
	}
}

// TestOwnerComes shows that a machine that had reported the lack of an owner goes on.
func TestOwnerComes(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) { c.machine.OwnerReferences = nil }))
	w.Clock = clocktesting.NewFakePassiveClock(w.machine.CreationTimestamp.Add(ownerDeadline))
	w.settled()
	w.edit(w.machine, func() {
		w.machine.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: w.owner.Name, UID: w.owner.UID,
		}}
	})
	m := w.settled()
	w.expect(m, "AssociateBareMetalHost/False/HostClaimNotBound", "")
	expect.Equal(t, []string{infrav1.MachineFinalizer}, m.Finalizers)
}
