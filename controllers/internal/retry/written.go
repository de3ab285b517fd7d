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
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// CatchUp is how long the cache may take to show a write of ours before a pass decides on
// what it shows.
const CatchUp = time.Second

// maxVersion is how long a version can be: a number of 64 bits. Another cluster may call anything
// its version, and what is longer is none and is not kept.
const maxVersion = 20

// Written remembers the objects of one kind that a controller wrote a moment ago, so that no pass
// decides on what they were before. The zero value is ready to use.
type Written struct {
	mu   sync.Mutex
	last map[types.NamespacedName]write
}

// write is the last one of an object.
type write struct {
	version string
	left    bool      // the write has no version of its own, and any newer one shows it
	until   time.Time // then the version that the cache shows counts
}

// Wrote notes the version that a write of this controller gave an object.
func (w *Written) Wrote(object types.NamespacedName, version string, now time.Time) {
	w.note(object, write{version: version, until: now.Add(CatchUp)}, now)
}

// Left notes that this controller has deleted an object that was read in this version, or has taken
// the last finalizer off it. The API server gives such a write no version of its own.
func (w *Written) Left(object types.NamespacedName, version string, now time.Time) {
	w.note(object, write{version: version, left: true, until: now.Add(CatchUp)}, now)
}

func (w *Written) note(object types.NamespacedName, last write, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.last, func(_ types.NamespacedName, other write) bool { return !now.Before(other.until) })
	if len(last.version) > maxVersion {
		delete(w.last, object)
		return
	}
	if w.last == nil {
		w.last = map[types.NamespacedName]write{}
	}
	w.last[object] = last
}

// Behind is until when a pass over this version of an object must wait, since the controller has
// written a newer one. The event of that comes before.
func (w *Written) Behind(object types.NamespacedName, version string, now time.Time) (until time.Time, behind bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, found := w.last[object]
	if !found {
		return time.Time{}, false
	}
	order, err := resourceversion.CompareResourceVersion(version, last.version)
	shown := order > 0 || (order == 0 && !last.left)
	if err != nil || shown || !now.Before(last.until) {
		delete(w.last, object)
		return time.Time{}, false
	}
	return last.until, true
}

// Forget drops an object that is gone.
func (w *Written) Forget(object types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, object)
}
