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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const imageURL = "https://images.example.com/os.raw"

type (
	hostEdit  = func(*bmov1alpha1.BareMetalHost)
	claimEdit = func(*bmov1alpha1.HostClaim)
)

// newHost returns a free host whose administrator has switched cleaning off.
func newHost(edits ...hostEdit) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "host-0", UID: "host-uid"},
		Spec:       bmov1alpha1.BareMetalHostSpec{AutomatedCleaningMode: bmov1alpha1.CleaningModeDisabled},
	}
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
	for _, e := range edits {
		e(h)
	}
	return h
}

func newClaim(edits ...claimEdit) *bmov1alpha1.HostClaim {
	c := &bmov1alpha1.HostClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: "claim-uid", ResourceVersion: "7"},
		Spec:       bmov1alpha1.HostClaimSpec{PoweredOn: true},
	}
	for _, e := range edits {
		e(c)
	}
	return c
}

// boundHost returns a host that the claim has, with everything that is written
// at the bind and after it.
func boundHost(edits ...hostEdit) *bmov1alpha1.BareMetalHost {
	host := Desired(newClaim(), Bind(newHost(), newClaim()), nil)
	for _, e := range edits {
		e(host)
	}
	return host
}

func asksImage(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }

func asksCustom(c *bmov1alpha1.HostClaim) {
	c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "m"}
}

func toldImage(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }

func toldCustom(h *bmov1alpha1.BareMetalHost) {
	h.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "m"}
}

func runsImage(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.Image.URL = imageURL }

func state(s bmov1alpha1.ProvisioningState) hostEdit {
	return func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = s }
}

func annotated(key, value string) hostEdit {
	return func(h *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&h.ObjectMeta, key, value) }
}

func failed(h *bmov1alpha1.BareMetalHost) {
	h.Status.ErrorMessage, h.Status.ErrorType = "no power", bmov1alpha1.PowerManagementError
}

func TestConsumerKey(t *testing.T) {
	ref := func(edit func(*corev1.ObjectReference)) hostEdit {
		return func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.ConsumerRef = Bind(newHost(), newClaim()).Spec.ConsumerRef
			edit(h.Spec.ConsumerRef)
		}
	}
	tests := map[string]struct {
		host  *bmov1alpha1.BareMetalHost
		key   string
		owned bool
	}{
		"of a host that names the claim":            {newHost(ref(func(*corev1.ObjectReference) {})), "tenant/machine/claim-uid", true},
		"of a later version of the group":           {newHost(ref(func(r *corev1.ObjectReference) { r.APIVersion = "metal3.io/v1beta1" })), "tenant/machine/claim-uid", true},
		"of a claim that was made again":            {newHost(ref(func(r *corev1.ObjectReference) { r.UID = "other" })), "tenant/machine/other", false},
		"of a claim that is named without its UID":  {newHost(ref(func(r *corev1.ObjectReference) { r.UID = "" })), "tenant/machine/", false},
		"of a free host":                            {newHost(), "", false},
		"of a host with a consumer of another kind": {newHost(ref(func(r *corev1.ObjectReference) { r.Kind = "Metal3Machine" })), "", false},
		"of another group":                          {newHost(ref(func(r *corev1.ObjectReference) { r.APIVersion = "example.com/v1" })), "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.key, ConsumerKey(tt.host))
			expect.Equal(t, tt.owned, Owned(tt.host, newClaim()))
		})
	}
}

func TestBind(t *testing.T) {
	given := newHost(annotated(infrav1.FenceAnnotation, "other/1"), annotated("example.com/keep", "me"))
	got, want := Bind(given, newClaim()), newHost()
	want.Labels = map[string]string{infrav1.ClaimUIDLabel: "claim-uid"}
	want.Annotations = map[string]string{
		"example.com/keep":                   "me",
		infrav1.BoundHostUIDAnnotation:       "host-uid",
		infrav1.FormerCleaningModeAnnotation: "disabled",
		infrav1.BlockMoveAnnotation:          infrav1.HostClaimManagerFieldOwner,
	}
	want.Spec.ConsumerRef = &corev1.ObjectReference{
		APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Namespace: "tenant", Name: "machine", UID: "claim-uid",
	}
	expect.Equal(t, want, got)
}

