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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// movedClaim is paused, bound and of a Cluster.
func movedClaim() *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "machine", UID: "claim-uid", ResourceVersion: "7",
			Labels:      map[string]string{infrav1.MoveLabel: ""},
			Annotations: map[string]string{infrav1.BlockMoveAnnotation: infrav1.HostClaimManagerFieldOwner},
		},
		Spec: bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	setAssociated(c, metav1.ConditionTrue)
	return c
}

func setAssociated(c *bmov1alpha1.HostClaim, status metav1.ConditionStatus) {
	c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "tenant", Name: "host-0"}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: "x"})
}

// moveable is a claim whose host is at rest, with everything that a move needs.
func moveable(t *testing.T, edits ...func(*moveFacts)) moveFacts {
	t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "host-0", UID: "host-uid"}}
	host.Spec.Online, host.Status.PoweredOn, host.Status.Provisioning.State = true, true, bmov1alpha1.StateAvailable
	o := moveFacts{claim: movedClaim(), host: binding.Bind(host, movedClaim()), handOver: true}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

// made makes the host of a claim ready.
func made(t *testing.T) func(*moveFacts) {
	t.Helper()
	return func(o *moveFacts) {
		t.Helper()
		host, err := binding.ReadyToMove(o.host, o.claim)
		expect.NoError(t, err)
		o.host = host
	}
}

func lifted(o *moveFacts) { delete(o.claim.Annotations, infrav1.BlockMoveAnnotation) }

func withdrawn(o *moveFacts) { o.handOver = false }

func withoutHost(status metav1.ConditionStatus) func(*moveFacts) {
	return func(o *moveFacts) {
		o.host = nil
		setAssociated(o.claim, status)
	}
}

func onHost(key, value string) func(*moveFacts) {
	return func(o *moveFacts) { o.host.Annotations[key] = value }
}

func TestNextMove(t *testing.T) {
	tests := map[string]struct {
		given []func(*moveFacts)
		want  string
	}{
		"prepares a host at rest":                         {nil, "Prepare/ReadyToMove"},
		"goes on with a host that was prepared":           {[]func(*moveFacts){made(t)}, "Prepare/ReadyToMove"},
		"lets a prepared claim move":                      {[]func(*moveFacts){made(t), lifted}, "Ready/ReadyToMove"},
		"prepares again what lost its mark":               {[]func(*moveFacts){lifted}, "Prepare/ReadyToMove"},
		"keeps the host of another namespace":             {[]func(*moveFacts){func(o *moveFacts) { o.host.Namespace = "infra" }}, "Wait/HostInOtherNamespace"},
		"keeps a claim that does not know its host":       {[]func(*moveFacts){func(o *moveFacts) { setAssociated(o.claim, metav1.ConditionUnknown) }}, "Wait/BindingInProgress"},
		"keeps a claim whose status was lost":             {[]func(*moveFacts){func(o *moveFacts) { o.claim.Status = bmov1alpha1.HostClaimStatus{} }}, "Wait/BindingInProgress"},
		"keeps what clusterctl would leave behind":        {[]func(*moveFacts){func(o *moveFacts) { o.unlabeled = []string{"x"} }}, "Wait/HostsNotMovable"},
		"keeps a claim that belongs to no Cluster":        {[]func(*moveFacts){func(o *moveFacts) { o.claim.Labels = nil }}, "Wait/HostsNotMovable"},
		"keeps a host that clusterctl did not find":       {[]func(*moveFacts){func(o *moveFacts) { o.host.Labels = nil }}, "Wait/HostsNotMovable"},
		"keeps hosts that may not move":                   {[]func(*moveFacts){withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps hosts that may not move any more":          {[]func(*moveFacts){made(t), lifted, withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps a prepared host that may not move":         {[]func(*moveFacts){made(t), withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps a host that another client paused":         {[]func(*moveFacts){onHost(bmov1alpha1.PausedAnnotation, "")}, "Wait/HostPaused"},
		"keeps a detached host":                           {[]func(*moveFacts){onHost(bmov1alpha1.DetachedAnnotation, "")}, "Wait/HostPaused"},
		"keeps a host that goes":                          {[]func(*moveFacts){func(o *moveFacts) { o.host.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }}, "Wait/HostPaused"},
		"keeps a host that is rebooted":                   {[]func(*moveFacts){onHost(bmov1alpha1.RebootAnnotationPrefix, "")}, "Wait/HostNotAtRest"},
		"lets a claim without a host go that has no mark": {[]func(*moveFacts){withoutHost(metav1.ConditionUnknown), lifted}, "Nothing/"},
		"keeps an intent":                                 {[]func(*moveFacts){withoutHost(metav1.ConditionUnknown)}, "Wait/BindingInProgress"},
		"keeps a claim that lost its host":                {[]func(*moveFacts){withoutHost(metav1.ConditionFalse)}, "Wait/BindingInProgress"},
		"frees a claim that has no host": {[]func(*moveFacts){withoutHost(metav1.ConditionFalse), func(o *moveFacts) {
			o.claim.Status.BareMetalHost = nil
		}}, "Unblock/"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := nextMove(moveable(t, tt.given...))
			got := string(plan.Step) + "/" + plan.Reason
			expect.That(t, got == tt.want, "nextMove() = %s (%s), want %s", got, plan.Message, tt.want)
			expect.That(t, (plan.Message == "") == (plan.Reason == ""), "reason %q comes with message %q", plan.Reason, plan.Message)
		})
	}
}

func TestMovable(t *testing.T) {
	tests := map[string]struct {
		plan movePlan
		want string // empty for absent
	}{
		"while its host is not ready": {movePlan{Step: moveWait, Reason: "HostNotAtRest", Message: "x"}, "False/HostNotAtRest"},
		"when its host is ready":      {movePlan{Step: moveDone, Reason: "ReadyToMove", Message: "x"}, "True/ReadyToMove"},
		"of a claim without a host":   {movePlan{Step: moveNothing}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := bmov1alpha1.HostClaimStatus{}
			setMovable(&status, movePlan{Step: moveWait, Reason: "Before"}, 1, now)
			setMovable(&status, tt.plan, 2, now)
			expect.Equal(t, tt.want, short(status)[infrav1.MovableCondition])
		})
	}
}

func TestMovableIsGoneWhenTheClaimIsNotPausedAnyMore(t *testing.T) {
	claim := newClaim()
	setMovable(&claim.Status, movePlan{Step: moveWait, Reason: "HandOverNotConfirmed"}, 1, now)
	given := given{claim: claim, step: binding.Keep, host: newHost("tenant")}
	found := meta.FindStatusCondition(given.status(true, now).Conditions, infrav1.MovableCondition)
	expect.That(t, found == nil, "Movable is %v, want none", found)
}
