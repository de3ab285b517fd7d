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

package fairqueue

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// maxAhead is how many objects that have begun go before one that has not.
const maxAhead = 3

// line is what waits for one connection of a namespace, each in the order in which it came.
// What has begun goes first, but no more than maxAhead at a time.
type line struct {
	begun, others []reconcile.Request
	ahead         int // of begun, since the first of the others waits
}

func (l *line) add(object reconcile.Request, begun bool) {
	switch {
	case begun:
		l.begun = append(l.begun, object)
		return
	case len(l.others) == 0:
		l.ahead = 0
	}
	l.others = append(l.others, object)
}

// begin moves an object that has begun while it waited; false if it does not wait among the others.
func (l *line) begin(object reconcile.Request) bool {
	at := slices.Index(l.others, object)
	if at < 0 {
		return false
	}
	l.others = slices.Delete(l.others, at, at+1)
	l.begun = append(l.begun, object)
	return true
}

func (l *line) empty() bool { return len(l.begun)+len(l.others) == 0 }

// first returns the object that is next of a line that is not empty.
func (l *line) first() (object reconcile.Request, begun bool) {
	if len(l.begun) > 0 && (len(l.others) == 0 || l.ahead < maxAhead) {
		return l.begun[0], true
	}
	return l.others[0], false
}

// take removes the first object.
func (l *line) take() {
	if _, begun := l.first(); begun {
		l.begun, l.ahead = l.begun[1:], l.ahead+1
		return
	}
	l.others, l.ahead = l.others[1:], 0
}
