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

// Deadlines remembers since when an object waits for something that may take a while and no
// longer. The zero value is ready to use.
type Deadlines struct {
	mu    sync.Mutex
	until map[types.NamespacedName]time.Time
}

// Of returns the deadline of an object: the first call sets it to now plus after, later calls
// return it unchanged. Left is false once it has passed.
func (d *Deadlines) Of(object types.NamespacedName, now time.Time, after time.Duration) (until time.Time, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, found := d.until[object]
	if !found {
		if d.until == nil {
			d.until = map[types.NamespacedName]time.Time{}
		}
		until = now.Add(after)
		d.until[object] = until
	}
	return until, now.Before(until)
}

// Forget lets the next question be the first one.
func (d *Deadlines) Forget(object types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.until, object)
}
