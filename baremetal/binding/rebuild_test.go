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

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const otherURL = "https://images.example.com/other.raw"

func claimAnnotated(key, value string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
}

// rebuilds asks for a rebuild with a token.
func rebuilds(token string) claimEdit { return claimAnnotated(infrav1.RebuildAnnotation, token) }

// noted notes the token that a host was emptied for last.
func noted(token string) hostEdit { return annotated(infrav1.RebuildAnnotation, token) }

func asksOther(c *bmov1alpha1.HostClaim) { c.Spec.Image = &bmov1alpha1.Image{URL: otherURL} }

// reserved is kept for the next machine.
func reserved(c *bmov1alpha1.HostClaim) {
	c.Labels = map[string]string{infrav1.NodeReuseLabel: "workers"}
}

func used(c *bmov1alpha1.HostClaim) { c.Spec.ConsumerRef = &corev1.ObjectReference{Name: "machine"} }

func isParked(h *bmov1alpha1.BareMetalHost) {
	metav1.SetMetaDataAnnotation(&h.ObjectMeta, infrav1.ParkedAnnotation, "claim-uid")
}

func isUncleaned(h *bmov1alpha1.BareMetalHost) {
	metav1.SetMetaDataAnnotation(&h.ObjectMeta, infrav1.UncleanedAnnotation, "claim-uid")
}

// running is a host that runs the image of its spec.
func running(h *bmov1alpha1.BareMetalHost) {
	toldImage(h)
	runsImage(h)
	h.Status.Provisioning.State = bmov1alpha1.StateProvisioned
}

// The order of the cases is what counts.
func TestOrderOfStages(t *testing.T) {
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		skips bool
		want  Progress
	}{
		"nothing is asked for and something is left":         {nil, []hostEdit{runsImage}, false, Emptying},
		"a reserved claim whose host is empty":               {[]claimEdit{reserved}, nil, false, NothingAsked},
		"a rebuild of an empty host is no more than a write": {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{noted("1")}, false, Wanted},
		"the claim asks for nothing any more":                {nil, []hostEdit{running}, false, Diverged},
		"a rebuild with another image":                       {[]claimEdit{asksOther, rebuilds("2")}, []hostEdit{running, noted("1")}, false, Redo},
		"a rebuild to nothing":                               {[]claimEdit{rebuilds("2")}, []hostEdit{running, noted("1")}, false, Redo},
		"a rebuild before the host has begun":                {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{toldImage, noted("1")}, false, Redo},
		"a reserved claim is emptied without a token":        {[]claimEdit{reserved}, []hostEdit{running}, false, Redo},
		"a reserved claim that skips cleaning":               {[]claimEdit{reserved}, []hostEdit{running}, true, Parked},
		"a token does not empty a parked host":               {[]claimEdit{reserved, rebuilds("2")}, []hostEdit{running, isParked, noted("1")}, true, Parked},
		"a parked host whose claim may skip no longer":       {[]claimEdit{reserved}, []hostEdit{toldImage, isParked}, false, Redo},
		"a parked host with a new machine and no image":      {[]claimEdit{used}, []hostEdit{running, isParked}, false, Parked},
		"nor does a token then":                              {[]claimEdit{used, rebuilds("2")}, []hostEdit{running, isParked, noted("1")}, false, Parked},
		"an adopted claim, even with an equal image":         {[]claimEdit{used, asksImage}, []hostEdit{running, isParked}, false, Redo},
		"a live claim that would like to skip":               {[]claimEdit{asksImage}, []hostEdit{running}, true, Frozen},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Compare(newClaim(tt.claim...), newHost(tt.host...), tt.skips))
		})
	}
}