// What the pass that binds a host would write next goes with the bind, unless it needs more than
// the claim: data, a look at policy, or patience.
func TestBindAtOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	on := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }
	off := func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }
	moved := func(h *bmov1alpha1.BareMetalHost) {
		h.Namespace, h.Spec.ConsumerRef = "tenant", Bind(newHost(), newClaim()).Spec.ConsumerRef
		h.Spec.ConsumerRef.UID = "before"
		metav1.SetMetaDataAnnotation(&h.ObjectMeta, infrav1.BoundHostUIDAnnotation, "before")
	}
	tests := map[string]struct {
		host  []hostEdit
		claim claimEdit
		// then is what a next write would be made of.
		online, noted, then bool
	}{
		"a server is switched off":                     {[]hostEdit{on}, off, false, true, false},
		"one that is off already is not":               {nil, off, false, false, false},
		"one is switched on":                           {nil, func(*bmov1alpha1.HostClaim) {}, true, true, false},
		"one that must not be switched off stays on":   {[]hostEdit{on, func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }}, off, true, false, false},
		"one that gets an image waits for its data":    {[]hostEdit{on}, func(c *bmov1alpha1.HostClaim) { off(c); asksImage(c) }, true, false, true},
		"one that was moved with its claim is guarded": {[]hostEdit{on, moved}, off, true, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim, host := newClaim(tt.claim), newHost(tt.host...)
			if host.Spec.ConsumerRef != nil {
				host.UID = "new-host-uid"
			}
			got := BindAtOnce(host, claim, now)
			_, noted := got.Annotations[infrav1.PowerChangesAnnotation]
			expect.That(t, got.Spec.Online == tt.online && noted == tt.noted && Owned(got, claim), "online %t, noted %t, owned %t", got.Spec.Online, noted, Owned(got, claim))
			next := Desired(claim, got, &Payload{})
			expect.That(t, tt.then == !cmp.Equal(next, got), "what a next write would change:\n%s", cmp.Diff(got, next))
		})
	}
}

// A host whose consumerRef another client took away keeps the marks of its claim.
func TestBindTakesNoMarksOfAFormerClaimOver(t *testing.T) {
	stray := newHost(annotated(infrav1.ParkedAnnotation, "former"), annotated(infrav1.RebuildAnnotation, "1"),
		annotated(infrav1.LastRebootAnnotation, "former/1"), annotated(infrav1.HeldRebootPrefix+"x", ""))
	expect.Equal(t, Bind(newHost(), newClaim()), Bind(stray, newClaim()))
	moved := newHost(annotated(infrav1.ParkedAnnotation, "claim-uid"), func(h *bmov1alpha1.BareMetalHost) {
		h.Namespace = "tenant"
		h.Spec.ConsumerRef = Bind(newHost(), newClaim()).Spec.ConsumerRef
		h.Spec.ConsumerRef.UID = "before"
		metav1.SetMetaDataAnnotation(&h.ObjectMeta, infrav1.BoundHostUIDAnnotation, "before")
	})
	expect.That(t, Moved(moved, newClaim()) && IsParked(Bind(moved, newClaim())), "a host that was moved with its claim does not stay parked")
}

func TestFence(t *testing.T) {
	claim, host := newClaim(), newHost()
	fenced := FencedHost(host, claim)
	expect.That(t, !HasFence(host, claim) && HasFence(fenced, claim), "the fence is not seen on the fenced host only")
	expect.That(t, !HasFence(fenced, newClaim(func(c *bmov1alpha1.HostClaim) { c.UID = "other" })), "the fence counts for another claim")
	got, want := fenced.Annotations[infrav1.FenceAnnotation], "claim-uid/7"
	expect.That(t, got == want, "fence %q, want %q", got, want)
	expect.Equal(t, host, Unfenced(fenced), cmpopts.EquateEmpty())
}

