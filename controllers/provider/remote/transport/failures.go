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

// Failures sums up the requests that failed, so that the connection is checked.
type Failures struct {
	// Problem is set if no check is needed: the API server did not answer in time.
	Problem *identity.Problem
	// Forbidden says that a right was missing.
	Forbidden bool
}

// failures collects Failures until they are taken.
type failures struct {
	signal chan struct{} // has an entry when a request has failed since the last Take

	mu      sync.Mutex
	pending Failures
}

func (f *failures) add(next Failures) {
	f.mu.Lock()
	f.pending = f.pending.And(next)
	f.mu.Unlock()
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// Failed has an entry when a request has failed.
func (t *Transport) Failed() <-chan struct{} {
	return t.failures.signal
}

// Take returns the failures since the last call.
func (t *Transport) Take() Failures {
	t.failures.mu.Lock()
	defer t.failures.mu.Unlock()
	taken := t.failures.pending
	t.failures.pending = Failures{}
	return taken
}

// Forget drops all failures so far.
func (t *Transport) Forget() {
	select {
	case <-t.failures.signal:
	default:
	}
	t.Take()
}

// And returns both in one.
func (f Failures) And(next Failures) Failures {
	if f.Problem == nil {
		f.Problem = next.Problem
	}
	f.Forbidden = f.Forbidden || next.Forbidden
	return f
}