func TestCompareOfATokenAndWhatIsLeft(t *testing.T) {
	long := strings.Repeat("x", infrav1.MaxRebuildLength+1)
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		want  Progress
	}{
		"a new token":                      {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{running, noted("1")}, Redo},
		"a first token":                    {[]claimEdit{asksImage, rebuilds("1")}, []hostEdit{running, noted("")}, Redo},
		"the same token":                   {[]claimEdit{asksImage, rebuilds("1")}, []hostEdit{running, noted("1")}, Frozen},
		"a token that was taken away":      {[]claimEdit{asksImage}, []hostEdit{running, noted("1")}, Frozen},
		"an empty token":                   {[]claimEdit{asksImage, rebuilds("")}, []hostEdit{running, noted("1")}, Frozen},
		"a token that is too long":         {[]claimEdit{asksImage, rebuilds(long)}, []hostEdit{running, noted("1")}, Frozen},
		"a host that has lost its note":    {[]claimEdit{asksImage, rebuilds("1")}, []hostEdit{running}, Frozen},
		"an image that is still reported":  {[]claimEdit{asksImage}, []hostEdit{runsImage}, Emptying},
		"a host that is still provisioned": {[]claimEdit{asksImage}, []hostEdit{state(bmov1alpha1.StateProvisioned)}, Emptying},
		"a host that still provisions":     {[]claimEdit{asksImage}, []hostEdit{state(bmov1alpha1.StateProvisioning)}, Emptying},
		"a host that is deprovisioned":     {[]claimEdit{asksImage}, []hostEdit{state(bmov1alpha1.StateDeprovisioning)}, Emptying},
		"a custom deploy that is still reported": {[]claimEdit{asksImage}, []hostEdit{func(h *bmov1alpha1.BareMetalHost) {
			h.Status.Provisioning.CustomDeploy = &bmov1alpha1.CustomDeploy{}
		}}, Emptying},
		"a host at rest": {[]claimEdit{asksImage, rebuilds("2")}, []hostEdit{noted("2")}, Wanted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Compare(newClaim(tt.claim...), newHost(tt.host...), false))
		})
	}
}

// What must not be switched off would run on while it is parked.
func TestHostThatMustNotBeSwitchedOffIsNotParked(t *testing.T) {
	neverOff := func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }
	tests := map[string]struct {
		host []hostEdit
		want Progress
	}{
		"another host":                    {[]hostEdit{running}, Parked},
		"one that must stay on":           {[]hostEdit{running, neverOff}, Redo},
		"one that was parked before that": {[]hostEdit{running, isParked, neverOff}, Redo},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Compare(newClaim(reserved), newHost(tt.host...), true)) })
	}
}

func TestTokenIsNotedWhenTheHostIsTold(t *testing.T) {
	image := &Payload{Image: &bmov1alpha1.Image{URL: imageURL}}
	tests := map[string]struct {
		claim   []claimEdit
		host    []hostEdit
		payload *Payload
		want    string
	}{
		"for the first time":                              {[]claimEdit{rebuilds("1")}, nil, image, "1"},
		"without a token":                                 {nil, nil, image, ""},
		"anew after a rebuild":                            {[]claimEdit{rebuilds("2")}, []hostEdit{noted("1")}, image, "2"},
		"anew after the token was taken away":             {nil, []hostEdit{noted("1")}, image, "1"},
		"by a client that left no note":                   {[]claimEdit{rebuilds("1")}, []hostEdit{running}, nil, "1"},
		"and not replaced while it is told the same":      {[]claimEdit{rebuilds("2")}, []hostEdit{toldImage, noted("1")}, image, "1"},
		"and a token that is too long counts as none":     {[]claimEdit{rebuilds(strings.Repeat("x", 64))}, nil, image, ""},
		"and one that is as long as it may be as a token": {[]claimEdit{rebuilds(strings.Repeat("x", 63))}, nil, image, strings.Repeat("x", 63)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, found := Desired(newClaim(tt.claim...), boundHost(tt.host...), tt.payload).Annotations[infrav1.RebuildAnnotation]
			expect.That(t, found && got == tt.want, "noted %q (%t), want %q", got, found, tt.want)
		})
	}
	if _, found := Desired(newClaim(rebuilds("1")), boundHost(), &Payload{}).Annotations[infrav1.RebuildAnnotation]; found {
		t.Error("a token is used up by a host that is told nothing")
	}
}

