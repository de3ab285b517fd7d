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
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Reports holds reports back of stations that objects as a rule pass at once, so that
// each of them does not cost a write. The zero value is ready to use.
type Reports struct {
	mu   sync.Mutex
	held map[types.NamespacedName]time.Time
}

// Hold says until when the report of a pass is held back: the first one that tells only of
// a station that passes waits for the patience and no longer. What an object has come to
// is written then, or before, with a report that tells of more.
func (r *Reports) Hold(object types.NamespacedName, passing bool, now time.Time, patience time.Duration) (until time.Time, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !passing {
		delete(r.held, object)
		return time.Time{}, false
	}
	if r.held == nil {
		r.held = map[types.NamespacedName]time.Time{}
	}
	until, found := r.held[object]
	if !found {
		until = now.Add(patience)
		r.held[object] = until
	}
	if now.Before(until) {
		return until, true
	}
	delete(r.held, object)
	return time.Time{}, false
}

// Forget begins anew for an object that has nothing to report, or is gone.
func (r *Reports) Forget(object types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, object)
}
