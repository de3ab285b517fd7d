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

package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/tools/bench/site"
)

// ready is a machine that has been Ready once. The other marks are the messages that
// claims were given, seen on their machines.
const ready site.Mark = "ready"

// watcher notes what happens to Metal3Machines.
type watcher struct {
	marks *site.Timeline

	mu sync.Mutex
	// isReady says which machines are, and left how many times one was not any more.
	isReady map[types.NamespacedName]bool
	left    int
}

func newWatcher() *watcher {
	return &watcher{marks: site.NewTimeline(), isReady: map[types.NamespacedName]bool{}}
}

func (w *watcher) watch(ctx context.Context, s *site.Site) error {
	return s.Follow(ctx, &infrav1.Metal3MachineList{}, w.see)
}

func (w *watcher) see(object any, now time.Time) {
	m, ok := object.(*infrav1.Metal3Machine)
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(m)
	is := conditions.IsTrue(m, infrav1.ReadyCondition)
	w.mu.Lock()
	if w.isReady[key] && !is {
		w.left++
	}
	w.isReady[key] = is
	w.mu.Unlock()
	if is {
		w.marks.Note(ready, key, now)
	}
	if c := conditions.Get(m, infrav1.HostClaimReadyCondition); c != nil && c.Message != "" {
		w.marks.Note(site.Mark(c.Message), key, now)
	}
}

// states says how many machines are Ready, and how often one has left that.
func (w *watcher) states() (ready, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, is := range w.isReady {
		if is {
			ready++
		}
	}
	return ready, w.left
}