func TestMoved(t *testing.T) {
	// The claim had another UID when the host was bound, and so had the host.
	before := newClaim(func(c *bmov1alpha1.HostClaim) { c.Namespace, c.UID = "infra", "old-uid" })
	after := newClaim(func(c *bmov1alpha1.HostClaim) { c.Namespace = "infra" })
	moved := func(edits ...hostEdit) *bmov1alpha1.BareMetalHost {
		host := Desired(before, Bind(newHost(), before), nil)
		host.UID = "new-host-uid"
		for _, e := range edits {
			e(host)
		}
		return host
	}
	tests := map[string]struct {
		host *bmov1alpha1.BareMetalHost
		want bool
	}{
		"when both have new UIDs":                     {moved(), true},
		"not a host that kept its UID":                {moved(func(h *bmov1alpha1.BareMetalHost) { h.UID = "host-uid" }), false},
		"not a host that was not bound by us":         {moved(func(h *bmov1alpha1.BareMetalHost) { delete(h.Annotations, infrav1.BoundHostUIDAnnotation) }), false},
		"not a host of another claim":                 {moved(func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Name = "other" }), false},
		"not a host of another namespace":             {moved(func(h *bmov1alpha1.BareMetalHost) { h.Namespace = "other" }), false},
		"not a claim of another namespace":            {moved(func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Namespace = "other" }), false},
		"not a host of another kind of consumer":      {moved(func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Kind = "Metal3Machine" }), false},
		"not a host that the claim has already":       {Bind(moved(), after), false},
		"not a host that moved and names the new UID": {moved(func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.UID = "claim-uid" }), false},
		"not a free host":                             {newHost(), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Moved(tt.host, after))
			for name, adopts := range map[string]bool{"": tt.want, tt.host.Name: tt.want && tt.host.Namespace == "infra", "other": false} {
				claim := after.DeepCopy()
				if name != "" {
					claim.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: name}
				}
				t.Run(name, func(t *testing.T) { expect.Equal(t, adopts, Adoptable(tt.host, claim)) })
			}
		})
	}

	want := moved()
	want.Spec.ConsumerRef.UID = "claim-uid"
	want.Labels[infrav1.ClaimUIDLabel] = "claim-uid"
	want.Annotations[infrav1.BoundHostUIDAnnotation] = "new-host-uid"
	expect.Equal(t, want, Bind(moved(), after))
}

func TestCompare(t *testing.T) {
	pull := "secret"
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		want  Progress
	}{
		"nothing is asked for":                              {nil, nil, NothingAsked},
		"an image is asked for":                             {[]claimEdit{asksImage}, nil, Wanted},
		"a custom deploy is asked for":                      {[]claimEdit{asksCustom}, nil, Wanted},
		"the host knows and has not begun":                  {[]claimEdit{asksImage}, []hostEdit{toldImage}, Applied},
		"the host writes":                                   {[]claimEdit{asksImage}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioning)}, Frozen},
		"the host failed to write and reads its data again": {[]claimEdit{asksImage}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioning), failed}, Applied},
		"the host is provisioned":                           {[]claimEdit{asksImage}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioned)}, Frozen},
		"the host is provisioned with an error":             {[]claimEdit{asksImage}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioned), failed}, Frozen},
		"the image was changed":                             {[]claimEdit{func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: "other"} }}, []hostEdit{toldImage}, Diverged},
		"the checksum was changed":                          {[]claimEdit{func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: imageURL, Checksum: "1"} }}, []hostEdit{toldImage}, Diverged},
		"the image was taken away":                          {nil, []hostEdit{toldImage}, Diverged},
		"the custom deploy was changed":                     {[]claimEdit{asksImage, asksCustom}, []hostEdit{toldImage}, Diverged},
		"the pull secret has another name next to the host": {[]claimEdit{asksImage}, []hostEdit{toldImage, func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image.OCIAuthSecretName = &pull }}, Applied},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Compare(newClaim(tt.claim...), newHost(tt.host...), false))
		})
	}
}

