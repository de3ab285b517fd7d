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

package remediations

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

var update = flag.Bool("update", false, "write the golden files anew")

type event struct {
	what   string
	happen func(*world)
}

// lives are remediations as they go, each event followed by the pass that it wakes.
func lives() map[string][]event {
	made := event{"the MachineHealthCheck makes the remediation", func(*world) {}}
	obeys := event{"the server follows its claim", (*world).obey}
	leaves := event{"Kubernetes takes the Pods away", (*world).leave}
	over := event{"10 minutes go by", func(w *world) { w.Now = w.Now.Add(timeout) }}
	wakes := event{"the write wakes the controller", func(*world) {}}
	healthy := event{"the machine is healthy, and the remediation deleted", func(w *world) { w.DeletedAt = w.Now }}
	return map[string][]event{
		"healthy": {made, wakes, obeys, wakes, leaves, wakes, obeys, wakes, healthy},
		"in-vain": {
			made, wakes, obeys, wakes, leaves, wakes, obeys, wakes, over, wakes, obeys, wakes, wakes, wakes, obeys, wakes, over,
			{"the owner deletes the Machine", func(w *world) { w.Machine.Deleting = true }},
		},
		"alone": {
			{"the workload cluster does not answer", func(w *world) { w.access = Disconnected }},
			wakes, obeys, wakes, obeys,
			{"the workload cluster answers", func(w *world) { w.access = Connected }},
			healthy,
		},
	}
}

// TestLife writes down what a remediation does from its beginning to its end.
func TestLife(t *testing.T) {
	for name, events := range lives() {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.out = &strings.Builder{}
			for _, e := range events {
				fmt.Fprintf(w.out, "%s\n", e.what)
				e.happen(w)
				w.pass(true, true)
			}
			golden := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(w.out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), w.out.String()); diff != "" {
				t.Errorf("transcript (-want +got), run with -update if this is meant:\n%s", diff)
			}
			if len(w.faults) > 0 {
				t.Error(w.faults)
			}
		})
	}
}

// TestProperty plays remediations to whom anything may happen at any time, in any order, and
// whose manager is killed at any write. Never do two reboots overlap, never is a Node touched
// whose server runs, and in the end the server is let go and nothing is left on the Node.
func TestProperty(t *testing.T) {
	const remediations, passes = 3000, 80
	most := 0
	for seed := range uint64(remediations) {
		w, dice := newWorld(), rand.New(rand.NewPCG(seed, 1))
		w.Limit = 1 + dice.Int32N(3)
		for range passes {
			happen(w, dice)
			w.pass(dice.IntN(10) > 0, dice.IntN(10) > 0)
		}
		if w.cycles > int(w.Limit)+1 {
			w.faults = append(w.faults, fmt.Sprintf("%d reboots at a limit of %d", w.cycles, w.Limit))
		}
		most = max(most, w.cycles)
		settle(w)
		if !w.finished || w.claim.Held || w.claim.Marked || w.tainted {
			w.faults = append(w.faults, fmt.Sprintf("left behind: finished %t, held %t, tainted %t", w.finished, w.claim.Held, w.tainted))
		}
		if len(w.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, w.faults)
		}
	}
	if most < 3 {
		t.Errorf("no remediation rebooted its server more than %d times: does the test still reach anything?", most)
	}
}

// happen lets one thing happen that is none of the remediation's doing.
func happen(w *world, dice *rand.Rand) {
	events := []func(){
		w.obey, w.obey, w.leave,
		func() { w.Now = w.Now.Add(time.Duration(dice.IntN(8)) * time.Minute) },
		func() { w.access = []Access{Connected, Connected, Disconnected, Denied, Failing}[dice.IntN(5)] },
		func() { w.dead = dice.IntN(4) == 0 },
		func() { w.Machine.Skipped = dice.IntN(8) == 0 },
		func() { w.claim.Rival = !w.claim.Held && dice.IntN(8) == 0 },
	}
	events[dice.IntN(len(events))]()
}

// settle ends a remediation in a world that has calmed down.
func settle(w *world) {
	w.access, w.dead, w.DeletedAt = Connected, false, w.Now
	for range 10 {
		w.obey()
		w.pass(true, true)
	}
}

// TestLostHost shows that a machine whose host is gone is handed back at any time.
func TestLostHost(t *testing.T) {
	for passes := range 8 {
		w := newWorld()
		for range passes {
			w.obey()
			w.leave()
			w.pass(true, true)
		}
		w.lost()
		for range 3 {
			w.pass(true, true)
		}
		if !w.Machine.HandedBack || w.Phase != infrav1.RemediationPhaseDeletingMachine {
			t.Errorf("after %d passes: phase %q, handed back %t", passes, w.Phase, w.Machine.HandedBack)
		}
	}
}
