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

package remediations

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

func TestTaintComesAndGoes(t *testing.T) {
	other := corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}
	before := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{other}}}
	with := Taint(before)
	if Tainted(before) || !Tainted(with) || len(with.Spec.Taints) != 2 {
		t.Errorf("tainted is %v", with.Spec.Taints)
	}
	if diff := cmp.Diff(before, Untaint(with)); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
}

func TestMustLeave(t *testing.T) {
	now := metav1.Now()
	tolerating := func(t ...corev1.Toleration) corev1.Pod { return corev1.Pod{Spec: corev1.PodSpec{Tolerations: t}} }
	terminating := tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists})
	terminating.DeletionTimestamp = &now
	tests := map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"any Pod":                                  {corev1.Pod{}, true},
		"a Pod of a DaemonSet":                     {tolerating(corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), true},
		"a Pod that tolerates all":                 {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), false},
		"a Pod that tolerates all that evict":      {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), false},
		"a Pod that tolerates all that schedule":   {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}), true},
		"a Pod that tolerates the taint":           {tolerating(corev1.Toleration{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown"}), false},
		"a Pod that tolerates another value of it": {tolerating(corev1.Toleration{Key: corev1.TaintNodeOutOfService, Value: "other"}), true},
		"a toleration of nothing":                  {tolerating(corev1.Toleration{}), true},
		"a Pod that is being deleted":              {terminating, true},
		"a Pod that has ended":                     {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := MustLeave(&tc.pod); got != tc.want {
				t.Errorf("must leave: %t", got)
			}
		})
	}
}

func TestReadClaim(t *testing.T) {
	claim := &bmov1alpha1.HostClaim{}
	claim.Annotations = map[string]string{Key("m-1"): HoldOff, "reboot.metal3.io/fencing": ""}
	claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Name: "host"}
	claim.Status.Conditions = []metav1.Condition{
		{Type: "Associated", Status: metav1.ConditionTrue}, {Type: "Synchronized", Status: metav1.ConditionFalse, Reason: "PowerChangesLimited", Message: "wait\n"},
	}
	claim.Spec.PoweredOn, claim.Status.PoweredOn = true, true
	power := claims.Power{Wanted: true, On: true, Problem: "wait"}
	if diff := cmp.Diff(Claim{Phase: claims.Failed, Held: true, Power: power}, ReadClaim(claim, "m-1")); diff != "" {
		t.Errorf("its own (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Claim{Phase: claims.Failed, Rival: true, Power: power}, ReadClaim(claim, "m-2")); diff != "" {
		t.Errorf("that of another (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Claim{}, ReadClaim(nil, "m-1")); diff != "" {
		t.Errorf("none (-want +got):\n%s", diff)
	}
}

func TestKeysAreValidAndDiffer(t *testing.T) {
	long := strings.Repeat("long.name-", 25)
	for _, name := range []string{"m-1", long + "a"} {
		if faults := validation.IsQualifiedName(Key(name)); len(faults) > 0 {
			t.Errorf("%s: %v", Key(name), faults)
		}
	}
	if Key(long+"a") == Key(long+"b") {
		t.Error("two long names have one key")
	}
}
