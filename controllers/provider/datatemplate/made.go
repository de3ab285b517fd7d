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

package datatemplate

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/data/indexes"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/internal/retry"
)

// made remembers which Metal3Datas were made a moment ago. The event of the claim mostly comes
// before theirs, and the pass that it begins would make them again. The zero value is ready to
// use.
type made struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]creation
}

// creation is a Metal3Data that was made.
type creation struct {
	indexes.Data

	until time.Time // then what the cache shows counts
}

// note remembers what was made for a template.
func (m *made) note(template types.NamespacedName, data indexes.Data, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName][]creation{}
	}
	m.all[template] = append(m.all[template], creation{Data: data, until: now.Add(retry.CatchUp)})
}

// unseen returns what was made for a template and is not among the Metal3Datas that the cache
// shows, and until when that counts: a pass must look again then, since what was made may be
// gone. What the cache has shown is forgotten.
func (m *made) unseen(template types.NamespacedName, shown []indexes.Data, now time.Time) (data []indexes.Data, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := slices.DeleteFunc(m.all[template], func(c creation) bool {
		return !now.Before(c.until) || slices.Contains(shown, c.Data)
	})
	if len(left) == 0 {
		delete(m.all, template)
		return nil, time.Time{}
	}
	m.all[template] = left
	for _, c := range left {
		data, until = append(data, c.Data), c.until // the last one counts longest
	}
	return data, until
}

// forget drops what was made for a template that is gone.
func (m *made) forget(template types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, template)
}