func TestEmptied(t *testing.T) {
	ref := &corev1.SecretReference{Name: "x"}
	given := boundHost(running, toldCustom, noted("1"), isParked, func(h *bmov1alpha1.BareMetalHost) {
		h.Spec.UserData, h.Spec.MetaData, h.Spec.NetworkData = ref, ref, ref
	})
	empty := func(edits ...hostEdit) *bmov1alpha1.BareMetalHost {
		h := boundHost(edits...)
		h.Status = given.Status
		return h
	}
	tests := map[string]struct {
		claim     []claimEdit
		uncleaned bool
		want      *bmov1alpha1.BareMetalHost
	}{
		"for a rebuild":            {[]claimEdit{asksImage, rebuilds("2")}, false, empty(noted("2"))},
		"for a rebuild to nothing": {[]claimEdit{rebuilds("2")}, false, empty(noted("2"))},
		"for a reservation, and off": {[]claimEdit{reserved}, false, empty(noted("1"), func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.Online = false
		})},
		"without cleaning and with the mark": {[]claimEdit{asksImage}, true, empty(noted("1"), isUncleaned, func(h *bmov1alpha1.BareMetalHost) {
			h.Spec.AutomatedCleaningMode = bmov1alpha1.CleaningModeDisabled
		})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Emptied(newClaim(tt.claim...), given, tt.uncleaned)) })
	}
}

// TestUncleanedHostIsNeverReleased walks a host that skips cleaning from one
// workload to the next, and lets the claim go at each step.
func TestUncleanedHostIsNeverReleased(t *testing.T) {
	claim := newClaim(asksOther, used)
	image := &Payload{Image: &bmov1alpha1.Image{URL: otherURL}}
	parked := Park(claim, Desired(newClaim(reserved), boundHost(running), nil))
	emptied := Emptied(claim, parked, true)
	atRest := emptied.DeepCopy()
	atRest.Status.Provisioning = bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable}
	told := Desired(claim, Desired(claim, atRest, nil), image)
	provisioned := told.DeepCopy()
	provisioned.Status.Provisioning = bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateProvisioned, Image: *image.Image}
	steps := []struct {
		when  string
		host  *bmov1alpha1.BareMetalHost
		mode  bmov1alpha1.AutomatedCleaningMode
		freed bool // the host may go once it is at rest after it was cleared
	}{
		{"parked", parked, bmov1alpha1.CleaningModeMetadata, true},
		{"emptied", emptied, bmov1alpha1.CleaningModeDisabled, false},
		{"at rest", Desired(claim, atRest, nil), bmov1alpha1.CleaningModeDisabled, false},
		{"told", told, bmov1alpha1.CleaningModeMetadata, false},
		{"provisioned, mark not taken off yet", provisioned, bmov1alpha1.CleaningModeMetadata, true},
		{"provisioned", Desired(claim, provisioned, nil), bmov1alpha1.CleaningModeMetadata, true},
	}
	for _, step := range steps {
		t.Run(step.when, func(t *testing.T) {
			expect.Equal(t, step.mode, step.host.Spec.AutomatedCleaningMode)
			cleared := Cleared(step.host)
			cleared.Status.Provisioning = bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateAvailable}
			wait := Releasable(cleared)
			if freed := wait.Reason == ""; freed != step.freed || (!freed && wait.Reason != infrav1.HostNotCleanedReason) {
				t.Errorf("waits with %q, want released %t", wait.Reason, step.freed)
			}
			expect.Equal(t, cleared, Cleared(cleared)) // clearing twice changes nothing
		})
	}
	_, found := Desired(claim, provisioned, nil).Annotations[infrav1.UncleanedAnnotation]
	expect.That(t, !found, "the mark stays on a host that runs the next image")
}

