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

package cluster

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestBeforeOwner shows that an object which no Cluster owns yet is not written
// before the deadline.
func TestBeforeOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		given   *cast
		age     time.Duration
		again   time.Duration
		written bool
	}{
		"a new one is looked at again at the deadline": {given: newCast(ownerless), age: time.Minute, again: ownerDeadline - time.Minute},
		"one past the deadline says so":                {given: newCast(ownerless), age: ownerDeadline, written: true},
		"a paused one says nothing": {given: newCast(ownerless, func(c *cast) {
			c.infra.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}), age: ownerDeadline},
		"one that is being deleted is not held": {given: newCast(ownerless, func(c *cast) {
			c.infra.DeletionTimestamp, c.infra.Finalizers = &noon, []string{"example.com/other"}
		}), age: ownerDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, tc.given)
			recorder := events.NewFakeRecorder(10)
			before := &infrav1.Metal3Cluster{}
			expect.NoError(t, server.Client.Get(t.Context(), w.key, before))
			w.Recorder, w.Clock = recorder, clocktesting.NewFakePassiveClock(before.CreationTimestamp.Add(tc.age))
			result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: w.key})
			expect.That(t, err == nil && result.RequeueAfter == tc.again, "result is %v, error %v, want another look after %v", result, err, tc.again)
			infra, err := w.settle()
			expect.NoError(t, err)
			expect.That(t, len(infra.Finalizers) == len(before.Finalizers), "finalizers are %v", infra.Finalizers)
			if !tc.written {
				if infra.ResourceVersion != before.ResourceVersion || len(recorder.Events) > 0 {
					t.Errorf("the object was written: %v, %d events", infra.Status.Conditions, len(recorder.Events))
				}
				return
			}
			c := meta.FindStatusCondition(infra.Status.Conditions, infrav1.BaremetalInfrastructureReadyCondition)
			expect.That(t, c != nil && c.Reason == infrav1.WaitingForClusterOwnerReason, "condition is %v", c)
		})
	}
}
