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

package binding

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var (
	rebootSeed      = flag.Uint64("reboot-seed", 1, "seed of the first schedule of reboots")
	rebootSchedules = flag.Int("reboot-schedules", 1000, "how many schedules of reboots to play")
)

// rebootWorld is a claim and its host as an API server keeps them, with all their
// versions, and two managers that read any recent one of them.
type rebootWorld struct {
	t      *testing.T
	random *rand.Rand
	claims []*bmov1alpha1.HostClaim
	hosts  []*bmov1alpha1.BareMetalHost

	wished, accepted int
	passed           map[string]int
}

func (w *rebootWorld) claim() *bmov1alpha1.HostClaim    { return w.claims[len(w.claims)-1] }
func (w *rebootWorld) host() *bmov1alpha1.BareMetalHost { return w.hosts[len(w.hosts)-1] }

// writeClaim and writeHost are locked writes.
func (w *rebootWorld) writeClaim(next *bmov1alpha1.HostClaim) (*bmov1alpha1.HostClaim, bool) {
	if next.ResourceVersion != w.claim().ResourceVersion {
		return nil, false
	}
	next = next.DeepCopy()
	next.ResourceVersion = "c" + strconv.Itoa(len(w.claims))
	w.claims = append(w.claims, next)
	return next, true
}

func (w *rebootWorld) writeHost(next *bmov1alpha1.BareMetalHost) (*bmov1alpha1.BareMetalHost, bool) {
	if next.ResourceVersion != w.host().ResourceVersion {
		return nil, false
	}
	next = next.DeepCopy()
	next.ResourceVersion = "h" + strconv.Itoa(len(w.hosts))
	w.hosts = append(w.hosts, next)
	return next, true
}

// recent returns one of the last versions: a cache may be late, and as often is
// not.
func recent[T any](w *rebootWorld, versions []T) T {
	late := w.random.IntN(2) * w.random.IntN(8)
	return versions[max(0, len(versions)-1-late)]
}

// tenant edits the claim.
func (w *rebootWorld) tenant() {
	next := w.claim().DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	held := fmt.Sprintf("%s/held-%d", oneShotKey, w.random.IntN(3))
	switch w.random.IntN(8) {
	default:
		if _, pending := next.Annotations[oneShotKey]; !pending {
			w.wished++
		}
		next.Annotations[oneShotKey] = []string{"", `{"mode":"hard"}`}[w.random.IntN(2)]
	case 0:
		next.Annotations[held] = ""
	case 1:
		delete(next.Annotations, held)
	}
	w.writeClaim(next)
}

// operator plays baremetal-operator and administrators.
func (w *rebootWorld) operator() {
	next := w.host().DeepCopy()
	status := &next.Status.Provisioning
	switch w.random.IntN(8) {
	default:
		if status.State == bmov1alpha1.StateProvisioned {
			delete(next.Annotations, oneShotKey)
		}
	case 0: // provisioning takes all reboots away
		status.State = bmov1alpha1.StateProvisioning
		for key := range next.Annotations {
			if strings.HasPrefix(key, oneShotKey) {
				delete(next.Annotations, key)
			}
		}
	case 1, 2:
		status.State = bmov1alpha1.StateProvisioned
	case 3:
		if _, busy := next.Annotations[oneShotKey]; !busy {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, oneShotKey, "") // by an administrator
		}
	case 4:
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, oneShotKey+"/remediation", "")
	}
	w.writeHost(next)
}

// rebootManager is a manager in the middle of a pass. It may stop at any of its
// steps for any time, die, or lose the answer to a write that has arrived.
type rebootManager struct {
	claim     *bmov1alpha1.HostClaim
	host      *bmov1alpha1.BareMetalHost
	confirmed bool
}

