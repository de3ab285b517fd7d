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
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// beside puts a host next to its claim.
func beside(h *bmov1alpha1.BareMetalHost) { h.Namespace = "tenant" }

// ofCluster makes a claim that of a machine of a Cluster.
func ofCluster(c *bmov1alpha1.HostClaim) {
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Machine"}}
}

func claimLabeled(key string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{key: ""} }
}

func withoutStatus(h *bmov1alpha1.BareMetalHost) { h.Status = bmov1alpha1.BareMetalHostStatus{} }

func TestHostIsGuardedFromTheBindToTheRelease(t *testing.T) {
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		host  *bmov1alpha1.BareMetalHost
		moves bool // with the claim
	}{
		"of a Cluster":                            {newClaim(ofCluster), newHost(beside), true},
		"by a label of its own":                   {newClaim(claimLabeled(infrav1.MoveLabel)), newHost(beside), true},
		"by a label on the hierarchy":             {newClaim(claimLabeled(infrav1.MoveHierarchyLabel)), newHost(beside), true},
		"by hand":                                 {newClaim(), newHost(beside), false},
		"of a Cluster, host in another namespace": {newClaim(ofCluster), newHost(), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bound := Bind(tt.host, tt.claim)
			expect.Equal(t, infrav1.HostClaimManagerFieldOwner, bound.Annotations[infrav1.BlockMoveAnnotation])
			_, labeled := bound.Labels[infrav1.MoveHierarchyLabel]
			expect.That(t, labeled == tt.moves, "clusterctl takes the host along: %t, want %t", labeled, tt.moves)
			expect.Equal(t, bound, Guarded(bound, tt.claim)) // a guarded host stays as it is
			if diff := cmp.Diff(tt.host.Labels, Freed(Cleared(bound)).Labels); diff != "" && len(Freed(Cleared(bound)).Labels) > 0 {
				t.Errorf("labels left behind:\n%s", diff)
			}
			left := Freed(Cleared(bound)).Annotations
			expect.That(t, len(left) == 0, "annotations left behind: %v", left)
		})
	}
}

func TestGuardedClaim(t *testing.T) {
	const uid, record, block = "claim-uid", infrav1.BoundClaimUIDAnnotation, infrav1.BlockMoveAnnotation
	own := map[string]string{record: uid, block: infrav1.HostClaimManagerFieldOwner}
	tests := map[string]struct {
		annotations  map[string]string
		edit         claimEdit
		bound, block bool
		want         map[string]string
	}{
		"gets both with its host":                      {bound: true, block: true, want: own},
		"keeps both":                                   {annotations: own, bound: true, block: true, want: own},
		"keeps the record while it may be moved":       {annotations: own, bound: true, want: map[string]string{record: uid}},
		"loses both when it gets no host":              {annotations: own, want: map[string]string{}},
		"keeps block-move of another client":           {annotations: map[string]string{block: "admin"}, want: map[string]string{block: "admin"}},
		"keeps the record of before without its host":  {annotations: map[string]string{record: "before"}, want: map[string]string{record: "before"}},
		"keeps the record of before while it is bound": {annotations: map[string]string{record: "before"}, bound: true, want: map[string]string{record: "before"}},
		"has a record of its own when its status says so": {
			annotations: map[string]string{record: "before"}, bound: true, want: map[string]string{record: uid}, edit: func(c *bmov1alpha1.HostClaim) {
				c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "tenant", Name: "host"}
				c.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionTrue}}
			},
		},
		"of a machine in another cluster is moved with nothing": {
			edit: func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.OriginKey: "o-1"} }, bound: true, block: true,
			want: map[string]string{record: uid},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.UID, c.Annotations = uid, tt.annotations })
			if tt.edit != nil {
				tt.edit(claim)
			}
			expect.Equal(t, tt.want, GuardedClaim(claim, tt.bound, tt.block).Annotations, cmpopts.EquateEmpty())
		})
	}
}

// A host that was restored while its claim was kept is not inherited by a later claim.
func TestRestoredHostOfAClaimThatWasKept(t *testing.T) {
	claim := newClaim()
	restored := Bind(newHost(beside), claim)
	restored.UID = "new"
	later := newClaim(func(c *bmov1alpha1.HostClaim) { c.UID = "later" })
	expect.That(t, Moved(restored, later) && !Moved(Guarded(restored, claim), later), "a later claim of that name takes the host although its claim had it again")
}

// A claim that became that of a machine in another cluster stays with its host.
func TestHostOfAClaimThatIsNotMovedAnyMoreStays(t *testing.T) {
	bound := Bind(newHost(beside), newClaim(ofCluster))
	remote := newClaim(ofCluster, func(c *bmov1alpha1.HostClaim) { c.Labels = map[string]string{infrav1.OriginKey: "o-1"} })
	got := Guarded(bound, remote)
	expect.That(t, got.Labels[infrav1.MoveHierarchyLabel] == "" && got.Annotations[infrav1.BlockMoveAnnotation] != "", "labels are %v, annotations %v", got.Labels, got.Annotations)
}

