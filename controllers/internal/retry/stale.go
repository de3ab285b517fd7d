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
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// repeats is from which stale pass in a row an object is worth a line in the log.
// One or two are normal while the cache catches up.
const repeats = 3

// Stale spaces out the passes of objects that keep deciding on facts which have
// changed meanwhile. The zero value is ready to use.
type Stale struct {
	mu     sync.Mutex
	inARow map[types.NamespacedName]row
}

// row is the stale passes in a row of one object.
type row struct {
	times     int
	notBefore time.Time // of the next pass, whatever event asks for one
}

// TooEarly is how long a pass over an object that an event asks for must wait; zero
// for not at all. The first stale passes in a row hold up none: they are normal, and
// the event is mostly that of the newer object.
func (s *Stale) TooEarly(object types.NamespacedName, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inARow[object].times < repeats {
		return 0
	}
	return max(0, s.inARow[object].notBefore.Sub(now))
}

// Result is what a reconciler returns for the outcome of a pass. A stale pass is
// tried again after progress.StaleDelay, twice as long after each further one in a
// row, and Last at most. One that is behind neither counts nor ends the row. Any other outcome
// begins anew.
func (s *Stale) Result(ctx context.Context, object types.NamespacedName, out progress.Outcome, now time.Time) (ctrl.Result, error) {
	if out.Behind() {
		ctrl.LoggerFrom(ctx).V(4).Info("Waiting for the cache", "reason", out.Err().Error())
		return out.Result(now)
	}
	if !out.Stale() {
		s.inOrder(object)
		return out.Result(now)
	}
	times, delay := s.again(object, now)
	level := 4
	if worthALine(times) {
		level = 0
	}
	ctrl.LoggerFrom(ctx).V(level).Info("The pass came to nothing, trying again", "passesInARow", times, "after", delay.String(), "reason", out.Err().Error())
	return ctrl.Result{RequeueAfter: delay}, nil
}

// worthALine says that the third, sixth, twelfth and so on stale pass in a row is
// logged, since an object that changes all the time has as many as the delay permits.
func worthALine(times int) bool {
	doubled := times / repeats
	return times >= repeats && times%repeats == 0 && doubled&(doubled-1) == 0
}

// Forget begins anew for an object that is gone.
func (s *Stale) Forget(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inARow, object)
}

// inOrder ends a row of stale passes.
func (s *Stale) inOrder(object types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inARow, object)
}

// again counts a stale pass, and returns how many there are in a row and how long the
// next one waits.
func (s *Stale) again(object types.NamespacedName, now time.Time) (times int, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inARow == nil {
		s.inARow = map[types.NamespacedName]row{}
	}
	times, delay = s.inARow[object].times+1, progress.StaleDelay
	for i := 1; i < times && delay < Last; i++ {
		delay *= 2
	}
	delay = min(delay, Last)
	s.inARow[object] = row{times: times, notBefore: now.Add(delay)}
	return times, delay
}
