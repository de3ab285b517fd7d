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

package progress

import (
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
)

// ErrStale is the error of a step that found its facts out of date before it
// could write. It counts as a conflict.
var ErrStale = errors.New("what was decided on has changed meanwhile")

// errBehind is the error of a pass that came before the cache shows what the controller has
// written itself.
var errBehind = fmt.Errorf("the cache does not show the last write yet: %w", ErrStale)

// StaleDelay is how long a reconcile whose write met a newer object stays away.
// This is no poll: the newer object is on its way into the cache, and its event
// wakes the reconcile too if it concerns it. Coming back earlier would mostly
// meet the same old copy.
const StaleDelay = 50 * time.Millisecond

// Wait says what an object waits for, in the words of a condition.
type Wait struct {
	// Condition is the type of the condition that shows the wait; empty where the
	// controller has one only, or shows it otherwise.
	Condition string
	// Reason is the CamelCase reason of the condition that shows the wait.
	Reason string
	// Message is one sentence for the object's owner: what is missing and what
	// to do about it.
	Message string
}

// Outcome is how a step ended. The zero value means done.
type Outcome struct {
	waits    []Wait
	deadline time.Time
	errs     []error
}

// Waiting is the outcome of a step that a watch will wake.
func Waiting(reason, message string) Outcome {
	return WaitingFor(Wait{Reason: reason, Message: message})
}

// WaitingFor is Waiting with the waits as they are.
func WaitingFor(waits ...Wait) Outcome {
	return Outcome{waits: waits}
}

// Until is the outcome of a step that the passing of the deadline will wake.
func Until(deadline time.Time, reason, message string) Outcome {
	o := Waiting(reason, message)
	o.deadline = deadline
	return o
}

// Failed is the outcome of a step that is retried with the work queue's
// backoff. A nil error means done.
func Failed(err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	return Outcome{errs: []error{err}}
}

// Behind is the outcome of a step that sees an object as it was before a write of ours. It ends
// the pass as an error does. The event of that write begins the next one, or the passing
// of the deadline if there is none.
func Behind(until time.Time, object string) Outcome {
	return Outcome{deadline: until, errs: []error{fmt.Errorf("%s: %w", object, errBehind)}}
}

// Done says that the step neither waits nor failed.
func (o Outcome) Done() bool {
	return len(o.errs) == 0 && len(o.waits) == 0
}

// Waits returns what is waited for, most important first.
func (o Outcome) Waits() []Wait {
	return o.waits
}

// Err returns the error of the step, nil unless it failed.
func (o Outcome) Err() error {
	return errors.Join(o.errs...)
}

// Stale says that the step failed for nothing but conflicts: it decided on facts
// that have changed since.
func (o Outcome) Stale() bool {
	return len(o.errs) > 0 && !slices.ContainsFunc(o.errs, realError)
}

// Behind says that the step failed for nothing but a cache that is late.
func (o Outcome) Behind() bool {
	return len(o.errs) > 0 && !slices.ContainsFunc(o.errs, func(err error) bool { return !errors.Is(err, errBehind) })
}

// And joins two outcomes: waits are kept in order, errors joined, and the
// earliest deadline wins.
func (o Outcome) And(p Outcome) Outcome {
	joined := Outcome{
		waits:    slices.Concat(o.waits, p.waits),
		deadline: o.deadline,
		errs:     slices.Concat(o.errs, p.errs),
	}
	if o.deadline.IsZero() || (!p.deadline.IsZero() && p.deadline.Before(o.deadline)) {
		joined.deadline = p.deadline
	}
	return joined
}

// Result turns the outcome into what controller-runtime expects. An error
// excludes a deadline, since the backoff comes first. Nothing but conflicts is
// no error either: the write was refused, as it had to be, and the next pass
// decides anew.
func (o Outcome) Result(now time.Time) (ctrl.Result, error) {
	switch {
	case o.Behind():
	case o.Stale():
		return ctrl.Result{RequeueAfter: StaleDelay}, nil
	case len(o.errs) > 0:
		return ctrl.Result{}, o.Err()
	}
	if o.deadline.IsZero() {
		return ctrl.Result{}, nil
	}
	// A deadline in the past still needs a positive delay to be honored.
	return ctrl.Result{RequeueAfter: max(o.deadline.Sub(now), time.Millisecond)}, nil
}

// realError says that an error is more than a write that came too late.
func realError(err error) bool {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return slices.ContainsFunc(several.Unwrap(), realError)
	}
	return !errors.Is(err, ErrStale) && !apierrors.IsConflict(err)
}
