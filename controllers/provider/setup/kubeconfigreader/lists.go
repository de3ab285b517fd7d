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

package kubeconfigreader

import "sync"

const (
	// maxLists is the weight of all answers that are read at a time. Each takes about
	// twice its weight in memory until it is decoded.
	maxLists = 192 << 20
	// maxListsOfNamespace is the part of one namespace.
	maxListsOfNamespace = maxLists / 2
	// maxEventsOfNamespace is the weight of all events of watches of one namespace that are
	// being read. There is no common limit: a watch may stay open for long, so tenants would
	// take the room of others.
	maxEventsOfNamespace = 16 << 20
)

// lists weighs the answers of workload clusters while they are read, and of watches the
// events. The zero value is ready for use.
type lists struct {
	mu          sync.Mutex
	sum         int64
	ofNamespace map[string]int64
	events      map[string]int64
}

// read counts weight that a cluster of a namespace answers, or gives it back if it is
// negative, and returns whether there is room for more.
func (l *lists) read(namespace string, weight int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum += weight
	return add(&l.ofNamespace, namespace, weight) <= maxListsOfNamespace && l.sum <= maxLists
}

// event does the same for what has been read of an event.
func (l *lists) event(namespace string, weight int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return add(&l.events, namespace, weight) <= maxEventsOfNamespace
}

// add adds to the weight of a namespace and returns the sum. A map without an entry for a
// namespace says 0.
func add(weights *map[string]int64, namespace string, weight int64) int64 {
	if *weights == nil {
		*weights = map[string]int64{}
	}
	sum := (*weights)[namespace] + weight
	if (*weights)[namespace] = sum; sum == 0 {
		delete(*weights, namespace)
	}
	return sum
}
