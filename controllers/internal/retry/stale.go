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
	"k8s.io/apimachinery/pkg/util/resourceversion"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/progress"
)

// repeats is from which stale pass in a row an object is worth a line in the log.
// One or two are normal while the cache catches up.
const repeats = 3

// catchUp is how long the cache may take to show a write of ours before a pass decides on
// what it shows.
const catchUp = time.Second

// maxVersion is how long a version can be: a number of 64 bits. Another cluster may call anything
// its version, and what is longer is none and is not kept.
const maxVersion = 20

// Stale spaces out the passes of objects that keep deciding on facts which have
// changed meanwhile, and puts off those on facts that the controller has changed itself. The
// zero value is ready to use.
type Stale struct {
	mu      sync.Mutex
	inARow  map[types.NamespacedName]row
	written map[types.NamespacedName]written
}

// written is the version that our last write gave an object.
type written struct {
	version string
	left    bool      // the write has no version of its own, and any newer one shows it
	until   time.Time // then the version that the cache shows counts
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

// Wrote notes the version that a write of this controller gave an object.
func (s *Stale) Wrote(object types.NamespacedName, version string, now time.Time) {
	s.note(object, written{version: version, until: now.Add(catchUp)})
}

// Left notes that this controller has taken the last finalizer off an object that was read in
// this version. The API server gives such a write no version of its own.
func (s *Stale) Left(object types.NamespacedName, version string, now time.Time) {
	s.note(object, written{version: version, left: true, until: now.Add(catchUp)})
}

func (s *Stale) note(object types.NamespacedName, w written) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(w.version) > maxVersion {
		delete(s.written, object)
		return
	}
	if s.written == nil {
		s.written = map[types.NamespacedName]written{}
	}
	s.written[object] = w
}

// Behind is how long a pass over this version of an object must wait, since the
// controller has written a newer one; zero for not at all. The event of that comes before.
func (s *Stale) Behind(object types.NamespacedName, version string, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, found := s.written[object]
	if !found {
		return 0
	}
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	shown := order > 0 || (order == 0 && !w.left)
	if err != nil || shown || !now.Before(w.until) {
		delete(s.written, object)
		return 0
	}
	return w.until.Sub(now)
}

// Result is what a reconciler returns for the outcome of a pass. A stale pass is
// tried again after progress.StaleDelay, twice as long after each further one in a
// row, and Last at most. Any other outcome begins anew.
func (s *Stale) Result(ctx context.Context, object types.NamespacedName, out progress.Outcome, now time.Time) (ctrl.Result, error) {
	if !out.Stale() {
		s.inOrder(object)
		return out.Result(now)
	}
	times, delay := s.again(object, now)
	level := 4
	if worthALine(times) {
		level = 0
	}
	ctrl.LoggerFrom(ctx).V(level).Info("Decided on stale facts, trying again", "passesInARow", times, "after", delay.String(), "reason", out.Err().Error())
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
	delete(s.written, object)
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
