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

	// A pass that waits for the cache neither counts nor begins anew.
	if err := pass(one, progress.Behind(now.Add(time.Second), "a claim")); err != nil || got[11] != time.Second {
		t.Errorf("a pass that is behind waits %s, %v", got[11], err)
	}
	if wait := s.TooEarly(one, now); wait != Last {
		t.Errorf("after it an event waits %s", wait)
	}

	// Another object has a count of its own, and any other outcome begins anew.
	broken := errors.New("broken")
	if err := pass(types.NamespacedName{Name: "two"}, stale); err != nil || got[12] != progress.StaleDelay {
		t.Errorf("another object waits %s, %v", got[12], err)
	}
	if wait := s.TooEarly(types.NamespacedName{Name: "two"}, now); wait != 0 {
		t.Errorf("an event after one stale pass waits %s", wait)
	}
	if err := pass(one, progress.Failed(broken)); !errors.Is(err, broken) || got[13] != 0 {
		t.Errorf("an error gives %s, %v", got[13], err)
	}
	if err := pass(one, stale); err != nil || got[14] != progress.StaleDelay {
		t.Errorf("the first stale pass after an error waits %s, %v", got[14], err)
	}
}
