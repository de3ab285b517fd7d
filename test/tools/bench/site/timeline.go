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

package site

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Mark is something that happens to an object once.
type Mark string

// Timeline notes when marks were first seen on objects.
type Timeline struct {
	mu    sync.Mutex
	marks map[Mark]map[types.NamespacedName]time.Time
	grown chan struct{} // closed and replaced when a mark is added
}

// NewTimeline returns one without marks.
func NewTimeline() *Timeline {
	return &Timeline{marks: map[Mark]map[types.NamespacedName]time.Time{}, grown: make(chan struct{})}
}

// Note keeps the time of a mark, unless the object has it already.
func (t *Timeline) Note(mark Mark, object types.NamespacedName, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marks[mark] == nil {
		t.marks[mark] = map[types.NamespacedName]time.Time{}
	}
	if _, found := t.marks[mark][object]; found {
		return
	}
	t.marks[mark][object] = at
	close(t.grown)
	t.grown = make(chan struct{})
}

// At returns when a mark was first seen on an object; zero if it was not.
func (t *Timeline) At(mark Mark, object types.NamespacedName) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marks[mark][object]
}

// Between returns the times from one mark to another of the objects that have both.
func (t *Timeline) Between(from, to Mark, objects []types.NamespacedName) (took []time.Duration) {
	for _, object := range objects {
		if a, z := t.At(from, object), t.At(to, object); !a.IsZero() && !z.IsZero() {
			took = append(took, z.Sub(a))
		}
	}
	return took
}

// Objects lists those that have a mark.
func (t *Timeline) Objects(mark Mark) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.marks[mark]))
}

// Await waits until all objects have a mark, and returns when the last one got it.
func (t *Timeline) Await(ctx context.Context, mark Mark, objects ...types.NamespacedName) (time.Time, error) {
	var last time.Time
	for _, object := range objects {
		at, err := t.await(ctx, mark, object)
		if err != nil {
			return time.Time{}, err
		}
		if at.After(last) {
			last = at
		}
	}
	return last, nil
}

func (t *Timeline) await(ctx context.Context, mark Mark, object types.NamespacedName) (time.Time, error) {
	for {
		t.mu.Lock()
		at, found := t.marks[mark][object]
		grown := t.grown
		t.mu.Unlock()
		if found {
			return at, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return time.Time{}, &NeverError{Mark: mark, Object: object}
		}
	}
}

// NeverError is returned for a mark that was waited for and did not come.
type NeverError struct {
	Mark   Mark
	Object types.NamespacedName
}

// Error names the object.
func (e *NeverError) Error() string {
	return e.Object.String() + " was not " + string(e.Mark) + " in time"
}
