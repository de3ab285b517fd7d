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

package hostclaim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	hostNotMoved = "False/HostNotMoved"
	boundClaim   = "hostclaim.metal3.io/bound-claim-uid"
	lostHost     = "False/MissingBareMetalHost"
)

// expectWaiting checks that a claim waits for the host that it had, and that nothing was
// done to any server meanwhile.
func (w *world) expectWaiting() {
	w.T.Helper()
	w.expect("machine", associated, hostNotMoved, boundClaim)
	w.G.Consistently(func() any { return w.readClaim("machine").Status.BareMetalHost }).Should(gomega.BeNil())
	w.expectQuiet()
	w.expectUntouched("host-1")
}

// A manager may see that a claim is unpaused before it sees the host that was moved with
// it. To it, that is a host that is not there yet, while host-1 is free.
func TestMovedClaimTakesNoHostButItsOwn(t *testing.T) {
	tests := map[string]func(claim *unstructured.Unstructured){
		"as clusterctl moves it": func(*unstructured.Unstructured) {},
		"as a tool restores it that leaves finalizers out": func(claim *unstructured.Unstructured) {
			claim.SetFinalizers(nil)
		},
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoving(t)
			stop := w.manager()
			host := w.running()
			w.readyToMove()
			all := w.pack(host)
			stop()
			w.drop(all)
			w.manager()
			for _, claim := range all.only("HostClaim") {
				edit(claim)
			}
			w.unpack(all.only("HostClaim", "HardwareData"))
			w.pause(false)
			w.expectWaiting()

			w.unpack(all.only("BareMetalHost"))
			w.expectSameServer(host)
			w.G.Expect(w.readClaim("machine").Annotations).To(gomega.HaveKeyWithValue(boundClaim, string(w.readClaim("machine").UID)))
		})
	}
}

// lose takes objects of a running claim away, as a cluster is lost, and returns what a
// backup has of them.
func (w *world) lose(kinds ...string) (host string, backup packed) {
	w.T.Helper()
	stop := w.manager()
	host = w.running()
	w.expectSameServer(host)
	backup = w.read(host, kinds...)
	stop()
	w.remove(backup)
	return host, backup
}

// A claim was restored and its host was not: the host has the UID that it had, and may
// run for another claim of that name by now.
func TestRestoredClaimDoesNotTakeAHostThatWasKept(t *testing.T) {
	tests := map[string]func(w *world, host string){
		"and has it again when the administrator says that it was restored": func(w *world, host string) {
			w.annotateHost(host, boundAs)
			w.expectSameServer(host)
		},
		"and gets a wiped one when the owner of the claim says so": func(w *world, host string) {
			w.annotateHost(host, releaseNow)
			w.G.Eventually(func() any { return w.readHost(host).Spec.ConsumerRef }).Should(gomega.BeNil())
			w.G.Expect(w.operator.wipes).To(gomega.Receive(gomega.Equal(bmov1alpha1.CleaningModeMetadata)))
			w.expect("machine", associated, hostNotMoved)
			harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { delete(c.Annotations, boundClaim) })
			w.expectBound("machine")
		},
	}
	for name, decide := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoving(t)
			w.options.OrphanGrace = 0
			host, backup := w.lose("HostClaim", "HardwareData")
			w.unpack(backup)
			w.manager()
			w.expectWaiting()
			w.expectEvent(host, "OrphanedByNamesake", gomega.ContainSubstring(releaseNow))
			w.expectRunning(host)
			decide(w, host)
		})
	}
}

// keepStatus has the hosts of a backup carry their status in baremetal-operator's annotation, as an administrator
// prepares them for a restore.
func (w *world) keepStatus(backup packed) {
	w.T.Helper()
	for _, h := range backup.only("BareMetalHost") {
		status, _, err := unstructured.NestedMap(h.Object, "status")
		w.OK(err)
		delete(status, "hardware")
		text, err := json.Marshal(status)
		w.OK(err)
		h.SetAnnotations(map[string]string{boundAs: h.GetAnnotations()[boundAs], bmov1alpha1.StatusAnnotation: string(text)})
	}
}

// A backup was made of a claim and host that were not paused. The administrator restores
// the status that baremetal-operator needs.
func TestRestoredHostGoesOnWithItsClaim(t *testing.T) {
	tests := map[string][]string{
		"with its claim":           {"BareMetalHost", "HostClaim", "HardwareData"},
		"while its claim was kept": {"BareMetalHost"},
	}
	for name, kinds := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoving(t)
			w.options.OrphanGrace = 0
			host, backup := w.lose(kinds...)
			w.keepStatus(backup)
			w.unpack(backup)
			w.manager()
			w.expectSameServer(host)
			w.G.Eventually(func() string { return w.readHost(host).Annotations[boundAs] }).Should(
				gomega.BeEquivalentTo(w.readHost(host).UID), "so that no later claim of that name takes it")
		})
	}
}

// A host is restored from a backup that was made before its claim was moved, and so names the claim by an older
// UID. The administrator withdraws that host while the claim is about to have it again. That claim has
// lost its host, so it gets no other one, although host-1 is free.
func TestLostClaimGetsNoOtherHostWhenItsRestoredHostIsWithdrawn(t *testing.T) {
	tests := map[string]func(w *world, backup packed) (intent string){
		"after it told of the loss": func(w *world, backup packed) string {
			w.manager()
			w.expect("machine", associated, lostHost)
			w.unpack(backup)
			return "Unknown/MissingBareMetalHost"
		},
		"before it could": func(w *world, backup packed) string {
			w.unpack(backup)
			w.manager()
			return "Unknown/BareMetalHostAssociated"
		},
	}
	for name, restore := range tests {
		t.Run(name, func(t *testing.T) {
			w := newMoving(t)
			host, backup := w.lose("BareMetalHost")
			w.keepStatus(backup)
			w.OK(unstructured.SetNestedField(backup[0].Object, "former", "spec", "consumerRef", "uid"))
			s := newStall(t, func(method, path, body string) bool {
				return method == http.MethodPatch && strings.Contains(path, "/baremetalhosts/"+host) && strings.Contains(body, "consumerRef")
			})
			w.transport = s.transport
			intent := restore(w, backup)
			w.G.Eventually(s.reached).Should(gomega.BeClosed())
			w.expect("machine", associated, intent)
			harness.Change(w.Story, w.readHost(host), func(h *bmov1alpha1.BareMetalHost) { h.Annotations[boundAs] = string(h.UID) })
			close(s.goOn)
			lost := w.expect("machine", associated, lostHost)
			w.G.Expect(lost.Status.BareMetalHost.Name).To(gomega.Equal(host))
			w.G.Consistently(func() any { return w.readHost("host-1").Spec.ConsumerRef }).Should(gomega.BeNil())
		})
	}
}
