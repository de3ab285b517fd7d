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

package demo

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/console"
	"github.com/metal3-io/cluster-api-provider-metal3/hack/devcluster/world"
)

// narrator prints each step that a machine takes and remembers when it did.
type narrator struct {
	world *world.World
	out   *console.Printer

	mu    sync.Mutex
	lives map[types.UID]*life
}

// life is what was seen of one machine.
type life struct {
	name, step     string
	seen, running  time.Time
	waited         bool
	fed            time.Time
	served, imaged time.Time
}

func newNarrator(w *world.World, out *console.Printer) *narrator {
	return &narrator{world: w, out: out, lives: map[types.UID]*life{}}
}

// run narrates until the context ends.
func (n *narrator) run(ctx context.Context) {
	for {
		changed := n.world.Changed()
		// Reads come from memory; they fail only when the context has ended.
		if machines, err := n.world.Machines(ctx); err == nil {
			n.tell(machines, time.Now())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// tell prints what has changed on the machines since the call before.
func (n *narrator) tell(machines []world.Machine, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	present := map[types.UID]bool{}
	for _, machine := range machines {
		present[machine.UID()] = true
		l := n.lives[machine.UID()]
		if l == nil {
			l = &life{name: machine.Name(), seen: now}
			n.lives[machine.UID()] = l
		}
		if step := machine.Step(); step != l.step {
			l.step = step
			n.out.Line("%s %s", l.name, step)
		}
		l.note(machine, now)
	}
	for uid, l := range n.lives {
		if !present[uid] && l.step != "" {
			l.step = ""
			n.out.Line("%s is gone", l.name)
		}
	}
}

// note keeps the first time of each event of the final table.
func (l *life) note(machine world.Machine, now time.Time) {
	if _, waits := machine.WaitsForHost(); waits {
		l.waited = true
	}
	if l.fed.IsZero() && machine.Machine.Spec.Bootstrap.DataSecretName != nil {
		l.fed = now
	}
	if l.served.IsZero() && machine.Host != nil {
		l.served = now
	}
	if l.imaged.IsZero() && machine.Provisioned() {
		l.imaged = now
	}
	if l.running.IsZero() && machine.Running() {
		l.running = now
	}
}

// times returns how long a machine took from its creation to its Node, and from
// its turn to its image: from when its user data was there, which for workers is
// only after the first control plane, or from when it got its server if it had to
// wait for one.
func (n *narrator) times(uid types.UID) (ready, provisioned time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.lives[uid]
	if l == nil || l.running.IsZero() {
		return 0, 0
	}
	turn := l.seen
	switch {
	case l.waited:
		turn = l.served
	case l.fed.After(turn):
		turn = l.fed
	}
	return l.running.Sub(l.seen), l.imaged.Sub(turn)
}
