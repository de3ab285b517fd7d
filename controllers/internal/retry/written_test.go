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
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestBehind shows which passes over an object that the controller has written are put off.
func TestBehind(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	object := types.NamespacedName{Namespace: "a", Name: "x"}
	tests := map[string]struct {
		shown        string
		after        time.Duration
		left, forget bool
		behind       bool
	}{
		"the cache shows the object as before":        {shown: "9", behind: true},
		"… for a while":                               {shown: "9", after: 300 * time.Millisecond, behind: true},
		"… for too long":                              {shown: "9", after: time.Second},
		"the cache shows what was written":            {shown: "10"},
		"the cache shows what another one wrote":      {shown: "11"},
		"it was let go, and the cache shows that not": {shown: "10", left: true, behind: true},
		"… nor what was there before":                 {shown: "9", left: true, behind: true},
		"it was let go, and another one holds it":     {shown: "11", left: true},
		"the object is gone, and another one came":    {shown: "9", forget: true},
		"the version is none that can be compared":    {shown: "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &Written{}
			if w.Wrote(object, "10", now); tc.left {
				w.Left(object, "10", now)
			}
			if tc.forget {
				w.Forget(object)
			}
			until, behind := w.Behind(object, tc.shown, now.Add(tc.after))
			if behind != tc.behind || behind && !until.Equal(now.Add(CatchUp)) {
				t.Errorf("Behind() = %s, %t, want %t", until, behind, tc.behind)
			}
		})
	}
}

// TestVersionsAreBounded has another cluster call a long text its version.
func TestVersionsAreBounded(t *testing.T) {
	now, object := time.Unix(0, 0), types.NamespacedName{Name: "x"}
	w := &Written{}
	w.Wrote(object, "18446744073709551615", now)
	if _, behind := w.Behind(object, "1", now); !behind {
		t.Error("the largest version is not kept")
	}
	w.Wrote(object, strings.Repeat("1", 1<<20), now)
	if _, behind := w.Behind(object, "1", now); behind || len(w.last) != 0 {
		t.Error("a text is kept that is no version")
	}
}

// TestWritesAreForgotten shows that nothing is kept of objects that nobody asks for any more.
func TestWritesAreForgotten(t *testing.T) {
	now, w := time.Unix(0, 0), &Written{}
	w.Wrote(types.NamespacedName{Name: "a"}, "1", now)
	w.Left(types.NamespacedName{Name: "b"}, "2", now.Add(CatchUp))
	if len(w.last) != 1 {
		t.Errorf("%d writes are kept, want the last one", len(w.last))
	}
}
