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

package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/text"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/conditions"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func condition(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

func TestReport(t *testing.T) {
	running := condition(infrav1.PausedCondition, metav1.ConditionFalse, infrav1.NotPausedReason, "")
	broken := errors.New("broken")
	rendered := infrav1.Metal3DataStatus{
		Ready: ptr.To(true),
		Conditions: []metav1.Condition{
			running, condition(infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.SecretsReadyReason, ""),
		},
	}
	tests := map[string]struct {
		status  infrav1.Metal3DataStatus
		deleted bool
		cluster *clusterv1.Cluster
		wait    conditions.Wait
		err     error
		want    infrav1.Metal3DataStatus
	}{
		"all secrets are there": {
			status: infrav1.Metal3DataStatus{Ready: ptr.To(false), ErrorMessage: "old"},
			want:   rendered,
		},
		"what comes by itself is no error": {
			wait: conditions.Wait{Reason: infrav1.WaitingForHostClaimReason, Message: "waiting"},
			want: infrav1.Metal3DataStatus{
				Ready: ptr.To(false),
				Conditions: []metav1.Condition{
					running, condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.WaitingForHostClaimReason, "waiting"),
				},
			},
		},
		"what a user has to mend is an error, and all of it is told": {
			wait: join([]conditions.Wait{{Reason: infrav1.PoolNotFoundReason, Message: "no pool a"}, {Reason: infrav1.PoolNotFoundReason, Message: "no pool b"}}),
			want: infrav1.Metal3DataStatus{
				Ready: ptr.To(false), ErrorMessage: "no pool a; no pool b",
				Conditions: []metav1.Condition{
					running, condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.PoolNotFoundReason, "no pool a; no pool b"),
				},
			},
		},
		"an error without words changes nothing that was said": {
			status: rendered,
			err:    broken,
			want:   rendered,
		},
		"an error without words at the beginning points to the log": {
			err: broken,
			want: infrav1.Metal3DataStatus{
				Ready: ptr.To(false),
				Conditions: []metav1.Condition{
					running, condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.NotReadyReason, "An error occurred, see the log of the provider"),
				},
			},
		},
		"a deleted one is not ready": {
			status:  rendered,
			deleted: true,
			want: infrav1.Metal3DataStatus{
				Ready: ptr.To(false),
				Conditions: []metav1.Condition{
					running, condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.DeletingReason, "The Metal3Data is being deleted"),
				},
			},
		},
		"a pause is shown, and nothing else is touched": {
			status:  infrav1.Metal3DataStatus{Ready: ptr.To(true)},
			cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}},
			want: infrav1.Metal3DataStatus{
				Ready: ptr.To(true),
				Conditions: []metav1.Condition{condition(
					infrav1.PausedCondition, metav1.ConditionTrue, infrav1.PausedReason, `Cluster "a" is paused, its spec.paused is true`,
				)},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &scope{data: &infrav1.Metal3Data{Status: *tc.status.DeepCopy()}, cluster: tc.cluster}
			if tc.deleted {
				now := metav1.Now()
				s.data.DeletionTimestamp = &now
			}
			report(s, tc.wait, tc.err)
			anyTime := cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")
			anyOrder := cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })
			expect.Equal(t, tc.want, s.data.Status, anyTime, anyOrder)
		})
	}
}

// TestNoteOfAnEventFits shows a condition that the API server accepts, and a note that it would refuse.
func TestNoteOfAnEventFits(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	s := &scope{before: &infrav1.Metal3Data{}, data: &infrav1.Metal3Data{Status: infrav1.Metal3DataStatus{Conditions: []metav1.Condition{
		condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.RenderingFailedReason, strings.Repeat("é", 2000)),
	}}}}
	(&Reconciler{Recorder: recorder}).announce(t.Context(), s)
	_, note, found := strings.Cut(<-recorder.Events, infrav1.RenderingFailedReason+" ")
	expect.That(t, found && len(note) <= text.MaxNote && strings.HasSuffix(note, "é…"), "the note has %d bytes: %s", len(note), note)
}

func TestOutdated(t *testing.T) {
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{condition(infrav1.ReadyCondition, status, "Any", "")}
	}
	tests := map[string]struct {
		told   []metav1.Condition
		leaves bool
		want   bool
	}{
		"nothing was told":                        {},
		"a fault that was mended":                 {told: ready("False"), want: true},
		"secrets that are to be rendered again":   {told: ready("True"), want: true},
		"secrets that go with the machine":        {told: ready("True"), leaves: true},
		"a fault of data that goes":               {told: ready("False"), leaves: true, want: true},
		"a pause that ended before it was ready":  {told: []metav1.Condition{condition(infrav1.PausedCondition, "True", "Paused", "")}, want: true},
		"a start that was told, before the first": {told: []metav1.Condition{condition(infrav1.PausedCondition, "False", "NotPaused", "")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := &infrav1.Metal3Data{Status: infrav1.Metal3DataStatus{Conditions: tt.told}}
			expect.Equal(t, tt.want, outdated(data, tt.leaves))
		})
	}
}

func TestCut(t *testing.T) {
	if got := text.Cut(strings.Repeat("ä", 300), maxMessage); len(got) != 512 {
		t.Errorf("%d bytes", len(got))
	}
	if got := text.Cut("a"+strings.Repeat("ä", 300), maxMessage); len(got) != 511 {
		t.Errorf("%d bytes: a character was cut in two", len(got))
	}
}

func TestIndexes(t *testing.T) {
	data := &infrav1.Metal3Data{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
			{Kind: "Metal3DataClaim", Name: "claim"}, {Kind: "Metal3Machine", Name: "machine"},
		}},
		Status: infrav1.Metal3DataStatus{Conditions: []metav1.Condition{
			condition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.PoolNotFoundReason, ""),
		}},
	}
	data.Spec = infrav1.Metal3DataSpec{
		Claim:    &infrav1.Metal3ObjectRef{Name: "claim"},
		MetaData: &corev1.SecretReference{Name: "a"}, NetworkData: &corev1.SecretReference{Name: "b"},
	}
	got := [][]string{claimOf(data), machineOf(data), secretsOf(data), reasonOf(data)}
	want := [][]string{{"claim"}, {"machine"}, {"a", "b"}, {infrav1.PoolNotFoundReason}}
	expect.Equal(t, want, got)
	empty := &infrav1.Metal3Data{}
	for _, keys := range [][]string{claimOf(empty), machineOf(empty), secretsOf(empty), reasonOf(empty)} {
		if strings.Join(keys, "") != "" { // watch.Index drops the empty ones
			t.Errorf("an empty one has keys %v", keys)
		}
	}
}