// clusterctl died when it had marked the host, and its administrator gave the host free.
func TestFreedHostLooksLikeNoneThatWasMoved(t *testing.T) {
	host := Bind(newHost(beside), newClaim(ofCluster))
	host.Annotations = map[string]string{deleteForMoveAnnotation: ""}
	expect.That(t, MovedAway(Cleared(host)), "the mark goes before the host is free")
	freed := Freed(Cleared(host))
	expect.That(t, !MovedAway(freed), "annotations of a free host are %v", freed.Annotations)
}

func TestMarksOfOthersStay(t *testing.T) {
	host := newHost(beside, annotated(infrav1.BlockMoveAnnotation, "admin"), annotated(bmov1alpha1.PausedAnnotation, "admin"))
	host.Labels = map[string]string{infrav1.MoveHierarchyLabel: ""}
	freed := Freed(Cleared(Resumed(Bind(host, newClaim(ofCluster)))))
	want := map[string]string{infrav1.BlockMoveAnnotation: "admin", bmov1alpha1.PausedAnnotation: "admin"}
	expect.Equal(t, want, freed.Annotations)
	expect.Equal(t, host.Labels, freed.Labels)
}

func TestReadyToMove(t *testing.T) {
	claim := newClaim(ofCluster)
	host := Bind(newHost(beside, running), claim)
	host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{Hostname: "x"}
	host.Status.PoweredOn = true
	ready, err := ReadyToMove(host, claim)
	expect.NoError(t, err)
	expect.That(t, IsReadyToMove(ready, claim) && IsRecorded(ready, claim) && Held(ready) && !IsReadyToMove(host, claim), "annotations %v are not those of a ready host", ready.Annotations)
	restored := bmov1alpha1.BareMetalHostStatus{}
	expect.NoError(t, json.Unmarshal([]byte(ready.Annotations[bmov1alpha1.StatusAnnotation]), &restored))
	want := host.Status.DeepCopy()
	want.HardwareDetails = nil
	expect.Equal(t, *want, restored)
	later := newClaim(ofCluster, func(c *bmov1alpha1.HostClaim) { c.ResourceVersion = "8" })
	expect.That(t, IsReadyToMove(ready, later) && !IsRecorded(ready, later), "the record does not tell versions of the claim apart")
	other := newClaim(func(c *bmov1alpha1.HostClaim) { c.UID = "other" })
	expect.That(t, !IsReadyToMove(ready, other) && !IsReadyToMove(Guarded(ready, claim), claim), "a host is ready for another claim, or with block-move on it")
	expect.Equal(t, host, Guarded(Resumed(ready), claim)) // nothing is left of a move that did not happen
}

func TestResumedKeepsTheStatusThatIsNotRestored(t *testing.T) {
	claim := newClaim(ofCluster)
	ready, err := ReadyToMove(Bind(newHost(beside, running), claim), claim)
	expect.NoError(t, err)
	withoutStatus(ready)
	resumed := Resumed(ready)
	_, kept := resumed.Annotations[bmov1alpha1.StatusAnnotation]
	expect.That(t, kept && !Held(resumed), "annotations are %v", resumed.Annotations)
	expect.That(t, !StatusLost(resumed) && StatusLost(newHost(withoutStatus)) && !StatusLost(newHost()), "StatusLost tells the wrong hosts")
	// A release takes the pause off as well: a paused host is not wiped.
	cleared := Cleared(ready)
	expect.That(t, !Held(cleared) && cleared.Annotations[bmov1alpha1.StatusAnnotation] != "", "annotations of a cleared host are %v", cleared.Annotations)
}