func TestEmptyingWait(t *testing.T) {
	going := state(bmov1alpha1.StateDeprovisioning)
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		want  string
	}{
		"for a rebuild":              {[]claimEdit{asksImage}, []hostEdit{going}, infrav1.RebuildingReason},
		"without cleaning":           {[]claimEdit{asksImage}, []hostEdit{going, isUncleaned}, infrav1.RebuildingReason},
		"to nothing":                 {nil, []hostEdit{going}, infrav1.HostDeprovisioningReason},
		"for a paused host":          {[]claimEdit{asksImage}, []hostEdit{going, annotated(bmov1alpha1.PausedAnnotation, "")}, bmov1alpha1.HostPausedReason},
		"for a detached host":        {[]claimEdit{asksImage}, []hostEdit{going, annotated(bmov1alpha1.DetachedAnnotation, "")}, infrav1.HostDetachedReason},
		"for a host that has failed": {[]claimEdit{asksImage}, []hostEdit{going, failed}, infrav1.HostInErrorReason},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := EmptyingWait(newClaim(tt.claim...), boundHost(tt.host...))
			expect.That(t, got.Reason == tt.want && got.Message != "", "EmptyingWait() = %+v, want reason %s", got, tt.want)
		})
	}
}

func TestCheckRebuild(t *testing.T) {
	expect.NoError(t, CheckRebuild(newClaim(rebuilds(strings.Repeat("é", 63)))))
	expect.That(t, CheckRebuild(newClaim(rebuilds(strings.Repeat("x", 64)))) != nil, "64 characters are not refused")
}

func wantsOff(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }

func fastTrack(h *bmov1alpha1.BareMetalHost) {
	metav1.SetMetaDataAnnotation(&h.ObjectMeta, infrav1.FastTrackAnnotation, "true")
}

func off(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = false }

func TestPower(t *testing.T) {
	tests := map[string]struct {
		claim []claimEdit
		host  []hostEdit
		want  bool
	}{
		"on":                                    {nil, nil, true},
		"off while reserved":                    {[]claimEdit{reserved}, nil, false},
		"off while parked, although adopted":    {[]claimEdit{used}, []hostEdit{running, isParked}, false},
		"on again in use":                       {[]claimEdit{reserved, used}, nil, true},
		"on while it must not be powered off":   {[]claimEdit{reserved}, []hostEdit{func(h *bmov1alpha1.BareMetalHost) { h.Spec.DisablePowerOff = true }}, true},
		"off because the claim says so":         {[]claimEdit{func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }}, nil, false},
		"on since it came so from the pool":     {[]claimEdit{wantsOff}, []hostEdit{fastTrack}, true},
		"off as it came from the pool":          {[]claimEdit{wantsOff}, []hostEdit{fastTrack, off}, false},
		"off for an image that is to wait":      {[]claimEdit{wantsOff, asksImage}, []hostEdit{fastTrack}, false},
		"off with an image":                     {[]claimEdit{wantsOff}, []hostEdit{fastTrack, toldImage}, false},
		"off while it is emptied":               {[]claimEdit{wantsOff}, []hostEdit{fastTrack, state(bmov1alpha1.StateDeprovisioning)}, false},
		"off where it was not cleaned":          {[]claimEdit{wantsOff}, []hostEdit{fastTrack, annotated(infrav1.UncleanedAnnotation, "")}, false},
		"off while reserved, on the fast track": {[]claimEdit{wantsOff, reserved}, []hostEdit{fastTrack}, false},
		"on with a label and something to run":  {[]claimEdit{reserved, asksImage}, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, tt.want, Desired(newClaim(tt.claim...), boundHost(tt.host...), nil).Spec.Online)
		})
	}
}

func TestReservation(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "tomorrow", "2026-01-31", "1769860800"} {
		if until, ok := ReservedUntil(newClaim(claimAnnotated(infrav1.ReservedUntilAnnotation, value))); ok {
			t.Errorf("%q is understood as %s", value, until)
		}
	}
	if until, ok := ReservedUntil(LimitReservation(newClaim(), at)); !ok || !until.Equal(at) {
		t.Errorf("limited until %s (%t), want %s", until, ok, at)
	}
	if !WantsNoCleaning(newClaim(claimAnnotated(infrav1.SkipCleaningAnnotation, "true"))) ||
		WantsNoCleaning(newClaim(claimAnnotated(infrav1.SkipCleaningAnnotation, "yes"))) {
		t.Error(`only "true" skips cleaning`)
	}
}
