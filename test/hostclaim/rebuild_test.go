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
	"fmt"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/test/harness"
)

const (
	reuseLabel   = "infrastructure.cluster.x-k8s.io/node-reuse"
	untilKey     = "hostclaim.metal3.io/reserved-until"
	skipKey      = "hostclaim.metal3.io/skip-cleaning"
	allowSkipKey = "hostclaim.metal3.io/allow-skip-cleaning"
	uncleanedKey = "hostclaim.metal3.io/uncleaned"
	parkedKey    = "hostclaim.metal3.io/parked"
	otherImage   = "https://images.example.com/other.raw"
)

// rotate gives the secret of the claim another content.
func (w *world) rotate(value string) {
	w.T.Helper()
	secret := &corev1.Secret{}
	w.OK(w.Get(w.Ctx, client.ObjectKey{Namespace: w.tenant, Name: "boot"}, secret))
	harness.Change(w.Story, secret, func(s *corev1.Secret) { s.Data["value"] = []byte(value) })
}

// expectImage waits until the host of the claim runs an image.
func (w *world) expectImage(url string) {
	w.T.Helper()
	w.G.Eventually(func() string {
		claim := w.readClaim("machine")
		return harness.Condition(claim.Status.Conditions, "Ready") + " " + w.readHost("host-0").Status.Provisioning.Image.URL
	}).Should(gomega.Equal("True/Provisioned " + url))
}

func TestRebuildWritesTheSameServerAnew(t *testing.T) {
	w := running(t)
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = otherImage })
	w.expect("machine", synchronized, "False/ImageChangeIgnored", rebuildKey)
	w.rotate("#cloud-config 2")
	w.annotate("machine", rebuildKey, "2026-01-31")
	w.expectImage(otherImage)
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.G.Expect(one(w, w.operator.drives).UserData).To(gomega.Equal("#cloud-config 2"), "data follows")

	w.annotate("machine", rebuildKey, "2026-01-31")
	w.unannotate("machine", rebuildKey)
	w.annotate("machine", rebuildKey, "2026-01-31")
	none(w, w.operator.wipes)

	w.annotate("machine", rebuildKey, "2026-02-01") // with the same image
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	one(w, w.operator.drives)
	w.expectImage(otherImage)

	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image, c.Spec.UserData = nil, nil
		c.Annotations[rebuildKey] = "2026-02-02"
	})
	one(w, w.operator.wipes)
	w.G.Eventually(func() string {
		return string(w.readHost("host-0").Status.Provisioning.State) + harness.Condition(w.readClaim("machine").Status.Conditions, synchronized)
	}).Should(gomega.Equal("availableTrue/ConfigurationSynced"))
	w.G.Expect(w.readHost("host-0").Spec.ConsumerRef).NotTo(gomega.BeNil())
	w.G.Expect(w.readHost("host-0").Spec.UserData).To(gomega.BeNil())
	none(w, w.operator.drives)

	harness.Change(w.Story, w.readClaim("machine"), withImage("boot")) // the same token, which is used up
	w.expectImage(osImage)
	none(w, w.operator.wipes)
	w.givenBack("host-0")
}

// TestServerThatIsToBeOffIsWrittenOnceItIsSwitchedOn shows what the provider manager counts on
// when it rebuilds the server of a machine: it stays empty until it is switched on, and gets
// the data of then.
func TestServerThatIsToBeOffIsWrittenOnceItIsSwitchedOn(t *testing.T) {
	w := running(t)
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image.URL, c.Spec.PoweredOn = otherImage, false
		c.Annotations = map[string]string{rebuildKey: "1"}
	})
	one(w, w.operator.wipes)
	w.G.Eventually(func() bool { return claims.Read(w.readClaim("machine")).Empty }).Should(gomega.BeTrue())
	none(w, w.operator.drives)
	w.rotate("#cloud-config 2")
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = true })
	w.G.Expect(one(w, w.operator.drives).UserData).To(gomega.Equal("#cloud-config 2"))
	w.expectImage(otherImage)
	none(w, w.operator.wipes)
}