func TestDesired(t *testing.T) {
	ref := &corev1.SecretReference{Namespace: "infra", Name: "copy"}
	payload := &Payload{
		Image: &bmov1alpha1.Image{URL: imageURL}, CustomDeploy: &bmov1alpha1.CustomDeploy{Method: "m"},
		UserData: ref, MetaData: ref, NetworkData: ref,
	}
	bound := func() *bmov1alpha1.BareMetalHost { return Bind(newHost(), newClaim()) }
	tests := map[string]struct {
		given   *bmov1alpha1.BareMetalHost
		off     bool
		payload *Payload
		want    func(*bmov1alpha1.BareMetalHost)
	}{
		"powers on and cleans without a payload": {bound(), false, nil, func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.Online = true
		}},
		"powers off": {bound(), true, nil, func(*bmov1alpha1.BareMetalHost) {}},
		"leaves a host on that must not be powered off": {
			Bind(newHost(func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }), newClaim()), true, nil,
			func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff, h.Spec.Online = true, true },
		},
		"names image and data together": {bound(), false, payload, func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.Online = true
			h.Spec.Image, h.Spec.CustomDeploy = payload.Image, payload.CustomDeploy
			h.Spec.UserData, h.Spec.MetaData, h.Spec.NetworkData = ref, ref, ref
			h.Annotations[infrav1.RebuildAnnotation] = ""
		}},
		"takes data away that is not asked for": {func() *bmov1alpha1.BareMetalHost {
			h := bound()
			h.Spec.UserData = ref
			return h
		}(), false, &Payload{}, func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }},
		"marks a host that was handed over without marks": {func() *bmov1alpha1.BareMetalHost {
			h := newHost()
			h.Spec.ConsumerRef = bound().Spec.ConsumerRef
			return h
		}(), false, nil, func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.Online = true
			delete(h.Annotations, infrav1.BlockMoveAnnotation) // Guarded adds it
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = !tt.off })
			got, want := Desired(claim, tt.given, tt.payload), bound()
			want.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
			tt.want(want)
			expect.Equal(t, want, got)
			expect.Equal(t, got, Desired(claim, got, tt.payload)) // a second time changes nothing
		})
	}
}

func TestProvisioned(t *testing.T) {
	done := state(bmov1alpha1.StateProvisioned)
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		want  bool
	}{
		"believes the image that is asked for":             {[]claimEdit{asksImage}, []hostEdit{toldImage, runsImage, done}, true},
		"not while it is written":                          {[]claimEdit{asksImage}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioning)}, false},
		"not what was there before":                        {[]claimEdit{asksImage}, []hostEdit{toldImage, done, func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.Image.URL = "old" }}, false},
		"not without being asked":                          {nil, []hostEdit{done, runsImage}, false},
		"not for a changed image":                          {[]claimEdit{func(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: "new"} }}, []hostEdit{toldImage, runsImage, done}, false},
		"not before a rebuild that is asked for has begun": {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{running, noted("1")}, false},
		"believes the image of the last rebuild":           {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{running, noted("2")}, true},
		"believes the custom deploy": {[]claimEdit{asksCustom}, []hostEdit{toldCustom, done, func(h *bmov1alpha1.BareMetalHost) {
			h.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "m"}
		}}, true},
		"not another custom deploy": {[]claimEdit{asksCustom}, []hostEdit{toldCustom, done, func(h *bmov1alpha1.BareMetalHost) {
			h.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "x"}
		}}, false},
		"not an externally provisioned machine": {[]claimEdit{asksImage}, []hostEdit{toldImage, runsImage, state(bmov1alpha1.StateExternallyProvisioned)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Provisioned(newClaim(tt.claim...), newHost(tt.host...))) })
	}
}

func TestClearedAndFreed(t *testing.T) {
	ref := &corev1.SecretReference{Name: "x"}
	full := boundHost(toldImage, toldCustom, annotated(infrav1.FenceAnnotation, "claim-uid/1"), func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.UserData, h.Spec.MetaData, h.Spec.NetworkData = ref, ref, ref
	})
	cleared, want := Cleared(full), Bind(newHost(), newClaim())
	want.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeMetadata
	delete(want.Annotations, infrav1.BoundHostUIDAnnotation)
	expect.Equal(t, want, cleared)
	expect.Equal(t, cleared, Cleared(cleared)) // clearing twice changes nothing
	free := newHost()
	free.Labels, free.Annotations = map[string]string{}, map[string]string{}
	expect.Equal(t, free, Freed(cleared))

	stuck := Cleared(boundHost(func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }))
	expect.That(t, stuck.Spec.Online, "a host that must not be powered off is told to power off")
	foreign := Freed(newHost())
	expect.That(t, foreign.Spec.AutomatedCleaningMode == bmov1alpha1.CleaningModeDisabled, "a cleaning mode that was not noted is changed")
}

