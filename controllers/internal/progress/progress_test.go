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

package progress

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestResult(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	broken := errors.New("broken")
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "one", errors.New("newer"))
	tests := map[string]struct {
		outcome Outcome
		want    ctrl.Result
		wantErr error
	}{
		"a step that is done asks for nothing": {},
		"a wait asks for nothing, since a watch wakes it": {
			outcome: Waiting("HostNotBound", "no host yet"),
		},
		"a deadline is turned into the time that is left": {
			outcome: Until(now.Add(time.Minute), "Reserved", "reserved"),
			want:    ctrl.Result{RequeueAfter: time.Minute},
		},
		"a deadline that has passed wakes at once": {
			outcome: Until(now.Add(-time.Minute), "Reserved", "reserved"),
			want:    ctrl.Result{RequeueAfter: time.Millisecond},
		},
		"the earlier of two deadlines wins": {
			outcome: Until(now.Add(time.Hour), "A", "a").And(Until(now.Add(time.Second), "B", "b")),
			want:    ctrl.Result{RequeueAfter: time.Second},
		},
		"an error comes before a deadline": {
			outcome: Until(now.Add(time.Hour), "A", "a").And(Failed(broken)),
			wantErr: broken,
		},
		"a write that met a newer object is no error, and is tried again shortly": {
			outcome: Failed(fmt.Errorf("write the host: %w", conflict)).And(Failed(fmt.Errorf("free it: %w", ErrStale))),
			want:    ctrl.Result{RequeueAfter: StaleDelay},
		},
		"a cache that is late has until the deadline": {
			outcome: Behind(now.Add(time.Second), "a claim"),
			want:    ctrl.Result{RequeueAfter: time.Second},
		},
		"a conflict beside it is tried again shortly": {
			outcome: Behind(now.Add(time.Second), "a claim").And(Failed(conflict)),
			want:    ctrl.Result{RequeueAfter: StaleDelay},
		},
		"an error beside it is an error": {
			outcome: Behind(now.Add(time.Second), "a claim").And(Failed(broken)),
			wantErr: broken,
		},
		"an error beside a conflict is an error": {
			outcome: Failed(conflict).And(Failed(broken)),
			wantErr: broken,
		},
		"an error joined with a conflict is an error": {
			outcome: Failed(fmt.Errorf("patch: %w", errors.Join(conflict, broken))),
			wantErr: broken,
		},
		"joined conflicts are no error": {
			outcome: Failed(errors.Join(conflict, conflict)),
			want:    ctrl.Result{RequeueAfter: StaleDelay},
		},
		"a nil failure is done": {
			outcome: Failed(nil),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tc.outcome.Result(now)
			if !errors.Is(err, tc.wantErr) {
				t.Errorf("error %v, want %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnd(t *testing.T) {
	joined := Waiting("A", "a").And(Outcome{}).And(Waiting("B", "b"))
	want := []Wait{{Reason: "A", Message: "a"}, {Reason: "B", Message: "b"}}
	if diff := cmp.Diff(want, joined.Waits()); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if joined.Done() {
		t.Error("an outcome with waits is not done")
	}
	if !(Outcome{}).And(Outcome{}).Done() {
		t.Error("two steps that are done are done together")
	}
}
