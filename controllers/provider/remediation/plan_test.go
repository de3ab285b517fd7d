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

package remediation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestTaintComesAndGoes(t *testing.T) {
	other := corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}
	before := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{other}}}
	with := withTaint(before)
	if tainted(before) || !tainted(with) || len(with.Spec.Taints) != 2 {
		t.Errorf("tainted is %v", with.Spec.Taints)
	}
	expect.Equal(t, before, withoutTaint(with))
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
			if got := mustLeave(&tc.pod); got != tc.want {
				t.Errorf("must leave: %t", got)
			}
		})
	}
}

func TestReadHostState(t *testing.T) {
	claim := newObjects(held, is("Provisioned", metav1.ConditionFalse, "Unsynchronized", ""),
		is("Synchronized", metav1.ConditionFalse, "PowerChangesLimited", "wait\n")).claim
	claim.Annotations["reboot.metal3.io/fencing"] = ""
	for name, tc := range map[string]struct {
		got, want hostState
	}{
		"its own":         {readHostState(claim, "m-1"), hostState{State: claims.Read(claim), held: true}},
		"that of another": {readHostState(claim, "m-2"), hostState{State: claims.Read(claim), heldByOther: true}},
		"none":            {readHostState(nil, "m-1"), hostState{}},
	} {
		if diff := cmp.Diff(tc.want, tc.got, cmp.AllowUnexported(hostState{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestInTurn(t *testing.T) {
	remediation := func(name string, age time.Duration, changes ...func(*objects)) *infrav1.Metal3Remediation {
		r := newObjects(changes...).remediation
		r.Name, r.CreationTimestamp = name, metav1.NewTime(start.Add(-age))
		return r
	}
	unfinalized := func(o *objects) { o.remediation.Finalizers = nil }
	// Each is before the ones that follow.
	order := []*infrav1.Metal3Remediation{
		remediation("z", 0, in(running, 0, 0)),
		remediation("y", time.Hour),
		remediation("a", time.Minute, in(running, 0, 0), deleted, unfinalized),
		remediation("b", time.Minute),
	}
	for i, a := range order {
		for j, b := range order {
			if got := inTurn(a, b); cmp.Diff(got < 0, i < j) != "" || (got == 0) != (i == j) {
				t.Errorf("%s compares to %s as %d", a.Name, b.Name, got)
			}
		}
	}
	paused := func(o *objects) { o.remediation.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }
	for name, tc := range map[string]struct {
		changes []func(*objects)
		want    bool
	}{
		"a new one":                   {nil, true},
		"one that is paused":          {[]func(*objects){paused}, false},
		"one that is deleted":         {[]func(*objects){deleted}, false},
		"one that has begun":          {[]func(*objects){in(waiting, 0, 0), paused, deleted}, true},
		"one that has come to an end": {[]func(*objects){in(waiting, 0, 0), deleted, unfinalized}, false},
	} {
		if got := mayAct(newObjects(tc.changes...).remediation); got != tc.want {
			t.Errorf("%s may act: %t", name, got)
		}
	}
}

func TestStrategy(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy *infrav1.RemediationStrategy
		limit    int32
		timeout  time.Duration
	}{
		"left out": {nil, 1, 10 * time.Minute},
		"empty":    {&infrav1.RemediationStrategy{}, 1, 10 * time.Minute},
		"given":    {&infrav1.RemediationStrategy{RetryLimit: 3, TimeoutSeconds: 100}, 3, 100 * time.Second},
	} {
		r := &infrav1.Metal3Remediation{Spec: infrav1.Metal3RemediationSpec{Strategy: tc.strategy}}
		if limitOf(r) != tc.limit || timeoutOf(r) != tc.timeout {
			t.Errorf("%s: limit %d, timeout %s", name, limitOf(r), timeoutOf(r))
		}
	}
}

func TestHoldOffKeysAreValidAndDiffer(t *testing.T) {
	long := strings.Repeat("long.name-", 25)
	for _, name := range []string{"m-1", long + "a"} {
		if faults := validation.IsQualifiedName(holdOffKey(name)); len(faults) > 0 {
			t.Errorf("%s: %v", holdOffKey(name), faults)
		}
	}
	if holdOffKey(long+"a") == holdOffKey(long+"b") {
		t.Error("two long names have one key")
	}
}