// advance takes one step of a pass, in the order of controllers/hostclaim.
func (m *rebootManager) advance(w *rebootWorld, fresh bool) (idle bool) {
	if m.claim == nil {
		m.claim, m.confirmed = recent(w, w.claims), false
		if fresh {
			m.claim = w.claim()
		}
		return false
	}
	if m.host == nil {
		m.host = recent(w, w.hosts)
		if fresh {
			m.host = w.host()
		}
		return false
	}
	reboots := ReadReboots(m.claim)
	var written bool
	if held, _ := WithHeld(reboots.Held, m.host); !maps.Equal(held.Annotations, m.host.Annotations) {
		m.host, written = w.writeHost(held)
		return m.after(w, written, fresh)
	}
	switch NextReboot(reboots, m.host) {
	case AcceptReboot:
		if m.claim, written = w.writeClaim(AcceptedReboot(m.claim, *reboots.Asked)); written {
			w.accepted++
		}
	case PassReboot:
		if !m.confirmed {
			m.confirmed = SameInputs(m.claim, w.claim())
			written = m.confirmed
			break
		}
		m.confirmed = false
		if m.host, written = w.writeHost(PassedReboot(m.host, *reboots.Request)); written {
			w.passed[reboots.Request.ID]++
		}
	case CloseReboot:
		m.claim, written = w.writeClaim(ClosedReboot(m.claim))
	default:
		*m = rebootManager{}
		return true
	}
	return m.after(w, written, fresh)
}

// after ends the pass when a write met a newer version, or with the manager.
func (m *rebootManager) after(w *rebootWorld, written, fresh bool) bool {
	if !written || (!fresh && w.random.IntN(4) == 0) {
		*m = rebootManager{}
	}
	return false
}

// settle lets one manager with a fresh cache come to an end, while the host does
// what it is asked for.
func (w *rebootWorld) settle() {
	next := w.host().DeepCopy()
	next.Status.Provisioning.State = bmov1alpha1.StateProvisioned
	w.writeHost(next)
	m := &rebootManager{}
	for range 200 {
		if _, busy := w.host().Annotations[oneShotKey]; m.advance(w, true) && busy {
			next := w.host().DeepCopy()
			delete(next.Annotations, oneShotKey)
			w.writeHost(next)
		}
	}
}

func TestEachOneShotIsPassedExactlyOnce(t *testing.T) {
	t.Logf("%d schedules from seed %d", *rebootSchedules, *rebootSeed)
	total := 0
	for i := range *rebootSchedules {
		seed := *rebootSeed + uint64(i)
		w := &rebootWorld{
			t: t, random: rand.New(rand.NewPCG(seed, 0)), passed: map[string]int{},
			claims: []*bmov1alpha1.HostClaim{newClaim()}, hosts: []*bmov1alpha1.BareMetalHost{newHost(running)},
		}
		managers := []*rebootManager{{}, {}}
		for range 200 {
			switch w.random.IntN(12) {
			case 0:
				w.tenant()
			case 1, 2:
				w.operator()
			default:
				managers[w.random.IntN(len(managers))].advance(w, false)
			}
		}
		w.settle()
		w.check(seed)
		total += w.wished
	}
	expect.That(t, total >= *rebootSchedules, "only %d reboots were asked for: the schedules show nothing", total)
}

func (w *rebootWorld) check(seed uint64) {
	w.t.Helper()
	for id, times := range w.passed {
		expect.That(w.t, times == 1, "seed %d: reboot %s was passed %d times", seed, id, times)
	}
	expect.That(w.t, w.accepted == w.wished && len(w.passed) == w.wished, "seed %d: %d reboots asked for, %d accepted, %d passed", seed, w.wished, w.accepted, len(w.passed))
	got := ReadReboots(w.claim())
	expect.That(w.t, got.Asked == nil && got.Request == nil, "seed %d: a reboot is left on the claim: %v", seed, w.claim().Annotations)
	for key := range w.host().Annotations {
		_, wanted := got.Held[key]
		expect.That(w.t, wanted || !strings.HasPrefix(key, infrav1.HeldRebootPrefix), "seed %d: %s is left on the host", seed, key)
	}
	for key := range got.Held {
		_, found := w.host().Annotations[key]
		expect.That(w.t, found, "seed %d: %s is missing on the host", seed, key)
	}
}
