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

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// How many reports an object may write at once, and how long each one after these takes to
// come back. An object has fewer states in its life; one that is reported more often is
// turned back and forth, by another cluster perhaps, and would use up the requests of all.
const (
	reportBurst = 20
	reportEvery = 30 * time.Second
)

// Report is what a pass has to report of an object.
type Report int

const (
	// Nothing is new.
	Nothing Report = iota
	// Transient is only a state that objects as a rule leave at once.
	Transient
	// Changed is more than that.
	Changed
	// Urgent is what another program waits for. It is never held back.
	Urgent
)

// Reports holds reports back: of states that objects as a rule leave at once, so that
// each of them does not cost a write, and of objects that are reported too often. What an
// object has come to is written with the report that comes in time. The zero value is ready
// to use.
type Reports struct {
	held Deadlines

	mu      sync.Mutex
	budgets map[types.NamespacedName]*rate.Limiter
}

// Hold says until when the report of a pass is held back. The first transient one waits for
// holdFor and no longer, unless another kind comes before.
func (r *Reports) Hold(object types.NamespacedName, report Report, now time.Time, holdFor time.Duration) (until time.Time, held bool) {
	if report == Transient {
		if until, held := r.held.Of(object, now, holdFor); held {
			return until, true
		}
	}
	r.held.Forget(object)
	if report == Transient || report == Changed {
		return r.spend(object, now)
	}
	return time.Time{}, false
}

// spend takes a report from what the object may write, or says when it may write again.
func (r *Reports) spend(object types.NamespacedName, now time.Time) (until time.Time, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.budgets == nil {
		r.budgets = map[types.NamespacedName]*rate.Limiter{}
	}
	budget, found := r.budgets[object]
	if !found {
		budget = rate.NewLimiter(rate.Every(reportEvery), reportBurst)
		r.budgets[object] = budget
	}
	reservation := budget.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return time.Time{}, false
	}
	reservation.CancelAt(now)
	return now.Add(wait), true
}

// Forget drops what is kept of an object, such as one that is gone.
func (r *Reports) Forget(object types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held.Forget(object)
	delete(r.budgets, object)
}