// TestFastTrack follows the power of hosts from their release to the pool.
func TestFastTrack(t *testing.T) {
	tests := map[string]struct {
		host []hostEdit
		want bool
	}{
		"a host is switched off":                           {[]hostEdit{toldImage, runsImage}, false},
		"a host on the fast track stays on":                {[]hostEdit{fastTrack, toldImage, runsImage}, true},
		"one without an image stays on too":                {[]hostEdit{fastTrack}, true},
		"one that is off is not switched on":               {[]hostEdit{fastTrack, toldImage, runsImage, off}, false},
		"one that is parked stays off":                     {[]hostEdit{fastTrack, toldImage, runsImage, isParked, off}, false},
		"one that was not cleaned is switched off":         {[]hostEdit{fastTrack, annotated(infrav1.UncleanedAnnotation, "")}, false},
		"one that cleaning will empty stays on":            {[]hostEdit{fastTrack, annotated(infrav1.UncleanedAnnotation, ""), toldImage, runsImage, state(bmov1alpha1.StateProvisioned)}, true},
		"one that others have provisioned is switched off": {[]hostEdit{fastTrack, func(h *bmov1alpha1.BareMetalHost) { h.Spec.ExternallyProvisioned = true }}, false},
		"another value is none":                            {[]hostEdit{annotated(infrav1.FastTrackAnnotation, "yes"), toldImage}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cleared := Cleared(boundHost(tt.host...))
			expect.Equal(t, tt.want, cleared.Spec.Online)
			expect.Equal(t, cleared, Cleared(cleared)) // clearing twice changes nothing
			freed := Freed(cleared)
			_, kept := freed.Annotations[infrav1.FastTrackAnnotation]
			expect.That(t, freed.Spec.Online == tt.want && (!tt.want || kept), "freed with online %t and annotations %v", freed.Spec.Online, freed.Annotations)
		})
	}
}

func TestReleasable(t *testing.T) {
	external := func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.ExternallyProvisioned = true
		h.Status.Provisioning.State = bmov1alpha1.StateExternallyProvisioned
	}
	poweredOn := func(h *bmov1alpha1.BareMetalHost) { h.Status.PoweredOn = true }
	tests := map[string]struct {
		edits []hostEdit
		want  string
	}{
		"when it is available and empty": {nil, ""},
		"when it is ready and empty":     {[]hostEdit{state(bmov1alpha1.StateReady)}, ""},
		"not while it is being deleted": {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) {
			now := metav1.Now()
			h.DeletionTimestamp = &now
		}}, infrav1.HostBeingDeletedReason},
		"not while it is paused":        {[]hostEdit{annotated(bmov1alpha1.PausedAnnotation, "")}, bmov1alpha1.HostPausedReason},
		"not when it is to be detached": {[]hostEdit{annotated(bmov1alpha1.DetachedAnnotation, "")}, infrav1.HostDetachedReason},
		"not while it is detached":      {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = bmov1alpha1.OperationalStatusDetached }}, infrav1.HostDetachedReason},
		"not with an error":             {[]hostEdit{failed}, infrav1.HostInErrorReason},
		"not in operational error":      {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = bmov1alpha1.OperationalStatusError }}, infrav1.HostInErrorReason},
		"not while it is being serviced": {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) {
			h.Status.OperationalStatus = bmov1alpha1.OperationalStatusServicing
		}}, infrav1.HostDeprovisioningReason},
		"not while it is provisioned":          {[]hostEdit{state(bmov1alpha1.StateProvisioned)}, infrav1.HostDeprovisioningReason},
		"not while it is deprovisioned":        {[]hostEdit{state(bmov1alpha1.StateDeprovisioning)}, infrav1.HostDeprovisioningReason},
		"not while it registers again":         {[]hostEdit{state(bmov1alpha1.StateRegistering)}, infrav1.HostDeprovisioningReason},
		"not while it is inspected":            {[]hostEdit{state(bmov1alpha1.StateInspecting)}, infrav1.HostDeprovisioningReason},
		"not while an image is reported on it": {[]hostEdit{runsImage}, infrav1.HostDeprovisioningReason},
		"not while a custom deploy is reported": {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) {
			h.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{}
		}}, infrav1.HostDeprovisioningReason},
		"not while the host is asked for an image":        {[]hostEdit{toldImage}, infrav1.HostDeprovisioningReason},
		"not while the host is asked for a custom deploy": {[]hostEdit{toldCustom}, infrav1.HostDeprovisioningReason},
		"not when cleaning was switched off meanwhile":    {[]hostEdit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled }}, infrav1.HostDeprovisioningReason},
		"not while a machine of others runs":              {[]hostEdit{external, poweredOn}, infrav1.HostPoweringOffReason},
		"not when it was emptied without cleaning":        {[]hostEdit{annotated(infrav1.UncleanedAnnotation, "claim-uid")}, infrav1.HostNotCleanedReason},
		"when a machine of others is off":                 {[]hostEdit{external}, ""},
		"when a machine of others cannot be off":          {[]hostEdit{external, poweredOn, func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host := Cleared(boundHost())
			for _, e := range tt.edits {
				e(host)
			}
			wait := Releasable(host)
			expect.That(t, wait.Reason == tt.want && (tt.want == "") == (wait.Message == ""), "Releasable() = %+v, want %q", wait, tt.want)
		})
	}
}

