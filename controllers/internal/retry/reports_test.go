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
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestReports(t *testing.T) {
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var r Reports
	for _, step := range []struct {
		when    string
		object  types.NamespacedName
		changed bool // more than a transient state
		second  int
		held    bool
	}{
		{when: "the first report of a", object: a, second: 0, held: true},
		{when: "the next one", object: a, second: 1, held: true},
		{when: "another object has a time of its own", object: b, second: 2, held: true},
		{when: "the time of a is over", object: a, second: 3},
		{when: "a is in another state", object: a, second: 4, held: true},
		{when: "b has changed more", object: b, changed: true, second: 4},
		{when: "b is in another state", object: b, second: 5, held: true},
	} {
		report := Transient
		if step.changed {
			report = Changed
		}
		until, held := r.Hold(step.object, report, at(step.second), 3*time.Second)
		if held != step.held {
			t.Errorf("%s: held is %v, want %v", step.when, held, step.held)
		}
		if held && !until.After(at(step.second)) {
			t.Errorf("%s: held until %s, which has passed", step.when, until)
		}
	}
	if _, held := new(Reports).Hold(a, Transient, start, 0); held {
		t.Error("a report is held back for no time")
	}
}

// TestReportsOfAnObjectAreBounded shows what is written of an object that turns back and forth.
func TestReportsOfAnObjectAreBounded(t *testing.T) {
	object, other := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r Reports
	written := 0
	// Ten minutes long, ten times in a second.
	for range 6001 {
		until, held := r.Hold(object, Changed, now, time.Second)
		if !held {
			written++
		}
		if held && (!until.After(now) || until.After(now.Add(reportEvery))) {
			t.Fatalf("at %s held until %s", now, until)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if want := reportBurst + 20; written != want {
		t.Errorf("written %d times, want %d", written, want)
	}
	if _, held := r.Hold(object, Urgent, now, time.Second); held {
		t.Error("what is urgent is held back")
	}
	if _, held := r.Hold(other, Changed, now, time.Second); held {
		t.Error("an object is held back for another one")
	}
	until, held := r.Hold(object, Changed, now, time.Second)
	if !held {
		t.Fatal("an object without a budget is written")
	}
	if _, held := r.Hold(object, Changed, until, time.Second); held {
		t.Errorf("at %s, until which it was held back, it still is", until)
	}
	if _, held := r.Hold(object, Transient, until, 0); !held {
		t.Error("a transient state costs nothing of what the object may write")
	}
	r.Forget(object)
	if _, held := r.Hold(object, Changed, until, time.Second); held {
		t.Error("an object that came anew is held back")
	}
}