func TestRebuildGivesNoRunningServerUpForWhatCannotBeWritten(t *testing.T) {
	tests := map[string]struct {
		edit, mend func(*bmov1alpha1.HostClaim)
		want       string
	}{
		"an image that policy refuses": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = "file:///etc/shadow" },
			func(c *bmov1alpha1.HostClaim) { c.Spec.Image.URL = otherImage },
			"False/ImageRefused",
		},
		"an image that baremetal-operator refuses": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.Image.Checksum = "" },
			func(c *bmov1alpha1.HostClaim) { c.Spec.Image.Checksum = "abc" },
			"False/ImageRefused",
		},
		"a secret that does not exist": {
			func(c *bmov1alpha1.HostClaim) { c.Spec.UserData.Name = "missing" },
			func(c *bmov1alpha1.HostClaim) { c.Spec.UserData.Name = "boot" },
			"False/UserDataSecretSyncFailure",
		},
	}
	for name, tt := range tests {
		for _, poweredOn := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, powered on %t", name, poweredOn), func(t *testing.T) {
				w := running(t)
				harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
					tt.edit(c)
					c.Spec.PoweredOn = poweredOn
					c.Annotations = map[string]string{rebuildKey: "1"}
				})
				refused := w.expect("machine", synchronized, tt.want)
				w.G.Expect(harness.Condition(refused.Status.Conditions, "Provisioned")).To(gomega.HavePrefix("False"))
				none(w, w.operator.wipes)
				w.G.Expect(w.readHost("host-0").Spec.Online).To(gomega.BeTrue(), "the server runs on")
				harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
					tt.mend(c)
					c.Spec.PoweredOn = true
				})
				one(w, w.operator.wipes)
				one(w, w.operator.drives)
				w.expect("machine", "Ready", "True/Provisioned")
			})
		}
	}
}

// TestServerThatMustNotBeSwitchedOffIsNotWrittenWithTheDataOfBefore shows what a machine asks for
// whose data is withdrawn until its server is empty: it would boot at once, with that data.
func TestServerThatMustNotBeSwitchedOffIsNotWrittenWithTheDataOfBefore(t *testing.T) {
	w := running(t)
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true })
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		c.Spec.Image.URL, c.Spec.PoweredOn = otherImage, false
		c.Annotations = map[string]string{rebuildKey: "1"}
	})
	w.expect("machine", synchronized, "False/RebuildRefused")
	none(w, w.operator.wipes)
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = false })
	one(w, w.operator.wipes)
	none(w, w.operator.drives)
}

func TestRebuildSaysWhatItWaitsFor(t *testing.T) {
	w := running(t)
	host := w.readHost("host-0")
	harness.Change(w.Story, host, func(h *bmov1alpha1.BareMetalHost) { h.Annotations[bmov1alpha1.PausedAnnotation] = "" })
	w.annotate("machine", rebuildKey, "1")
	w.expect("machine", synchronized, "False/HostPaused")
	w.G.Consistently(func() *bmov1alpha1.Image { return w.readHost("host-0").Spec.Image }).Should(gomega.BeNil(),
		"nothing is written while the host still shows the former image")
	// The host is unpaused and stands still in the middle.
	w.status("host-0", func(s *bmov1alpha1.BareMetalHostStatus) { s.Provisioning.State = bmov1alpha1.StateDeprovisioning })
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, bmov1alpha1.PausedAnnotation) })
	one(w, w.operator.drives)
	w.expect("machine", "Ready", "True/Provisioned")
}

// reserve frees the claim of its machine for the next one, as the provider manager does.
func (w *world) reserve(annotations map[string]string) {
	w.T.Helper()
	group := claims.Keeper{Label: "md-workers", Reference: metav1.OwnerReference{
		APIVersion: "example.com/v1", Kind: "Group", Name: "workers", UID: "group",
	}}
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		*c = *claims.Reserve(c, claims.Owner{Name: "former", UID: "former"}, group, time.Time{}, false)
		c.Annotations = annotations
	})
}

// rests waits until the next machine may have the host.
func (w *world) rests() {
	w.T.Helper()
	w.G.Eventually(func() bool { return claims.Rests(w.readClaim("machine")) }).Should(gomega.BeTrue())
}

// adopt gives the claim to the next machine.
func (w *world) adopt() {
	w.T.Helper()
	harness.Change(w.Story, w.readClaim("machine"), func(c *bmov1alpha1.HostClaim) {
		c.Spec.ConsumerRef = &corev1.ObjectReference{Name: "next"}
		c.Spec.PoweredOn = true
		withImage("boot")(c)
	})
}

