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

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/components"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// figures measures machines while the tests run. Nothing is asserted on them.
type figures struct {
	world *world.World

	mu    sync.Mutex
	lives map[types.UID]*life
}

// life is when a machine was seen at some steps for the first time.
type life struct {
	name string
	// turn is when it was its turn: when its Metal3Machine and its user data were
	// there, or when it got its host if it had to wait for one.
	turn               time.Time
	waited, hosted     bool
	provisioned, ready time.Duration
}

func newFigures(w *world.World) *figures {
	return &figures{world: w, lives: map[types.UID]*life{}}
}

// run measures until the context ends.
func (f *figures) run(ctx context.Context) {
	for {
		changed := f.world.Changed()
		// Reads come from memory; they fail only when the context has ended.
		if machines, err := f.world.Machines(ctx); err == nil {
			f.note(machines, time.Now())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (f *figures) note(machines []world.Machine, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range machines {
		if m.Metal3 == nil || m.Machine.Spec.Bootstrap.DataSecretName == nil {
			continue
		}
		l := f.lives[m.UID()]
		if l == nil {
			l = &life{name: m.Name(), turn: now}
			f.lives[m.UID()] = l
		}
		if _, waits := m.WaitsForHost(); waits {
			l.waited = true
		}
		if m.Host != nil && !l.hosted {
			l.hosted = true
			if l.waited {
				l.turn = now
			}
		}
		if m.Provisioned() && l.provisioned == 0 {
			l.provisioned = now.Sub(l.turn)
		}
		if m.Running() && l.ready == 0 {
			l.ready = now.Sub(l.turn)
		}
	}
}

// nodes lists the machines that became Nodes, by name.
func (f *figures) nodes() []life {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []life
	for _, l := range f.lives {
		if l.ready > 0 {
			out = append(out, *l)
		}
	}
	slices.SortFunc(out, func(a, b life) int { return cmp.Compare(a.name, b.name) })
	return out
}

// summary tells what the run has shown of speed and memory.
func (l *testCluster) summary() string {
	var text strings.Builder
	fmt.Fprintln(&text, "Machines, from their turn (user data there, or host free):")
	for _, m := range l.figures.nodes() {
		fmt.Fprintf(&text, "  %-28s provisioned after %5.1f s, Node after %5.1f s\n", m.name, m.provisioned.Seconds(), m.ready.Seconds())
	}
	fmt.Fprintf(&text, "Resident memory:")
	var total int64
	for _, name := range []string{components.ProviderManager, components.HostClaimManager} {
		bytes, err := l.Running[name].Process.ResidentBytes()
		if err != nil {
			return text.String() + " " + err.Error()
		}
		total += bytes
		fmt.Fprintf(&text, " %s %d MiB,", name, bytes>>20)
	}
	fmt.Fprintf(&text, " together %d MiB", total>>20)
	return text.String()
}
