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

package remediation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files anew")

type happening struct {
	what   string
	happen func(*world)
}

// lives are remediations as they go, each event followed by the pass that it wakes.
func lives() map[string][]happening {
	made := happening{"the MachineHealthCheck makes the remediation", func(*world) {}}
	obeys := happening{"the server follows its claim", (*world).obey}
	leaves := happening{"Kubernetes takes the Pod away", (*world).leave}
	over := happening{"10 minutes go by", func(w *world) { w.clock.SetTime(w.clock.Now().Add(timeout)) }}
	wakes := happening{"the write wakes the controller", func(*world) {}}
	healthy := happening{"the machine is healthy, and the remediation deleted", (*world).remove}
	return map[string][]happening{
		"healthy": {made, wakes, obeys, leaves, wakes, obeys, wakes, healthy},
		"in-vain": {
			made, wakes, obeys, leaves, wakes, obeys, over, wakes, obeys, wakes, obeys, over,
			{"the owner deletes the Machine", func(w *world) {
				w.edit(w.objects.machine, func() { w.objects.machine.Finalizers = []string{"x"} })
				w.delete(w.objects.machine)
			}},
		},
		"alone": {
			{"the workload cluster does not answer", func(w *world) { w.objects.workload = clustercache.ErrClusterNotConnected }},
			wakes, obeys, wakes, obeys,
			{"the workload cluster answers", func(w *world) { w.objects.workload = nil }},
			healthy,
		},
	}
}

// remove deletes the remediation, as a MachineHealthCheck does.
func (w *world) remove() { w.delete(w.objects.remediation) }

func (w *world) delete(o client.Object) {
	w.t.Helper()
	expect.NoError(w.t, w.store.Delete(w.t.Context(), o))
}

// TestLife writes down what a remediation does from its beginning to its end.
func TestLife(t *testing.T) {
	for name, events := range lives() {
		t.Run(name, func(t *testing.T) {
			w, out := newWorld(t, newObjects(pod)), &strings.Builder{}
			for _, e := range events {
				fmt.Fprintf(out, "%s\n", e.what)
				e.happen(w)
				result, err := w.pass()
				expect.NoError(t, err)
				s, message := w.state(result)
				for _, told := range s.Told {
					fmt.Fprintf(out, "    event %s\n", told)
				}
				fmt.Fprintf(out, "    %s %d %s: %s (%s)", s.Phase, s.Retries, s.Ready, message, s.Marks)
				if s.Wakes > 0 {
					fmt.Fprintf(out, ", at the latest after %s", s.Wakes)
				}
				fmt.Fprintln(out)
			}
			file := "testdata/" + name + ".golden"
			expect.Golden(t, file, out.String(), *update)
		})
	}
}

// story is a remediation to which anything may happen.
type story struct {
	*world

	dice *rand.Rand
	// reboots counts how often the server was switched off, and unconfirmed is a reboot that was
	// not seen to end.
	reboots     int
	unconfirmed bool
	faults      []string
}

// TestAnyOrder plays remediations to which anything may happen at any time, in any order, and
// whose manager is killed at any write. Never do two reboots overlap, never is a Node touched
// whose server runs, and in the end the server is let go and nothing is left on the Node.
func TestAnyOrder(t *testing.T) {
	const remediations, passes = 40, 60
	most := 0
	for seed := range uint64(remediations) {
		s := &story{world: newWorld(t, newObjects(pod)), dice: rand.New(rand.NewPCG(seed, 1))}
		limit := 1 + s.dice.Int32N(3)
		s.edit(s.objects.remediation, func() {
			s.objects.remediation.Spec.Strategy = &infrav1.RemediationStrategy{Type: "Reboot", RetryLimit: limit}
		})
		for range passes {
			s.happens()
			s.passes()
		}
		if s.reboots > int(limit)+1 {
			s.fault("%d reboots at a limit of %d", s.reboots, limit)
		}
		most = max(most, s.reboots)
		s.ends()
		if len(s.faults) > 0 {
			t.Fatalf("seed %d: %v", seed, s.faults)
		}
	}
	if most < 3 {
		t.Errorf("no remediation rebooted its server more than %d times: does the test still reach anything?", most)
	}
}

