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

package retry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

func TestStalePassesOfAnObjectAreSpacedOut(t *testing.T) {
	now, one := time.Unix(0, 0), types.NamespacedName{Name: "one"}
	stale := progress.Failed(fmt.Errorf("write: %w", progress.ErrStale))
	log := &bytes.Buffer{}
	ctx := ctrl.LoggerInto(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	s := &Stale{}
	var got []time.Duration
	pass := func(object types.NamespacedName, out progress.Outcome) error {
		result, err := s.Result(ctx, object, out, now)
		got = append(got, result.RequeueAfter)
		return err
	}
	for range 11 {
		if err := pass(one, stale); err != nil {
			t.Fatal(err)
		}
	}
	want := []time.Duration{
		50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
		1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond, Last, Last,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if lines := bytes.Count(log.Bytes(), []byte("\n")); lines != 2 {
		t.Errorf("logged %d lines, want one for the third and one for the sixth pass:\n%s", lines, log)
	}

	// An event does not start the next pass before its time.
	if wait := s.TooEarly(one, now.Add(time.Second)); wait != Last-time.Second {
		t.Errorf("an event a second later waits %s", wait)
	}
	if wait := s.TooEarly(one, now.Add(Last)); wait != 0 {
		t.Errorf("an event in time waits %s", wait)
	}

	// Another object has a count of its own, and any other outcome begins anew.
	broken := errors.New("broken")
	if err := pass(types.NamespacedName{Name: "two"}, stale); err != nil || got[11] != progress.StaleDelay {
		t.Errorf("another object waits %s, %v", got[11], err)
	}
	if wait := s.TooEarly(types.NamespacedName{Name: "two"}, now); wait != 0 {
		t.Errorf("an event after one stale pass waits %s", wait)
	}
	if err := pass(one, progress.Failed(broken)); !errors.Is(err, broken) || got[12] != 0 {
		t.Errorf("an error gives %s, %v", got[12], err)
	}
	if err := pass(one, stale); err != nil || got[13] != progress.StaleDelay {
		t.Errorf("the first stale pass after an error waits %s, %v", got[13], err)
	}
}

// TestBehind shows which passes over an object that the controller has written are put off.
func TestBehind(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	object := types.NamespacedName{Namespace: "a", Name: "x"}
	tests := map[string]struct {
		shown        string
		after        time.Duration
		left, forget bool
		waiting      time.Duration
	}{
		"the cache shows the object as before":        {shown: "9", waiting: time.Second},
		"… for a while":                               {shown: "9", after: 300 * time.Millisecond, waiting: 700 * time.Millisecond},
		"… for too long":                              {shown: "9", after: time.Second},
		"the cache shows what was written":            {shown: "10"},
		"the cache shows what another one wrote":      {shown: "11"},
		"it was let go, and the cache shows that not": {shown: "10", left: true, waiting: time.Second},
		"… nor what was there before":                 {shown: "9", left: true, waiting: time.Second},
		"it was let go, and another one holds it":     {shown: "11", left: true},
		"the object is gone, and another one came":    {shown: "9", forget: true},
		"the version is none that can be compared":    {shown: "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Stale{}
			if s.Wrote(object, "10", now); tc.left {
				s.Left(object, "10", now)
			}
			if _, err := s.Result(t.Context(), object, progress.Outcome{}, now); err != nil {
				t.Fatal(err)
			}
			if tc.forget {
				s.Forget(object)
			}
			if got := s.Behind(object, tc.shown, now.Add(tc.after)); got != tc.waiting {
				t.Errorf("Behind() = %s, want %s", got, tc.waiting)
			}
		})
	}
}

// TestVersionsAreBounded has another cluster call a long text its version.
func TestVersionsAreBounded(t *testing.T) {
	now, object := time.Unix(0, 0), types.NamespacedName{Name: "x"}
	s := &Stale{}
	s.Wrote(object, "18446744073709551615", now)
	if s.Behind(object, "1", now) == 0 {
		t.Error("the largest version is not kept")
	}
	s.Wrote(object, strings.Repeat("1", 1<<20), now)
	if s.Behind(object, "1", now) != 0 || len(s.written) != 0 {
		t.Error("a text is kept that is no version")
	}
}
