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
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestIntending(t *testing.T) {
	claim, host := newClaim(), newHost(func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "41" })
	intending := Intending(claim, host)
	want := claim.DeepCopy()
	want.Finalizers = []string{infrav1.HostClaimFinalizer}
	want.Annotations = map[string]string{
		infrav1.BlockMoveAnnotation:     infrav1.HostClaimManagerFieldOwner,
		infrav1.BoundClaimUIDAnnotation: "claim-uid",
		infrav1.IntendedHostAnnotation:  "claim-uid/infra/host-0/host-uid/41",
	}
	if diff := cmp.Diff(want, intending); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(intending, Intending(intending, host)); diff != "" {
		t.Errorf("the same intent is another version of the claim:\n%s", diff)
	}
	host.ResourceVersion = "42"
	if cmp.Equal(intending, Intending(intending, host)) {
		t.Error("an intent for a host that has changed is no other version of the claim")
	}
}

func TestLastIntent(t *testing.T) {
	for name, tt := range map[string]struct {
		record string
		found  bool
	}{
		"of the claim":                       {"claim-uid/infra/host-0/host-uid/41", true},
		"of the claim that it was made from": {"old-uid/infra/host-0/host-uid/41", false},
		"without the UID of the host":        {"claim-uid/infra/host-0//41", false},
		"without a namespace":                {"claim-uid//host-0/host-uid/41", false},
		"whose name is a path":               {"claim-uid/infra/../host-uid/41", false},
		"by half":                            {"claim-uid/infra/host-0", false},
		"empty":                              {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			claim, want := newClaim(recorded(tt.record)), Intent{}
			if tt.found {
				want = Intent{Host: types.NamespacedName{Namespace: "infra", Name: "host-0"}, UID: "host-uid", Version: "41"}
			}
			got, found := LastIntent(claim)
			if got != want || found != tt.found {
				t.Errorf("LastIntent() = %v, %t, want %v", got, found, want)
			}
			if New(claim) == found {
				t.Errorf("New() = %t although %t that there is an intent", !found, found)
			}
		})
	}
}

// A tenant may write anything there.
func TestRecordOfManyPartsTakesNoMemory(t *testing.T) {
	const most = 64 << 10
	claim := newClaim(recorded(strings.Repeat("/", 4*most)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, found := LastIntent(claim)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; found || got > most {
		t.Errorf("LastIntent() takes %d bytes and finds an intent: %t", got, found)
	}
}

func recorded(value string) claimEdit {
	return func(c *bmov1alpha1.HostClaim) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, infrav1.IntendedHostAnnotation, value)
	}
}

func TestIntentIsOpen(t *testing.T) {
	last, _ := LastIntent(newClaim(recorded("claim-uid/infra/host-0/host-uid/41")))
	for name, tt := range map[string]struct {
		edit        hostEdit
		isFor, open bool
	}{
		"a host that a writer may still bind": {func(*bmov1alpha1.BareMetalHost) {}, true, true},
		"one that was written since":          {func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "42" }, true, false},
		"another one under its name":          {func(h *bmov1alpha1.BareMetalHost) { h.UID = "new" }, false, false},
		"another one":                         {func(h *bmov1alpha1.BareMetalHost) { h.Name = "host-1" }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			host := newHost(func(h *bmov1alpha1.BareMetalHost) { h.ResourceVersion = "41" }, tt.edit)
			if isFor, open := last.IsFor(host), last.Open(host); isFor != tt.isFor || open != tt.open {
				t.Errorf("is for the host: %t, open: %t; want %t, %t", isFor, open, tt.isFor, tt.open)
			}
		})
	}
}
