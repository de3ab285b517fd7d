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
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// life plays the life of a machine until it is provisioned, and returns the last of it and
// how many times it was written.
func life(t *testing.T, holdFor time.Duration) (*infrav1.Metal3Machine, int) {
	t.Helper()
	w := newWorld(t, interceptor.Funcs{}, newCast(func(c *cast) {
		c.secret.Name = "other"
		c.machine.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
	}))
	w.HoldReports = holdFor
	writes, version := 0, w.machine.ResourceVersion
	pass := func() *infrav1.Metal3Machine {
		t.Helper()
		for range 2 {
			if _, err := w.Reconcile(t.Context(), request(w.namespace, "m-1")); err != nil {
				t.Fatal(err)
			}
			w.get(w.machine)
			if w.machine.ResourceVersion != version {
				writes, version = writes+1, w.machine.ResourceVersion
			}
		}
		return w.machine
	}
	pass() // finalizer, and the wait for the secret
	w.secret = w.secret.DeepCopy()
	w.secret.Name, w.secret.ResourceVersion, w.secret.UID = "boot", "", ""
	w.create(w.secret)
	pass() // claim
	w.claim = &bmov1alpha1.HostClaim{}
	w.claim.Name = claims.Name("m-1")
	report := func(conditions ...metav1.Condition) {
		t.Helper()
		w.get(w.claim)
		told := w.claim.DeepCopy()
		told.Status.Conditions = conditions
		told.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: w.namespace, Name: "host-1"}
		told.Status.HardwareData = &bmov1alpha1.ObjectReference{Namespace: w.namespace, Name: "m-1-hostclaim"}
		w.server.SetStatus(t, w.claim, told)
		pass()
	}
	report(metav1.Condition{
		Type: "Associated", Status: metav1.ConditionUnknown, Reason: infrav1.BindingReason, Message: "being bound", LastTransitionTime: noon,
	})
	report(holds("Associated")) // without facts
	w.create(&bmov1alpha1.HardwareData{ObjectMeta: metav1.ObjectMeta{Name: "m-1-hostclaim", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: bmov1alpha1.GroupVersion.String(), Kind: claims.Kind, Name: w.claim.Name, UID: w.claim.UID,
	}}}})
	pass() // image
	report(holds("Associated"), holds("Provisioned"))
	return pass(), writes
}

// TestStationsThatPassAtOnceAreNotReported counts the writes of a machine, and shows that
// those which are saved lose nothing.
func TestStationsThatPassAtOnceAreNotReported(t *testing.T) {
	all, many := life(t, 0)
	held, few := life(t, time.Hour)
	if few >= many {
		t.Errorf("%d writes with reports that are held back, %d without", few, many)
	}
	namespaces := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Namespace" }, cmp.Ignore())
	times := cmp.Comparer(func(_, _ metav1.Time) bool { return true })
	if diff := cmp.Diff(all.Status, held.Status, namespaces, times); diff != "" {
		t.Errorf("what is lost (-all stations +held back):\n%s", diff)
	}
}

// TestAStationThatLastsIsReported shows that a wait is told when it does not end at once.
func TestAStationThatLastsIsReported(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, newCast())
	w.HoldReports = 3 * time.Second
	clock := clocktesting.NewFakePassiveClock(noon.Time)
	w.Clock = clock
	if _, err := w.settle(); err != nil {
		t.Fatal(err)
	}
	claim := &bmov1alpha1.HostClaim{}
	claim.Name = claims.Name("m-1")
	w.get(claim)
	told := claim.DeepCopy()
	told.Status.Conditions = []metav1.Condition{{
		Type: "Associated", Status: metav1.ConditionUnknown, Reason: infrav1.BindingReason, Message: "being bound", LastTransitionTime: noon,
	}}
	w.server.SetStatus(t, claim, told)
	key := types.NamespacedName{Namespace: w.namespace, Name: "m-1"}
	for _, step := range []struct {
		second int
		said   string
		again  time.Duration
	}{
		{0, "Waiting for the hostclaim manager", 3 * time.Second},
		{2, "Waiting for the hostclaim manager", time.Second},
		{3, "being bound", 0},
	} {
		clock.SetTime(noon.Add(time.Duration(step.second) * time.Second))
		result, err := w.Reconcile(t.Context(), request(key.Namespace, key.Name))
		if err != nil || result.RequeueAfter != step.again {
			t.Errorf("after %d s: again in %s, error %v, want %s", step.second, result.RequeueAfter, err, step.again)
		}
		w.get(w.machine)
		w.expect(w.machine, "AssociateBareMetalHost/False/HostClaimNotBound", step.said)
	}
}

// TestMachineThatTurnsBackAndForth shows what the API server of an identityRef can have
// written by a claim that changes all the time, and that the end is told nevertheless.
func TestMachineThatTurnsBackAndForth(t *testing.T) {
	t.Run("in words", func(t *testing.T) {
		turnsBackAndForth(t, "AssociateBareMetalHost/False/HostClaimNotBound", func(i int, claim *bmov1alpha1.HostClaim) string {
			claim.Status.Conditions = []metav1.Condition{{
				Type: "Associated", Status: metav1.ConditionFalse, Reason: "NoHost", Message: fmt.Sprintf("turn %d.", i), LastTransitionTime: noon,
			}}
			return fmt.Sprintf("turn %d.", i)
		})
	})
	t.Run("in the host that it has", func(t *testing.T) {
		turnsBackAndForth(t, "AssociateBareMetalHost/False/HardwareDataMissing", func(i int, claim *bmov1alpha1.HostClaim) string {
			claim.Status.Conditions = []metav1.Condition{holds("Associated")}
			claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: claim.Namespace, Name: fmt.Sprintf("host-%d", i)}
			return ""
		})
	})
}

// turnsBackAndForth has the claim changed again and again, and wants the condition in the end.
func turnsBackAndForth(t *testing.T, condition string, change func(i int, claim *bmov1alpha1.HostClaim) string) {
	t.Helper()
	w := newWorld(t, interceptor.Funcs{}, newCast())
	clock := clocktesting.NewFakePassiveClock(noon.Time)
	w.Clock = clock
	if _, err := w.settle(); err != nil {
		t.Fatal(err)
	}
	claim := &bmov1alpha1.HostClaim{}
	claim.Name = claims.Name("m-1")
	w.get(claim)
	turn := func(i int) time.Duration {
		t.Helper()
		told := claim.DeepCopy()
		change(i, told)
		w.server.SetStatus(t, claim, told)
		w.get(claim)
		result, err := w.Reconcile(t.Context(), request(w.namespace, "m-1"))
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	writes, version := 0, w.machine.ResourceVersion
	for i := range 100 {
		turn(i)
		w.get(w.machine)
		if w.machine.ResourceVersion != version {
			writes, version = writes+1, w.machine.ResourceVersion
		}
	}
	if writes == 0 || writes > 20 {
		t.Errorf("100 turns cost %d writes", writes)
	}
	clock.SetTime(clock.Now().Add(turn(100)))
	turn(100)
	w.get(w.machine)
	w.expect(w.machine, condition, change(100, claim))
}
