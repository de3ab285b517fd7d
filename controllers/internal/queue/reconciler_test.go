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

package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestConflictsAreRequeued(t *testing.T) {
	conflict, broken := apierrors.NewConflict(schema.GroupResource{Resource: "hosts"}, "a", errors.New("changed")), errors.New("broken")
	deadline := ctrl.Result{RequeueAfter: time.Hour}
	again := ctrl.Result{RequeueAfter: afterConflict}
	tests := map[string]struct {
		result ctrl.Result
		err    error
		want   ctrl.Result
		fails  bool
	}{
		"a pass that ends well keeps its deadline": {result: deadline, want: deadline},
		"a conflict":                                 {err: conflict, want: again},
		"a conflict beside a deadline":               {result: deadline, err: conflict, want: again},
		"a conflict that was wrapped":                {err: fmt.Errorf("bind: %w", fmt.Errorf("patch: %w", conflict)), want: again},
		"conflicts that were joined":                 {err: fmt.Errorf("pass: %w", errors.Join(conflict, fmt.Errorf("b: %w", conflict))), want: again},
		"an error":                                   {err: broken, fails: true},
		"an error that was joined with a conflict":   {err: errors.Join(conflict, broken), fails: true},
		"… and wrapped":                              {err: fmt.Errorf("pass: %w", errors.Join(fmt.Errorf("a: %w", conflict), broken)), fails: true},
		"an object that does not exist":              {err: apierrors.NewNotFound(schema.GroupResource{}, "a"), fails: true},
		"an error that must not be tried once again": {err: reconcile.TerminalError(broken), fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := Conflicts(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return tt.result, tt.err }))
			got, err := r.Reconcile(t.Context(), object("a", "", 0))
			expect.That(t, got == tt.want && (err != nil) == tt.fails && (!tt.fails || errors.Is(err, tt.err)), "Reconcile() = %v, %v", got, err)
		})
	}
}

// An object that is turned back and forth, ten times in a second for ten minutes, has a burst
// of passes and then one every two seconds, and is looked at once more after the last event.
func TestPassesOfAnObjectAreSpacedOut(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	passes := map[ctrl.Request]int{}
	r := Spaced(reconcile.Func(func(_ context.Context, object ctrl.Request) (ctrl.Result, error) {
		passes[object]++
		return ctrl.Result{}, nil
	}), clock)
	pass := func(object ctrl.Request) time.Duration {
		result, err := r.Reconcile(t.Context(), object)
		expect.NoError(t, err)
		return result.RequeueAfter
	}
	unruly, other := object("a", "", 0), object("a", "", 1)
	var wait time.Duration
	for range 6000 {
		if wait = pass(unruly); wait > passEvery {
			t.Fatalf("the next pass is put off for %s", wait)
		}
		clock.SetTime(clock.Now().Add(100 * time.Millisecond))
	}
	want := passBurst + 300
	expect.That(t, passes[unruly] >= want-1 && passes[unruly] <= want, "%d passes, want %d", passes[unruly], want)
	pass(unruly)
	if wait = pass(unruly); wait == 0 {
		t.Fatal("the last event had its pass at once")
	}
	before := passes[unruly]
	clock.SetTime(clock.Now().Add(wait))
	if wait = pass(unruly); wait > 0 || passes[unruly] != before+1 {
		t.Errorf("at the time that was told, the object has to wait for another %s", wait)
	}
	if wait = pass(other); wait > 0 {
		t.Errorf("another object waits for %s", wait)
	}
}

func TestLimiter(t *testing.T) {
	limiter := Limiter()
	failing := reconcile.Request{NamespacedName: types.NamespacedName{Name: "failing"}}
	var got []time.Duration
	for range 13 {
		got = append(got, limiter.When(failing))
	}
	want := []time.Duration{
		10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond,
		320 * time.Millisecond, 640 * time.Millisecond, 1280 * time.Millisecond, 2560 * time.Millisecond, 5120 * time.Millisecond,
		10240 * time.Millisecond, 15 * time.Second, 15 * time.Second,
	}
	expect.Equal(t, want, got)
	expect.Equal(t, firstRetry, limiter.When(reconcile.Request{}))
	limiter.Forget(failing)
	expect.Equal(t, firstRetry, limiter.When(failing))
}