func TestExtract(t *testing.T) {
	secret := func(kind corev1.SecretType, pairs ...string) *corev1.Secret {
		s := &corev1.Secret{Type: kind, Data: map[string][]byte{}}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
		return s
	}
	opaque := func(key, value string) secretkeys.Content {
		return secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: key, Value: []byte(value)}
	}
	tests := map[string]struct {
		kind    SecretKind
		given   *corev1.Secret
		want    secretkeys.Content
		problem string
	}{
		"the key that is read":            {UserData, secret("", "userData", "a", "value", "b", "other", "c"), opaque("userData", "a"), ""},
		"the key of bootstrap secrets":    {UserData, secret("", "value", "b", "format", "cloud-config"), opaque("userData", "b"), ""},
		"metadata":                        {MetaData, secret("", "metaData", "m"), opaque("metaData", "m"), ""},
		"network data":                    {NetworkData, secret("", "networkData", "n"), opaque("networkData", "n"), ""},
		"empty network data":              {NetworkData, secret("", "other", "x"), opaque("networkData", ""), ""},
		"nothing when the key is missing": {MetaData, secret("", "other", "x"), secretkeys.Content{}, `"metaData"`},
		"a pull secret":                   {OCIAuth, secret(corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", "{}", "x", "y"), secretkeys.Content{Type: corev1.SecretTypeDockerConfigJson, Key: ".dockerconfigjson", Value: []byte("{}")}, ""},
		"no pull secret of another type":  {OCIAuth, secret(corev1.SecretTypeOpaque, ".dockerconfigjson", "{}"), secretkeys.Content{}, "type"},
		"no pull secret without its key":  {OCIAuth, secret(corev1.SecretTypeDockercfg, "x", "y"), secretkeys.Content{}, ".dockercfg"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Extract(tt.kind, tt.given)
			expect.Must(t, (err == nil) == (tt.problem == "") && (err == nil || strings.Contains(err.Error(), tt.problem)), "Extract() = %v, want an error with %q", err, tt.problem)
			expect.Equal(t, tt.want, got)
		})
	}
}

func TestSecretName(t *testing.T) {
	pull := "pull"
	ref := func(name string) *corev1.SecretReference {
		return &corev1.SecretReference{Name: name, Namespace: "other"}
	}
	claim := newClaim(func(c *bmov1alpha1.HostClaim) {
		c.Spec.UserData, c.Spec.MetaData, c.Spec.NetworkData = ref("u"), ref("m"), ref("n")
		c.Spec.Image = &bmov1alpha1.Image{OCIAuthSecretName: &pull}
	})
	want := map[SecretKind]string{UserData: "u", MetaData: "m", NetworkData: "n", OCIAuth: "pull"}
	fields := map[string]bool{}
	for _, kind := range SecretKinds {
		if got := SecretName(claim, kind); got != want[kind] {
			t.Errorf("%s: %q, want %q", kind, got, want[kind])
		}
		if got := SecretName(newClaim(asksImage), kind); got != "" {
			t.Errorf("%s of an empty claim: %q, want none", kind, got)
		}
		fields[SecretField(kind)] = true
	}
	expect.That(t, len(fields) == len(SecretKinds) && !fields[""], "fields %v, want one for each kind", fields)
}

