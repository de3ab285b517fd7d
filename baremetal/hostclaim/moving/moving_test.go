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

package moving

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
)

// claim is paused, bound and of a Cluster.
func claim() *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "machine", UID: "claim-uid", ResourceVersion: "7",
			Labels:      map[string]string{infrav1.MoveLabel: ""},
			Annotations: map[string]string{infrav1.BlockMoveAnnotation: infrav1.HostClaimManagerFieldOwner},
		},
		Spec: bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	associated(c, metav1.ConditionTrue)
	return c
}

func associated(c *bmov1alpha1.HostClaim, status metav1.ConditionStatus) {
	c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "tenant", Name: "host-0"}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: bmov1alpha1.AssociatedCondition, Status: status, Reason: "x"})
}

// given is a claim whose host is at rest, with everything that a move needs.
func given(t *testing.T, edits ...func(*Observed)) Observed {
	t.Helper()
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "host-0", UID: "host-uid"}}
	host.Spec.Online, host.Status.PoweredOn, host.Status.Provisioning.State = true, true, bmov1alpha1.StateAvailable
	o := Observed{Claim: claim(), Host: binding.Bind(host, claim()), HandOver: true}
	for _, edit := range edits {
		edit(&o)
	}
	return o
}

// made makes the host of a claim ready.
func made(t *testing.T) func(*Observed) {
	t.Helper()
	return func(o *Observed) {
		t.Helper()
		host, err := binding.ReadyToMove(o.Host, o.Claim)
		if err != nil {
			t.Fatal(err)
		}
		o.Host = host
	}
}

func lifted(o *Observed) { delete(o.Claim.Annotations, infrav1.BlockMoveAnnotation) }

func withdrawn(o *Observed) { o.HandOver = false }

func hostless(status metav1.ConditionStatus) func(*Observed) {
	return func(o *Observed) {
		o.Host = nil
		associated(o.Claim, status)
	}
}

func onHost(key, value string) func(*Observed) {
	return func(o *Observed) { o.Host.Annotations[key] = value }
}

func TestNext(t *testing.T) {
	tests := map[string]struct {
		given []func(*Observed)
		want  string
	}{
		"prepares a host at rest":                         {nil, "Prepare/ReadyToMove"},
		"goes on with a host that was prepared":           {[]func(*Observed){made(t)}, "Prepare/ReadyToMove"},
		"lets a prepared claim move":                      {[]func(*Observed){made(t), lifted}, "Ready/ReadyToMove"},
		"prepares again what lost its mark":               {[]func(*Observed){lifted}, "Prepare/ReadyToMove"},
		"keeps the host of another namespace":             {[]func(*Observed){func(o *Observed) { o.Host.Namespace = "infra" }}, "Wait/HostInOtherNamespace"},
		"keeps a claim that does not know its host":       {[]func(*Observed){func(o *Observed) { associated(o.Claim, metav1.ConditionUnknown) }}, "Wait/BindingInProgress"},
		"keeps a claim whose status was lost":             {[]func(*Observed){func(o *Observed) { o.Claim.Status = bmov1alpha1.HostClaimStatus{} }}, "Wait/BindingInProgress"},
		"keeps what clusterctl would leave behind":        {[]func(*Observed){func(o *Observed) { o.Unlabeled = []string{"x"} }}, "Wait/HostsNotMovable"},
		"keeps a claim that belongs to no Cluster":        {[]func(*Observed){func(o *Observed) { o.Claim.Labels = nil }}, "Wait/HostsNotMovable"},
		"keeps a host that clusterctl did not find":       {[]func(*Observed){func(o *Observed) { o.Host.Labels = nil }}, "Wait/HostsNotMovable"},
		"keeps hosts that may not move":                   {[]func(*Observed){withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps hosts that may not move any more":          {[]func(*Observed){made(t), lifted, withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps a prepared host that may not move":         {[]func(*Observed){made(t), withdrawn}, "Wait/HandOverNotConfirmed"},
		"keeps a host that another client paused":         {[]func(*Observed){onHost(bmov1alpha1.PausedAnnotation, "")}, "Wait/HostPaused"},
		"keeps a detached host":                           {[]func(*Observed){onHost(bmov1alpha1.DetachedAnnotation, "")}, "Wait/HostPaused"},
		"keeps a host that goes":                          {[]func(*Observed){func(o *Observed) { o.Host.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }}, "Wait/HostPaused"},
		"keeps a host that is rebooted":                   {[]func(*Observed){onHost(bmov1alpha1.RebootAnnotationPrefix, "")}, "Wait/HostNotAtRest"},
		"lets a claim without a host go that has no mark": {[]func(*Observed){hostless(metav1.ConditionUnknown), lifted}, "Nothing/"},
		"keeps an intent":                                 {[]func(*Observed){hostless(metav1.ConditionUnknown)}, "Wait/BindingInProgress"},
		"keeps a claim that lost its host":                {[]func(*Observed){hostless(metav1.ConditionFalse)}, "Wait/BindingInProgress"},
		"frees a claim that has no host": {[]func(*Observed){hostless(metav1.ConditionFalse), func(o *Observed) {
			o.Claim.Status.BareMetalHost = nil
		}}, "Unblock/"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Next(given(t, tt.given...))
			if got := string(plan.Step) + "/" + plan.Reason; got != tt.want {
				t.Errorf("Next() = %s (%s), want %s", got, plan.Message, tt.want)
			}
			if (plan.Message == "") != (plan.Reason == "") {
				t.Errorf("reason %q comes with message %q", plan.Reason, plan.Message)
			}
		})
	}
}
