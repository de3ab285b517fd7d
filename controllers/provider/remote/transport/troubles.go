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

package transport

import (
	"sync"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/identity"
)

// Trouble is why a connection has to be looked at.
type Trouble struct {
	// Problem is there if nothing needs to be asked: the other side has let somebody
	// wait for too long.
	Problem *identity.Problem
	// Forbidden says that a right was missing.
	Forbidden bool
}

// troubles are those that nobody has taken yet, in one.
type troubles struct {
	signal chan struct{} // has an entry when there are some

	mu      sync.Mutex
	pending Trouble
}

func (t *troubles) add(next Trouble) {
	t.mu.Lock()
	t.pending = t.pending.And(next)
	t.mu.Unlock()
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// Troubled has an entry when a request has failed.
func (w *Wire) Troubled() <-chan struct{} {
	return w.troubles.signal
}

// Take returns what went wrong since the last call.
func (w *Wire) Take() Trouble {
	w.troubles.mu.Lock()
	defer w.troubles.mu.Unlock()
	taken := w.troubles.pending
	w.troubles.pending = Trouble{}
	return taken
}

// Forget takes back all that went wrong so far.
func (w *Wire) Forget() {
	select {
	case <-w.troubles.signal:
	default:
	}
	w.Take()
}

// And is both troubles in one.
func (t Trouble) And(next Trouble) Trouble {
	if t.Problem == nil {
		t.Problem = next.Problem
	}
	t.Forbidden = t.Forbidden || next.Forbidden
	return t
}