func TestCopy(t *testing.T) {
	claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = &corev1.SecretReference{Name: "boot"} })
	content := secretkeys.Content{Type: corev1.SecretTypeOpaque, Key: "userData", Value: []byte("x")}
	got := Copy(claim, newHost(), UserData, content)
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra", Name: CopyName("claim-uid", UserData),
			Labels: map[string]string{
				infrav1.SecretClaimUIDLabel: "claim-uid", infrav1.SecretHostUIDLabel: "host-uid",
				infrav1.SecretKindLabel: "userdata", "environment.metal3.io": "baremetal",
			},
			Annotations: map[string]string{
				infrav1.SecretSourceAnnotation: "tenant/boot", infrav1.ContentHashAnnotation: content.Hash("claim-uid"),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost", Name: "host-0", UID: "host-uid"}},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"userData": []byte("x")},
	}
	expect.Equal(t, want, got)
	expect.That(t, IsCopy(got, claim, UserData) && !IsCopy(got, claim, MetaData) && !IsCopy(&corev1.Secret{}, claim, UserData), "IsCopy does not tell the copy from others")
	seen := map[string]bool{}
	for _, kind := range SecretKinds {
		seen[CopyName("claim-uid", kind)], seen[CopyName("other-uid", kind)] = true, true
	}
	for _, name := range append(CopyNames("claim-uid"), CopyNames("other-uid")...) {
		expect.That(t, seen[name], "%s is no copy of any kind", name)
	}
	expect.That(t, CopyNames("") == nil, "no claim has copies")
	expect.That(t, len(seen) == 2*len(SecretKinds), "names of copies meet: %v", seen)
}

func TestHardwareDataName(t *testing.T) {
	long := strings.Repeat("a", 253)
	tests := map[string]struct {
		claims []string
		want   string // of the first; empty when only limits matter
	}{
		"appends the suffix":              {[]string{"machine"}, "machine-hostclaim"},
		"keeps a name at the limit":       {[]string{long[:243]}, long[:243] + "-hostclaim"},
		"cuts and tells long names apart": {[]string{long, long[:252] + "b", long[:244]}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for _, claim := range tt.claims {
				got := HardwareDataName(claim)
				seen[got] = true
				expect.That(t, len(got) <= 253 && strings.HasSuffix(got, "-hostclaim"), "HardwareDataName() = %q of %d characters", got, len(got))
				expect.That(t, tt.want == "" || got == tt.want, "HardwareDataName() = %q, want %q", got, tt.want)
			}
			expect.That(t, len(seen) == len(tt.claims), "names meet: %v", seen)
		})
	}
}

func TestHardwareData(t *testing.T) {
	controller := true
	host := newHost(func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.BootMACAddress = "02:00:00:00:00:01"
		h.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{Hostname: "h"}
	})
	want := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tenant", Name: "machine-hostclaim",
			Labels: map[string]string{infrav1.ClaimUIDLabel: "claim-uid"},
			Annotations: map[string]string{
				infrav1.HostUIDAnnotation: "host-uid", infrav1.HostNameAnnotation: "host-0",
				infrav1.HostNamespaceAnnotation: "infra", infrav1.BootMACAddressAnnotation: "02:00:00:00:00:01",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "metal3.io/v1alpha1", Kind: "HostClaim", Name: "machine", UID: "claim-uid", Controller: &controller,
			}},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: &bmov1alpha1.HardwareDetails{Hostname: "h"}},
	}
	got := HardwareData(newClaim(), host, nil, nil)
	expect.Equal(t, want, got)
	expect.That(t, IsPublished(got, newClaim()) && !IsPublished(&bmov1alpha1.HardwareData{}, newClaim()), "IsPublished does not tell ours from others")

	host.Labels = map[string]string{infrav1.FailureDomainLabel: "rack-1"}
	want.Labels["size"], want.Annotations["note"] = "big", "x"
	want.Annotations[infrav1.HostFailureDomainAnnotation] = "rack-1"
	labels := map[string]string{"size": "big", infrav1.ClaimUIDLabel: "forged"}
	annotations := map[string]string{"note": "x", infrav1.HostUIDAnnotation: "forged"}
	expect.Equal(t, want, HardwareData(newClaim(), host, labels, annotations))
}
