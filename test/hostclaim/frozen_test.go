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
	"sync/atomic"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/hostclaim/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

// trouble is what may befall a host at any time.
type trouble struct {
	// annotation and status are how it shows.
	annotation string
	status     func(*bmov1alpha1.BareMetalHostStatus)
	deleted    bool
	// reason is what a claim that goes says meanwhile.
	reason string
}

var troubles = map[string]trouble{
	"paused": {annotation: bmov1alpha1.PausedAnnotation, reason: binding.HostPausedReason},
	"detached": {
		annotation: bmov1alpha1.DetachedAnnotation,
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.OperationalStatus = bmov1alpha1.OperationalStatusDetached
		},
		reason: binding.HostDetachedReason,
	},
	"about to be detached": {annotation: bmov1alpha1.DetachedAnnotation, reason: binding.HostDetachedReason},
	"in error": {
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.OperationalStatus = bmov1alpha1.OperationalStatusError
			s.ErrorType, s.ErrorMessage = bmov1alpha1.ProvisioningError, "no answer"
		},
		reason: binding.HostInErrorReason,
	},
	"inspected anew": {
		status: func(s *bmov1alpha1.BareMetalHostStatus) {
			s.Provisioning.State = bmov1alpha1.StateInspecting
		},
		reason: binding.HostDeprovisioningReason,
	},
	"deleted": {deleted: true, reason: binding.HostBeingDeletedReason},
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
			if h.Annotations == nil {
				h.Annotations = map[string]string{}
			}
			h.Annotations[trouble.annotation] = ""
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

// releaseStages are the moments of a release, each with what leads there from a
// provisioned host that is held back. They end with the claim being deleted.
var releaseStages = map[string]struct {
	state     bmov1alpha1.ProvisioningState
	clearedBy bool // the claim is deleted, and the host cleared, before
	image     bool // an image is reported
}{
	"while it is being written":          {state: bmov1alpha1.StateProvisioning},
	"before it is cleared":               {state: bmov1alpha1.StateProvisioned, image: true},
	"while it is deprovisioned":          {state: bmov1alpha1.StateDeprovisioning, clearedBy: true, image: true},
	"when it has just come back to rest": {state: bmov1alpha1.StateAvailable, clearedBy: true},
}

// TestNoHostIsReleasedInTrouble plays each trouble at each moment of a release. The
// host keeps the name of its claim, the claim says why, and when the trouble is
// over, everything goes on by itself.
func TestNoHostIsReleasedInTrouble(t *testing.T) {
	for what, trouble := range troubles {
		for when, stage := range releaseStages {
			t.Run(what+" "+when, func(t *testing.T) {
				w := newWorld(t).withRights()
				w.manager()
				claim := w.provisioned()
				w.holdBack("host-0", true)
				if stage.clearedBy {
					w.OK(w.Delete(w.Ctx, claim))
					w.expect("machine", "Ready", "False/"+binding.HostDeprovisioningReason)
				}
				// The state comes with or after the trouble, never before it: a
				// host at rest would be free at once.
				first := stage.state
				if stage.clearedBy {
					first = bmov1alpha1.StateDeprovisioning
				}
				w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) {
					s.Provisioning.State = first
					if !stage.image && !stage.clearedBy {
						s.Provisioning.Image = bmov1alpha1.Image{}
					}
				})
				end := w.befall("host-0", trouble)
				if first != stage.state {
					w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) {
						s.Provisioning.Image = bmov1alpha1.Image{}
						if s.Provisioning.State != bmov1alpha1.StateInspecting {
							s.Provisioning.State = stage.state
						}
					})
				}
				if !stage.clearedBy {
					w.OK(w.Delete(w.Ctx, claim))
				}
				w.expect("machine", "Ready", "False/"+trouble.reason)
				w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef }, stillness/2).ShouldNot(gomega.BeNil())
				w.G.Expect(w.copies()).To(gomega.HaveKey("userdata"), "copies stay as long as the host may read them")

				end()
				if !trouble.deleted {
					w.holdBack("host-0", false)
				}
				w.expectGone("machine")
				if trouble.deleted {
					w.G.Expect(w.copies()).To(gomega.BeEmpty())
					return
				}
				w.expectPristine("host-0")
			})
		}
	}
}

// TestHostInTroubleIsNotBound brings each trouble over the host between its
// selection and the write that would bind it.
func TestHostInTroubleIsNotBound(t *testing.T) {
	for what, trouble := range troubles {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t).withRights()
			w.policy(nil, w.tenant)
			w.host("host-0", nil)
			var once atomic.Bool
			ends := make(chan func(), 1)
			w.managerWith(func(do func() error) error {
				claim := &bmov1alpha1.HostClaim{}
				err := w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "machine"}, claim)
				if err == nil && harness.Condition(claim.Status.Conditions, associated) == "Unknown/Binding" && once.CompareAndSwap(false, true) {
					ends <- w.befall("host-0", trouble)
				}
				return do()
			})
			w.claim("machine")
			var end func()
			w.G.Eventually(ends).Should(gomega.Receive(&end))
			w.expect("machine", associated, noHost)
			w.G.Consistently(func() any { return w.readHost("host-0").Spec.ConsumerRef }, stillness/2).Should(gomega.BeNil())
			end()
			if trouble.deleted {
				w.G.Eventually(func() bool {
					return apierrors.IsNotFound(w.Get(w.Ctx, client.ObjectKey{Namespace: w.infra, Name: "host-0"}, &bmov1alpha1.BareMetalHost{}))
				}).Should(gomega.BeTrue())
				w.host("host-0", nil)
			}
			w.expectBound("machine")
		})
	}
}

// TestHostInTroubleIsProvisionedWhenItIsOver brings each trouble over a host that
// is being written. The claim keeps it.
func TestHostInTroubleIsProvisionedWhenItIsOver(t *testing.T) {
	for what, trouble := range troubles {
		if trouble.deleted {
			continue // see TestLostHostIsReportedAndNotReplaced
		}
		t.Run(what, func(t *testing.T) {
			w := newWorld(t).withRights()
			w.policy(nil, w.tenant)
			w.host("host-0", nil, func(h *bmov1alpha1.BareMetalHost) { h.Annotations = map[string]string{heldBack: ""} })
			w.manager()
			w.claim("machine", withImage("boot"))
			w.expectBound("machine")
			end := w.befall("host-0", trouble)
			w.MakeSecret(w.tenant, "boot", "value", "#cloud-config")
			w.G.Consistently(func() string {
				return harness.Condition(w.readClaim("machine").Status.Conditions, associated)
			}, stillness/2).Should(gomega.HavePrefix("True/"))
			end()
			w.holdBack("host-0", false)
			w.expect("machine", "Ready", "True/Provisioned")
		})
	}
}
