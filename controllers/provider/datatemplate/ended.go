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

package datatemplate

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ended remembers which claims and Metal3Datas were deleted, or are not held any more, since a
// moment ago. A pass that still sees them as they were would write to each of them again. Nil
// remembers nothing, and the zero value is ready to use.
type ended struct {
	mu  sync.Mutex
	all map[types.UID]ending
}

// ending is an object as it was when it was deleted or let go.
type ending struct {
	version string
	until   time.Time // then what the cache shows counts
}

// note remembers an object as it was read, of which no finalizer of ours is left or which was
// deleted.
func (e *ended) note(object client.Object, now time.Time) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.all, func(_ types.UID, was ending) bool { return !now.Before(was.until) })
	if e.all == nil {
		e.all = map[types.UID]ending{}
	}
	e.all[object.GetUID()] = ending{version: object.GetResourceVersion(), until: now.Add(catchUp)}
}

// has says that the cache shows an object as it was before it was noted. Its event comes.
func (e *ended) has(object client.Object, now time.Time) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	was, found := e.all[object.GetUID()]
	return found && was.version == object.GetResourceVersion() && now.Before(was.until)
}