func in(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

func TestReservedHostIsEmptiedStaysBoundAndServesTheNextMachine(t *testing.T) {
	w := running(t)
	w.reserve(map[string]string{untilKey: in(time.Hour), skipKey: "true"}) // which no policy permits
	w.G.Expect(claims.Rests(w.readClaim("machine"))).To(gomega.BeFalse(), "nothing has been said of the claim as it is now")
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.rests()
	kept := w.expect("machine", provisioned, "False/Reserved")
	w.G.Eventually(func() bool { return w.readClaim("machine").Status.PoweredOn }).Should(gomega.BeFalse())
	w.G.Expect(w.readHost("host-0").Spec.ConsumerRef.UID).To(gomega.Equal(kept.UID))

	w.rotate("#cloud-config of the next machine")
	w.adopt()
	w.G.Expect(one(w, w.operator.drives).UserData).To(gomega.Equal("#cloud-config of the next machine"))
	ready := w.expect("machine", "Ready", "True/Provisioned")
	w.G.Expect(ready.Labels).To(gomega.HaveKey(reuseLabel), "the label alone does not make it reserved")
	w.G.Expect(ready.Status.PoweredOn).To(gomega.BeTrue())
	none(w, w.operator.wipes)
}

func TestReservationIsNeverUnlimited(t *testing.T) {
	w := running(t)
	w.reserve(map[string]string{untilKey: "tomorrow"})
	w.expect("machine", provisioned, "False/Reserved")
	until, err := time.Parse(time.RFC3339, w.readClaim("machine").Annotations[untilKey])
	w.OK(err)
	if left := time.Until(until); left < 55*time.Minute || left > time.Hour {
		t.Errorf("reserved for another %s, want about an hour", left)
	}
}

// parking is a world whose policy permits to skip cleaning, with a claim that is reserved so.
func parking(t *testing.T) *world {
	t.Helper()
	w := runningUnder(t, map[string]string{allowSkipKey: "true"})
	w.reserve(map[string]string{untilKey: in(time.Hour), skipKey: "true"})
	w.G.Eventually(func() map[string]string { return w.readHost("host-0").Annotations }).Should(gomega.HaveKey(parkedKey))
	w.expect("machine", provisioned, "False/Reserved")
	return w
}

func TestParkedHostIsWrittenAnewWithoutCleaning(t *testing.T) {
	w := parking(t)
	w.G.Eventually(func() bool { return w.readClaim("machine").Status.PoweredOn }).Should(gomega.BeFalse())
	w.rests()
	none(w, w.operator.wipes)

	w.adopt() // with the same image
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled))
	one(w, w.operator.drives)
	w.expect("machine", "Ready", "True/Provisioned")
	w.G.Eventually(func() map[string]string { return w.readHost("host-0").Annotations }).ShouldNot(gomega.HaveKey(uncleanedKey))
	w.G.Expect(w.readHost("host-0").Annotations).NotTo(gomega.HaveKey(parkedKey))

	w.end("machine")
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.expectPristine("host-0")
}

func TestParkedHostIsCleanedWhenItIsNotAdopted(t *testing.T) {
	w := parking(t)
	w.annotate("machine", untilKey, in(time.Second))
	w.expectGone("machine")
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.expectPristine("host-0")
}

func TestParkedHostIsCleanedWhenPolicyEndsTheParking(t *testing.T) {
	w := parking(t)
	harness.Change(w.Story, w.readPolicy(), func(p *bmov1alpha1.HostDeployPolicy) { p.Annotations = nil })
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeMetadata))
	w.G.Eventually(func() map[string]string { return w.readHost("host-0").Annotations }).ShouldNot(gomega.HaveKey(parkedKey))
}

func TestUncleanedHostIsHeldUntilTheInfrastructureTeamHasCleanedIt(t *testing.T) {
	w := parking(t)
	// The next machine comes and goes before its image is written: the secret that
	// it names is taken away as soon as the host is being emptied.
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { h.Annotations[bmov1alpha1.PausedAnnotation] = "" })
	w.adopt()
	w.G.Eventually(func() map[string]string { return w.readHost("host-0").Annotations }).Should(gomega.HaveKey(uncleanedKey))
	w.OK(w.Delete(w.Ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: "boot"}}))
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, bmov1alpha1.PausedAnnotation) })
	w.G.Expect(one(w, w.operator.wipes)).To(gomega.Equal(bmov1alpha1.CleaningModeDisabled))
	w.expect("machine", synchronized, "False/UserDataSecretSyncFailure")

	w.OK(w.Delete(w.Ctx, w.readClaim("machine")))
	w.expect("machine", "Ready", "False/HostNotCleaned", uncleanedKey)
	w.G.Consistently(func() *corev1.ObjectReference { return w.readHost("host-0").Spec.ConsumerRef }).ShouldNot(gomega.BeNil())
	harness.Change(w.Story, w.readHost("host-0"), func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, uncleanedKey) })
	w.expectGone("machine")
	w.expectPristine("host-0")
}