func (s *story) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// passes is one pass of a manager that may die with its first, second or third write, and
// checks what it did.
func (s *story) passes() {
	held, tainted := s.held(), s.isTainted()
	left, arrives := s.dice.IntN(20), s.dice.IntN(2) == 0
	s.fail = func(client.Object) (error, bool) {
		if left--; left < 0 {
			dies := arrives
			arrives = false // no other write does
			return errDead, dies
		}
		return nil, true
	}
	_, _ = s.pass() // an error is followed by another pass, as anything is
	s.fail = nil
	skipped := s.objects.machine.Annotations != nil
	switch {
	case !held && s.held():
		if s.unconfirmed {
			s.fault("a reboot begins before the last one has ended")
		}
		s.unconfirmed = true
		s.reboots++
	case held && !s.held() && skipped:
		// A user who stops a remediation and lets it go on asks for a reboot anew.
		s.unconfirmed = false
		s.reboots--
	}
	if !tainted && s.isTainted() && (s.objects.claim.Status.PoweredOn || !s.held()) {
		s.fault("the Node of a server that runs is tainted")
	}
}

// happens lets one thing happen that is none of the remediation's doing.
func (s *story) happens() {
	o := s.objects
	events := []func(){
		s.obeys, s.obeys, s.leave,
		func() { s.clock.SetTime(s.clock.Now().Add(time.Duration(s.dice.IntN(8)) * time.Minute)) },
		func() {
			o.workload = newObjects([]func(*objects){answers(nil), answers(nil), disconnected, denied, failing}[s.dice.IntN(5)]).workload
		},
		func() {
			if o.unreadable = ""; s.dice.IntN(4) == 0 {
				unreadableClaim(o)
			}
		},
		func() {
			s.edit(o.machine, func() {
				if o.machine.Annotations = nil; s.dice.IntN(8) == 0 {
					o.machine.Annotations = map[string]string{clusterv1.MachineSkipRemediationAnnotation: ""}
				}
			})
		},
		func() {
			s.edit(o.claim, func() {
				delete(o.claim.Annotations, infrav1.RemediationRebootPrefix+"other")
				if o.claim.Annotations[holdOffKey("m-1")] == "" && s.dice.IntN(8) == 0 {
					metav1.SetMetaDataAnnotation(&o.claim.ObjectMeta, infrav1.RemediationRebootPrefix+"other", hardOff)
				}
			})
		},
	}
	events[s.dice.IntN(len(events))]()
}

// obeys lets the server follow its claim, by which a reboot may end.
func (s *story) obeys() {
	s.obey()
	if !s.held() {
		s.unconfirmed = false
	}
}

// ends lets go of the remediation in a world that has calmed down.
func (s *story) ends() {
	o := s.objects
	o.workload, o.unreadable = nil, ""
	s.edit(o.claim, func() { delete(o.claim.Annotations, infrav1.RemediationRebootPrefix+"other") })
	s.remove()
	for range 10 {
		s.obey()
		_, _ = s.pass()
	}
	if s.read(o.remediation) || s.held() || s.isUnhealthy() || s.isTainted() {
		s.fault("left behind: ended %t, held %t, unhealthy %t, tainted %t", !s.read(o.remediation), s.held(), s.isUnhealthy(), s.isTainted())
	}
}

// TestLostHost shows that a machine whose host is gone is handed back at any time.
func TestLostHost(t *testing.T) {
	for passes := range 8 {
		w := newWorld(t, newObjects(pod))
		for range passes {
			w.obey()
			w.leave()
			if _, err := w.pass(); err != nil {
				t.Fatal(err)
			}
		}
		w.editStatus(w.objects.claim, func() { lost(w.objects) })
		for range 3 {
			if _, err := w.pass(); err != nil {
				t.Fatal(err)
			}
		}
		s, _ := w.state(ctrl.Result{})
		if !strings.Contains(s.Marks, "handed back") || s.Phase != deleting {
			t.Errorf("after %d passes: phase %q, %s", passes, s.Phase, s.Marks)
		}
	}
}
