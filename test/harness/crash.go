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

package harness

import (
	"errors"
	"sync/atomic"
)

// ErrCrash is what a manager is answered after its Crash.
var ErrCrash = errors.New("the manager has crashed")

// Crash is a manager that dies with one of its writes. From then on nothing of it reaches
// the API server. The zero value never dies, and counts the writes.
type Crash struct {
	// At is the number of the write, from 1; 0 for never.
	At int32
	// Arrives says that the write arrives and only its answer is lost.
	Arrives bool
	// Writes counts what the manager has written, or tried to.
	Writes atomic.Int32
	// Dead says that the manager has died.
	Dead atomic.Bool
}

// Write does one write of the manager, or fails it.
func (c *Crash) Write(do func() error) error {
	switch n := c.Writes.Add(1); {
	case c.At == 0 || n < c.At:
		return do()
	case n == c.At && c.Arrives:
		if err := do(); err != nil {
			return err
		}
	}
	c.Dead.Store(true)
	return ErrCrash
}
