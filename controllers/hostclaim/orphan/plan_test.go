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

package orphan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/binding"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var (
	born = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	lost = born.Add(24 * time.Hour)
)

// host is a provisioned host of claim tenant/machine, which was bound by us.
func host(changes ...func(*bmov1alpha1.BareMetalHost)) *bmov1alpha1.BareMetalHost {
	h := &bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra", Name: "host-0", UID: "host-uid", CreationTimestamp: metav1.NewTime(born),
			Labels: map[string]string{infrav1.ClaimUIDLabel: "claim-uid"},
			Annotations: map[string]string{
				infrav1.BoundHostUIDAnnotation: "host-uid", infrav1.FormerCleaningModeAnnotation: "disabled",
			},
		},
		Spec: bmov1alpha1.BareMetalHostSpec{
			ConsumerRef: &corev1.ObjectReference{
				APIVersion: bmov1alpha1.GroupVersion.String(), Kind: "HostClaim", Namespace: "tenant", Name: "machine", UID: "claim-uid",
			},
			Image:                 &bmov1alpha1.Image{URL: "https://images.example.com/os.raw"},
			Online:                true,
			AutomatedCleaningMode: bmov1alpha1.CleaningModeMetadata,
		},
		Status: bmov1alpha1.BareMetalHostStatus{Provisioning: bmov1alpha1.ProvisionStatus{State: bmov1alpha1.StateProvisioned}},
	}
	for _, change := range changes {
		change(h)
	}
	return h
}

func annotate(key, value string) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { h.Annotations[key] = value }
}

func without(key string) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) {
		delete(h.Annotations, key)
		delete(h.Labels, key)
	}
}

func since(t time.Time) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { *h = *Marked(h, t) }
}

// cleared is a host whose release has begun.
func cleared(h *bmov1alpha1.BareMetalHost) { *h = *binding.Cleared(h) }

// idle is a host with nothing of a tenant on it.
func idle(h *bmov1alpha1.BareMetalHost) {
	h.Spec.Image, h.Spec.Online = nil, false
	h.Status.Provisioning.State = bmov1alpha1.StateAvailable
}

func inState(state bmov1alpha1.ProvisioningState) func(*bmov1alpha1.BareMetalHost) {
	return func(h *bmov1alpha1.BareMetalHost) { h.Status.Provisioning.State = state }
}

// reported is a host whose status still reports an image.
func reported(h *bmov1alpha1.BareMetalHost) {
	h.Status.Provisioning.Image.URL = "https://images.example.com/os.raw"
}

func moved(h *bmov1alpha1.BareMetalHost) { h.UID = "new-uid" }

func recorded(h *bmov1alpha1.BareMetalHost) { h.Annotations[infrav1.MovingAnnotation] = "claim-uid/1" }

// deletedForMove is what clusterctl makes of a host, a moment before it deletes the host.
func deletedForMove(h *bmov1alpha1.BareMetalHost) {
	h.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}
}

func justBorn(h *bmov1alpha1.BareMetalHost) { h.CreationTimestamp = metav1.NewTime(lost) }

func inOwnNamespace(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.Namespace = h.Namespace }

func dying(h *bmov1alpha1.BareMetalHost) { h.DeletionTimestamp = &metav1.Time{Time: lost} }

func unmarked(h *bmov1alpha1.BareMetalHost) { h.Labels, h.Annotations = nil, nil }

func unnamed(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil }

