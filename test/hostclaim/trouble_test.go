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
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// trouble is what may befall a host at any time.
type trouble struct {
	// annotation and status are how it shows.
	annotation string
	status     func(*bmov1alpha1.BareMetalHostStatus)
	deleted    bool
	// reason is that of a claim that is being deleted meanwhile.
	reason string
}

var troubles = map[string]trouble{
	"paused": {annotation: bmov1alpha1.PausedAnnotation, reason: bmov1alpha1.HostPausedReason},
	"detached": {
		annotation: bmov1alpha1.DetachedAnnotation,
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.OperationalStatus = bmov1alpha1.OperationalStatusDetached
		},
		reason: infrav1.HostDetachedReason,
	},
	"in error": {
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.OperationalStatus = bmov1alpha1.OperationalStatusError
			s.ErrorType, s.ErrorMessage = bmov1alpha1.ProvisioningError, "no answer"
		},
		reason: infrav1.HostInErrorReason,
	},
	"inspected anew": {
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.Provisioning.State = bmov1alpha1.StateInspecting
		},
		reason: infrav1.HostDeprovisioningReason,
	},
	"deleted": {deleted: true, reason: infrav1.HostBeingDeletedReason},
}

// befall brings trouble over a host, and returns how it ends. A host that is
// deleted ends by being gone.
func (w *world) befall(name string, trouble trouble) (end func()) {
	w.T.Helper()
	before := w.readHost(name).Status
	if trouble.deleted {
		harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = []string{bmov1alpha1.BareMetalHostFinalizer} })
		w.OK(w.Delete(w.Ctx, w.readHost(name)))
		return func() {
			harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) { h.Finalizers = nil })
		}
	}
	if trouble.annotation != "" {
		harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) {
			metav1.SetMetaDataAnnotation(&h.ObjectMeta, trouble.annotation, "")
		})
	}
	if trouble.status != nil {
		w.status(name, trouble.status)
	}
	return func() {
		if trouble.status != nil {
			w.status(name, func(s *bmov1alpha1.BareMetalHostStatus) {
				s.OperationalStatus, s.ErrorType, s.ErrorMessage = before.OperationalStatus, "", ""
				if s.Provisioning.State == bmov1alpha1.StateInspecting {
					s.Provisioning.State = before.Provisioning.State
				}
			})
		}
		if trouble.annotation != "" {
			harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, trouble.annotation) })
		}
	}
}

// status changes what a host reports.
func (w *world) status(name string, edit func(*bmov1alpha1.BareMetalHostStatus)) {
	w.T.Helper()
	host := w.readHost(name)
	before := host.DeepCopy()
	edit(&host.Status)
	w.OK(w.Status().Patch(w.Ctx, host, client.MergeFrom(before)))
}

// holdBack keeps the operator from a host, or lets it go on.
func (w *world) holdBack(name string, held bool) {
	w.T.Helper()
	harness.Change(w.Story, w.readHost(name), func(h *bmov1alpha1.BareMetalHost) {
		delete(h.Annotations, heldBack)
		if held {
			h.Annotations[heldBack] = ""
		}
	})
}

// TestHostInTroubleIsKeptAndNotReleased brings each trouble over the host of a claim while it is being written and,
// once the claim is deleted, while it is deprovisioned. The claim keeps the host and reports the
// trouble; once it is over, the claim proceeds by itself.
func TestHostInTroubleIsKeptAndNotReleased(t *testing.T) {
	for what, trouble := range troubles {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t).withRights().withHosts()
			w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) {
				h.Annotations = map[string]string{heldBack: ""}
			})
			w.manager()
			claim := w.bound(withImage("boot"))
			end := func() {}
			if !trouble.deleted { // see TestLostHostIsReportedAndNotReplaced
				end = w.befall("host-0", trouble)
			}
			w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
			w.G.Consistently(func() string {
				return harness.Condition(w.readClaim("machine").Status.Conditions, associated)
			}, stillness/2).Should(gomega.HavePrefix("True/"))
			end()
			w.holdBack("host-0", false)
			w.expect("machine", "Ready", "True/Provisioned")

			w.holdBack("host-0", true)
			w.OK(w.Delete(w.Ctx, claim))
			w.expect("machine", "Ready", "False/"+infrav1.HostDeprovisioningReason)
			w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { s.Provisioning.State = bmov1alpha1.StateDeprovisioning })
			end = w.befall("host-0", trouble)
			// The state comes after the trouble, never before it: a host at rest would be free at once.
			w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) {
				s.Provisioning.Image = bmov1alpha1.Image{}
				if s.Provisioning.State != bmov1alpha1.StateInspecting {
					s.Provisioning.State = bmov1alpha1.StateAvailable
				}
			})
			w.expect("machine", "Ready", "False/"+trouble.reason)
			w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef }, stillness/2).ShouldNot(gomega.BeNil())
			w.G.Expect(w.copies()).To(gomega.HaveKey("userdata"), "copies stay as long as the host may read them")
			end()
			if trouble.deleted {
				w.expectGone("machine")
				w.G.Expect(w.copies()).To(gomega.BeEmpty())
				return
			}
			w.holdBack("host-0", false)
			w.expectGone("machine")
			w.expectPristine("host-0")
		})
	}
}