func TestUnrest(t *testing.T) {
	powered := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online, h.Status.PoweredOn = true, true }
	operational := func(s bmov1alpha1.OperationalStatus) hostEdit {
		return func(h *bmov1alpha1.BareMetalHost) { h.Status.OperationalStatus = s }
	}
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		host  *bmov1alpha1.BareMetalHost
		want  string // empty for at rest
	}{
		"runs what was asked for":      {newClaim(asksImage), newHost(running, powered), ""},
		"nothing was asked for":        {newClaim(), newHost(powered), ""},
		"is ready, as in old versions": {newClaim(), newHost(powered, state(bmov1alpha1.StateReady)), ""},
		"was provisioned by others":    {newClaim(), newHost(powered, state(bmov1alpha1.StateExternallyProvisioned)), ""},
		"is off as wanted":             {newClaim(asksImage, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }), newHost(running), ""},
		"keeps another image":          {newClaim(asksOther), newHost(running, powered), ""},
		"has no status":                {newClaim(), newHost(withoutStatus), "baremetal-operator has not restored its status yet"},
		"is in error":                  {newClaim(asksImage), newHost(running, powered, failed), "it is in error"},
		"is written":                   {newClaim(asksImage), newHost(toldImage, powered, state(bmov1alpha1.StateProvisioning)), "its state is provisioning"},
		"is wiped":                     {newClaim(), newHost(powered, state(bmov1alpha1.StateDeprovisioning)), "its state is deprovisioning"},
		"is prepared":                  {newClaim(), newHost(powered, state(bmov1alpha1.StatePreparing)), "its state is preparing"},
		"is inspected":                 {newClaim(), newHost(powered, state(bmov1alpha1.StateInspecting)), "its state is inspecting"},
		"is about to be written":       {newClaim(asksImage), newHost(toldImage, powered), "its state is available"},
		"is about to be wiped":         {newClaim(), newHost(runsImage, powered, state(bmov1alpha1.StateProvisioned)), "its state is provisioned"},
		"is serviced":                  {newClaim(asksImage), newHost(running, powered, operational(bmov1alpha1.OperationalStatusServicing)), "it is serviced, or waits for its turn"},
		"waits for its turn":           {newClaim(asksImage), newHost(running, powered, operational(bmov1alpha1.OperationalStatusDelayed)), "it is serviced, or waits for its turn"},
		"is rebooted":                  {newClaim(asksImage), newHost(running, powered, annotated(bmov1alpha1.RebootAnnotationPrefix, "")), "a reboot or an inspection was asked for"},
		"is held off":                  {newClaim(asksImage), newHost(running, powered, annotated(bmov1alpha1.RebootAnnotationPrefix+"/x", "")), "a reboot or an inspection was asked for"},
		"is to be inspected":           {newClaim(asksImage), newHost(running, powered, annotated(bmov1alpha1.InspectAnnotationPrefix, "")), "a reboot or an inspection was asked for"},
		"has a reboot on its way":      {newClaim(asksImage, claimAnnotated(infrav1.RebootRequestAnnotation, "{}")), newHost(running, powered), "a reboot or an inspection was asked for"},
		"is to be rebooted":            {newClaim(asksImage, claimAnnotated(bmov1alpha1.RebootAnnotationPrefix, "")), newHost(running, powered), "a reboot or an inspection was asked for"},
		"is to be rebuilt":             {newClaim(asksImage, rebuilds("1")), newHost(running, powered, noted("0")), "what the claim asks for is not on it yet"},
		"is to be written":             {newClaim(asksImage), newHost(powered), "what the claim asks for is not on it yet"},
		"is to be wiped for the next":  {newClaim(reserved), newHost(running, powered), "what the claim asks for is not on it yet"},
		"is switched on":               {newClaim(asksImage), newHost(running, func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }), "its power is being switched"},
		"is to be switched off":        {newClaim(asksImage, func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = false }), newHost(running, powered), "its power is being switched"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, Unrest(tt.claim, tt.host)) })
	}
}

func TestPublishedFactsAreThoseOfTheMovedClaim(t *testing.T) {
	facts := func(owner, label string, edits ...func(*metav1.OwnerReference)) *bmov1alpha1.HardwareData {
		claim := newClaim(func(c *bmov1alpha1.HostClaim) { c.UID = "former" })
		data := HardwareData(claim, newHost(), nil, nil)
		data.OwnerReferences[0].UID, data.Labels[infrav1.ClaimUIDLabel] = types.UID(owner), label
		for _, edit := range edits {
			edit(&data.OwnerReferences[0])
		}
		return data
	}
	disowned := func(o *metav1.OwnerReference) { o.Controller = nil }
	tests := map[string]struct {
		data *bmov1alpha1.HardwareData
		want bool
	}{
		"made for it":                       {facts("claim-uid", "claim-uid"), true},
		"made for it, disowned since":       {facts("claim-uid", "claim-uid", disowned), true},
		"of another claim, disowned since":  {facts("former", "former", disowned), false},
		"moved with it":                     {facts("claim-uid", "former"), true},
		"restored with it":                  {facts("former", "former"), true},
		"of another claim that was renamed": {facts("former", "former", func(o *metav1.OwnerReference) { o.Name = "other" }), false},
		"without our label":                 {facts("claim-uid", ""), false},
		"with labels that contradict":       {facts("former", "another"), false},
		"owned by another kind":             {facts("claim-uid", "former", func(o *metav1.OwnerReference) { o.Kind = "BareMetalHost" }), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, IsPublished(tt.data, newClaim())) })
	}
}