func TestNext(t *testing.T) {
	const grace = time.Hour
	release := annotate(infrav1.ReleaseAnnotation, "")
	paused := annotate(bmov1alpha1.PausedAnnotation, "")
	type plan struct {
		step   Step
		reason string
		until  time.Time
	}
	tests := map[string]struct {
		host  *bmov1alpha1.BareMetalHost
		claim Claim
		after time.Duration // since the host was lost
		want  plan
	}{
		"leaves a host whose claim is there":              {host(), Present, 0, plan{step: Leave}},
		"tells of a host whose claim knows nothing of it": {host(release, since(lost)), Unaware, 0, plan{step: Leave, reason: ForeignConsumerReason}},
		"leaves a host that another controller bound":     {host(unmarked), Absent, 0, plan{step: Leave}},
		"leaves it whatever the administrator asks for":   {host(release), Present, 0, plan{step: Leave}},
		"leaves it even when its release has begun":       {host(cleared), Present, 0, plan{step: Leave}},
		"unmarks a host whose claim turns up again":       {host(since(lost), release), Present, 2 * grace, plan{step: Unmark}},
		"unmarks it also if the mark says nothing": {
			host(annotate(infrav1.OrphanedSinceAnnotation, "x")), Present, 0, plan{step: Unmark},
		},
		"marks a host whose claim is gone":                      {host(), Absent, 0, plan{step: Mark}},
		"marks a host whose claim has another UID":              {host(), Replaced, 0, plan{step: Mark}},
		"marks it first, whatever the administrator asks":       {host(release), Absent, 0, plan{step: Mark}},
		"marks it first, even when nothing is on it":            {host(cleared), Absent, 0, plan{step: Mark}},
		"marks it anew if the mark cannot be read":              {host(annotate(infrav1.OrphanedSinceAnnotation, "x")), Absent, 0, plan{step: Mark}},
		"marks a paused host as well":                           {host(paused), Absent, 0, plan{step: Mark}},
		"waits for the grace":                                   {host(since(lost)), Absent, grace - 1, plan{Wait, OrphanedReason, lost.Add(grace)}},
		"releases after the grace":                              {host(since(lost)), Absent, grace, plan{step: Release, reason: ReleasingReason}},
		"releases at once when the administrator says so":       {host(since(lost), release), Absent, 0, plan{step: Release, reason: ReleasingReason}},
		"goes on with a release that has begun":                 {host(since(lost), cleared), Absent, 0, plan{step: Release, reason: ReleasingReason}},
		"goes on with it although another has the name now":     {host(since(lost), cleared), Replaced, 0, plan{step: Release, reason: ReleasingReason}},
		"waits for the administrator for a namesake":            {host(since(lost)), Replaced, 9 * grace, plan{step: Wait, reason: OrphanedByNamesakeReason}},
		"releases in spite of it when told so":                  {host(since(lost), release), Replaced, 0, plan{step: Release, reason: ReleasingReason}},
		"releases no paused host after the grace":               {host(since(lost), paused), Absent, 9 * grace, plan{step: Wait, reason: OrphanedPausedReason}},
		"releases no paused host even when told so":             {host(since(lost), paused, release), Absent, 0, plan{step: Wait, reason: OrphanedPausedReason}},
		"leaves a host that goes itself":                        {host(since(lost), dying), Absent, 9 * grace, plan{step: Leave}},
		"leaves a moved host to the claim beside it":            {host(moved, inOwnNamespace), Replaced, 9 * grace, plan{step: Leave}},
		"keeps it for no claim that gets no server":             {host(moved, inOwnNamespace, since(lost), release), Unserved, 0, plan{step: Release, reason: ReleasingReason}},
		"waits for the administrator for such a namesake":       {host(since(lost)), Unserved, 9 * grace, plan{step: Wait, reason: OrphanedByNamesakeReason}},
		"leaves it to it whatever the administrator says":       {host(moved, inOwnNamespace, since(lost), release), Replaced, 0, plan{step: Leave}},
		"keeps a host whose claim left by a move":               {host(recorded), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"keeps it although it was marked before":                {host(since(lost), recorded), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"keeps it from a claim of the same name":                {host(recorded), Replaced, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"keeps it when clusterctl has replaced all annotations": {host(deletedForMove), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"keeps it by the pause alone":                           {host(annotate(bmov1alpha1.PausedAnnotation, infrav1.MovePausedValue)), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"releases it when told so":                              {host(recorded, annotate(bmov1alpha1.PausedAnnotation, infrav1.MovePausedValue), release), Absent, 0, plan{step: Release, reason: ReleasingReason}},
		"releases it not while others have it paused":           {host(recorded, paused, release), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"leaves it to its claim":                                {host(recorded), Present, 0, plan{step: Leave}},
		"leaves a moved one to the claim that came with it":     {host(recorded, moved, inOwnNamespace), Replaced, 9 * grace, plan{step: Leave}},
		"waits for the claim that is created after it":          {host(recorded, moved, inOwnNamespace, justBorn), Absent, 0, plan{Leave, "", lost.Add(grace)}},
		"keeps it although the claim did not come":              {host(recorded, moved, inOwnNamespace, justBorn), Absent, grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"marks a moved host whose claim did not come":           {host(moved, inOwnNamespace), Absent, 0, plan{step: Mark}},
		"marks a moved host of a claim of another namespace":    {host(moved), Replaced, 0, plan{step: Mark}},
		"marks a host beside a namesake that did not move":      {host(inOwnNamespace), Replaced, 0, plan{step: Mark}},
		"releases at once what was never put to work":           {host(idle), Absent, 0, plan{step: Release, reason: ReleasingReason}},
		"releases that in spite of a namesake":                  {host(idle), Replaced, 0, plan{step: Release, reason: ReleasingReason}},
		"releases what was not written yet":                     {host(inState(bmov1alpha1.StateProvisioning)), Absent, 0, plan{step: Release, reason: ReleasingReason}},
		"marks what reports an image although it is available":  {host(idle, reported), Absent, 0, plan{step: Mark}},
		"marks an unused host that is paused":                   {host(idle, paused), Absent, 0, plan{step: Mark}},
		"marks an unused host that was restored":                {host(idle, moved, inOwnNamespace), Absent, 0, plan{step: Mark}},
		"keeps an unused host whose claim left by a move":       {host(idle, recorded), Absent, 9 * grace, plan{step: Wait, reason: ClaimMovedAwayReason}},
		"leaves an unused host whose claim is there":            {host(idle), Present, 0, plan{step: Leave}},
		"leaves an unused host that goes itself":                {host(idle, dying), Absent, 0, plan{step: Leave}},
		"counts the grace from when the host was restored": {
			host(since(born.Add(-grace))), Absent, -24*time.Hour + grace - 1, plan{Wait, OrphanedReason, born.Add(grace)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Next(Observed{Host: tt.host, Claim: tt.claim, Grace: grace, Now: lost.Add(tt.after)})
			expect.Equal(t, tt.want, plan{got.Step, got.Reason, got.Until}, cmp.AllowUnexported(plan{}))
			expect.That(t, (got.Reason == "") == (got.Message == ""), "reason %q with message %q", got.Reason, got.Message)
			if got.Reason != "" && !strings.HasPrefix(got.Message, "HostClaim machine of namespace "+tt.host.Spec.ConsumerRef.Namespace+" with UID claim-uid ") {
				t.Errorf("message %q does not name the claim", got.Message)
			}
		})
	}
}

func TestMessagesSayWhatTheAdministratorCanDo(t *testing.T) {
	for claim, want := range map[Claim]string{
		Absent:   "given back after a grace of 1h0m0s, or at once if an administrator puts annotation hostclaim.metal3.io/release on it",
		Replaced: "until an administrator puts annotation hostclaim.metal3.io/release on it",
	} {
		plan := Next(Observed{Host: host(since(lost)), Claim: claim, Grace: time.Hour, Now: lost})
		expect.That(t, strings.Contains(plan.Message, want), "%q does not contain %q", plan.Message, want)
	}
}

func TestMarkedAndUnmarkedAreOpposites(t *testing.T) {
	marked := Marked(host(), lost.In(time.FixedZone("east", 7200)))
	want := host(annotate(infrav1.OrphanedSinceAnnotation, "2026-08-02T12:00:00Z"))
	expect.Equal(t, want, marked)
	expect.Equal(t, host(), Unmarked(marked))
	bare := Marked(&bmov1alpha1.BareMetalHost{}, lost)
	expect.That(t, len(bare.Annotations) == 1, "annotations %v", bare.Annotations)
}

func TestSuspectAndStray(t *testing.T) {
	foreign := func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.APIVersion = "cluster.x-k8s.io/v1beta2" }
	other := func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.UID = "other-uid" }
	tests := map[string]struct {
		host           *bmov1alpha1.BareMetalHost
		suspect, stray bool
	}{
		"a bound host is a suspect":                         {host(), true, false},
		"so it is once it was cleared":                      {host(cleared), true, false},
		"so it is without the label":                        {host(without(infrav1.ClaimUIDLabel)), true, false},
		"so it is once it was cleared without the label":    {host(without(infrav1.ClaimUIDLabel), cleared), true, false},
		"a host of another kind of consumer is none":        {host(foreign), false, false},
		"a host that another controller bound is none":      {host(cleared, without(infrav1.ClaimUIDLabel)), false, false},
		"an old label does not make it one":                 {host(cleared, other), false, false},
		"a free host is neither":                            {host(unnamed, cleared, without(infrav1.ClaimUIDLabel), without(infrav1.FormerCleaningModeAnnotation)), false, false},
		"a fence alone makes a stray":                       {host(unnamed, cleared, without(infrav1.ClaimUIDLabel), without(infrav1.FormerCleaningModeAnnotation), annotate(infrav1.FenceAnnotation, "x/1")), false, true},
		"a host that names no claim any more is a stray":    {host(unnamed), false, true},
		"so it is when only its cleaning mode is noted":     {host(unnamed, cleared, without(infrav1.ClaimUIDLabel)), false, true},
		"so it is when only the label is left of its claim": {host(unnamed, without(infrav1.BoundHostUIDAnnotation), without(infrav1.FormerCleaningModeAnnotation)), false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if suspect, stray := Suspect(tt.host), Stray(tt.host); suspect != tt.suspect || stray != tt.stray {
				t.Errorf("Suspect %t, Stray %t, want %t, %t", suspect, stray, tt.suspect, tt.stray)
			}
		})
	}
}

func TestFence(t *testing.T) {
	fenced := host(unnamed, annotate(infrav1.FenceAnnotation, "claim-uid/17"))
	expect.Equal(t, "claim-uid", Fencer(fenced))
	expect.Equal(t, "", Fencer(host()))
}

func TestTidied(t *testing.T) {
	bare := []func(*bmov1alpha1.BareMetalHost){
		unnamed, without(infrav1.ClaimUIDLabel), without(infrav1.BoundHostUIDAnnotation), without(infrav1.FormerCleaningModeAnnotation),
	}
	mode := func(m bmov1alpha1.AutomatedCleaningMode) func(*bmov1alpha1.BareMetalHost) {
		return func(h *bmov1alpha1.BareMetalHost) { h.Spec.AutomatedCleaningMode = m }
	}
	clean := func(h *bmov1alpha1.BareMetalHost) {
		for _, change := range bare {
			change(h)
		}
		idle(h)
	}
	tests := map[string]struct{ given, want *bmov1alpha1.BareMetalHost }{
		"takes the marks off and gives the cleaning mode back": {
			host(unnamed, idle, since(lost)), host(clean, mode(bmov1alpha1.CleaningModeDisabled)),
		},
		"keeps cleaning on while something is on the host": {
			host(unnamed, since(lost)),
			host(unnamed, without(infrav1.ClaimUIDLabel), without(infrav1.BoundHostUIDAnnotation)),
		},
		"takes off what the claim wanted done, reboots included": {
			host(unnamed, since(lost), annotate(infrav1.HeldRebootPrefix+"x", ""), annotate(infrav1.ParkedAnnotation, ""), annotate(infrav1.RebuildAnnotation, "1")),
			host(unnamed, without(infrav1.ClaimUIDLabel), without(infrav1.BoundHostUIDAnnotation)),
		},
		"keeps a cleaning mode that was chosen since": {
			host(unnamed, idle, mode("other")), host(clean, mode("other")),
		},
		"needs no note of the cleaning mode": {
			host(unnamed, without(infrav1.FormerCleaningModeAnnotation)),
			host(unnamed, without(infrav1.ClaimUIDLabel), without(infrav1.BoundHostUIDAnnotation), without(infrav1.FormerCleaningModeAnnotation)),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Tidied(tt.given)) })
	}
	expect.Equal(t, "claim-uid", StrayClaim(host(unnamed)))
}

func TestFenceIsLeftToItsClaimWhileThatIntendsTheHost(t *testing.T) {
	h := host(unnamed)
	claim := func(edits ...func(*bmov1alpha1.HostClaim)) *bmov1alpha1.HostClaim {
		c := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "machine", UID: "claim-uid"}}
		for _, edit := range edits {
			edit(c)
		}
		return c
	}
	annotated := func(c *bmov1alpha1.HostClaim) { c.Annotations = binding.Intending(c, h).Annotations }
	status := func(associated metav1.ConditionStatus) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			c.Status = binding.WithIntentStatus(c, h, born).Status
			c.Status.Conditions[0].Status = associated
		}
	}
	for name, tt := range map[string]struct {
		claim *bmov1alpha1.HostClaim
		want  bool
	}{
		"not by a claim of another host":             {claim(), false},
		"by an intent in its status":                 {claim(status(metav1.ConditionUnknown)), true},
		"by an intent of which the annotation tells": {claim(annotated), true},
		"not by one from before the host was written": {claim(annotated, func(c *bmov1alpha1.HostClaim) {
			c.Annotations[infrav1.IntendedHostAnnotation] += "0"
		}), false},
		"not by a claim that has the host":      {claim(annotated, status(metav1.ConditionTrue)), false},
		"not by a claim that has lost the host": {claim(annotated, status(metav1.ConditionFalse)), false},
		"by both":                               {claim(annotated, status(metav1.ConditionUnknown)), true},
	} {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, intends(tt.claim, h)) })
	}
}
