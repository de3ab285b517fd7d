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

package claims

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/reservation"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/secretkeys"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var (
	first  = Owner{Namespace: "t", Name: "m-1", UID: "uid-1"}
	second = Owner{Namespace: "t", Name: "m-2", UID: "uid-2"}
	keeper = Keeper{Label: "md-workers", Reference: metav1.OwnerReference{Kind: "MachineDeployment", Name: "workers", UID: "uid-md"}}
	until  = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
)

// working is the claim of the first machine, as it was written for that.
func working(remote *Remote) *bmov1alpha1.HostClaim {
	claim := Desired(Wanted{
		Name: "m-1", Owner: first, Remote: remote, ClusterName: "a", FailureDomain: "row-1", PoweredOn: true,
		Selector:   &infrav1.HostSelector{MatchLabels: map[string]string{"rack": "1"}},
		Deployment: &Deployment{Image: &bmov1alpha1.Image{URL: "http://x/i"}, UserData: "boot", MetaData: "meta", NetworkData: "net"},
	})
	claim.Annotations = map[string]string{
		infrav1.RebuildAnnotation: "1", "reboot.metal3.io": "", "reboot.metal3.io/x": "", infrav1.BoundClaimUIDAnnotation: "u", "example.com/a": "b",
	}
	return claim
}

// TestReserveAndAdopt follows a claim from one machine to the next, in the cluster of the
// machines and in another one: it ends as the second machine would have made it.
func TestReserveAndAdopt(t *testing.T) {
	for name, remotes := range map[string][2]*Remote{
		"in the cluster of the machines": {},
		"in another cluster":             {{Namespace: "far", Origin: "origin-1"}, {Namespace: "far", Origin: "origin-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := working(remotes[0])
			reserved := Reserve(claim, first, keeper, until, remotes[0] != nil)
			expect.Must(t, reservation.Holds(reserved) && !reservation.Holds(claim), "only the second one is reserved")
			wantSpec := bmov1alpha1.HostClaimSpec{HostSelector: claim.Spec.HostSelector, FailureDomain: "row-1"}
			expect.Equal(t, wantSpec, reserved.Spec)
			wantAnnotations := map[string]string{
				infrav1.ReservedUntilAnnotation: "2026-01-31T12:00:00Z", infrav1.ReservedByAnnotation: "m-1/uid-1",
				infrav1.BoundClaimUIDAnnotation: "u", "example.com/a": "b",
			}
			expect.Equal(t, wantAnnotations, reserved.Annotations)
			if by, uid := ReservedBy(reserved); by != "m-1" || uid != "uid-1" {
				t.Errorf("reserved by %s %s", by, uid)
			}
			if remotes[0] == nil {
				expect.Equal(t, []metav1.OwnerReference{keeper.Reference}, reserved.OwnerReferences)
			} else {
				expect.Equal(t, "uid-md", reserved.Labels[infrav1.OriginKey])
			}

			adopted := Adopt(reserved, second, keeper, remotes[1])
			want := Desired(Wanted{
				Name: "m-1", Owner: second, Remote: remotes[1], ClusterName: "a", FailureDomain: "row-1",
				Selector: &infrav1.HostSelector{MatchLabels: map[string]string{"rack": "1"}},
			})
			want.Annotations = map[string]string{infrav1.BoundClaimUIDAnnotation: "u", "example.com/a": "b"}
			if len(adopted.OwnerReferences) == 0 {
				adopted.OwnerReferences = nil
			}
			expect.Equal(t, want, adopted)
			if by, uid := ReservedBy(adopted); by+string(uid) != "" || len(KeepersOf(adopted)) > 0 {
				t.Error("the adopted claim is still reserved")
			}
		})
	}
}

func TestKeepersOf(t *testing.T) {
	expect.Equal(t, []string{"uid-md"}, KeepersOf(Reserve(working(nil), first, keeper, until, false)))
	forged := working(nil)
	forged.Labels[infrav1.NodeReuseLabel] = "md-workers"
	got := KeepersOf(forged)
	expect.That(t, len(got) == 0, "a claim in use is kept for %v", got)
}

func TestRests(t *testing.T) {
	set := func(kinds ...string) func(*bmov1alpha1.HostClaim) {
		return func(c *bmov1alpha1.HostClaim) {
			for _, kind := range kinds {
				c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 7})
			}
		}
	}
	hosted := func(c *bmov1alpha1.HostClaim) {
		c.Generation, c.Status.PoweredOn = 7, true
		c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: "host-1"}
	}
	off := func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = false }
	later := func(c *bmov1alpha1.HostClaim) { c.Generation = 8 }
	broken := func(c *bmov1alpha1.HostClaim) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: bmov1alpha1.ErrorReason})
	}
	all := set(bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition, bmov1alpha1.AvailableForProvisioningCondition)
	tests := map[string]struct {
		change []func(*bmov1alpha1.HostClaim)
		want   bool
	}{
		"a host that was deprovisioned":              {[]func(*bmov1alpha1.HostClaim){hosted, all}, true},
		"a parked host that is off":                  {[]func(*bmov1alpha1.HostClaim){hosted, set(bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition), off}, true},
		"not a parked host that runs":                {[]func(*bmov1alpha1.HostClaim){hosted, set(bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition)}, false},
		"not a host that is told something else":     {[]func(*bmov1alpha1.HostClaim){hosted, set(bmov1alpha1.AssociatedCondition, bmov1alpha1.AvailableForProvisioningCondition), off}, false},
		"not what was said before the claim changed": {[]func(*bmov1alpha1.HostClaim){hosted, all, off, later}, false},
		"not a host in error":                        {[]func(*bmov1alpha1.HostClaim){hosted, set(bmov1alpha1.AssociatedCondition, bmov1alpha1.SynchronizedCondition), off, broken}, false},
		"not a claim without a host":                 {[]func(*bmov1alpha1.HostClaim){all, off}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			claim := Reserve(working(nil), first, keeper, until, false)
			for _, f := range tc.change {
				f(claim)
			}
			expect.Equal(t, tc.want, Rests(claim))
		})
	}
}

func TestAnswers(t *testing.T) {
	asking := func(rack, domain string, soft bool) *bmov1alpha1.HostClaim {
		claim := Desired(Wanted{
			Name: "c", Owner: first, ClusterName: "a", FailureDomain: domain, SoftFailureDomain: soft,
			Selector: &infrav1.HostSelector{MatchLabels: map[string]string{"rack": rack}},
		})
		return claim
	}
	ofClass := func(class, cores string) *bmov1alpha1.HostClaim {
		claim := asking("1", "", false)
		askClass(claim, &infrav1.HostClass{Name: class, Parameters: map[string]infrav1.HostClassParameter{"cores": infrav1.HostClassParameter(cores)}})
		return claim
	}
	tests := map[string]struct {
		reserved, wanted *bmov1alpha1.HostClaim
		want             bool
	}{
		"the same words":                                {asking("1", "row-1", false), asking("1", "row-1", false), true},
		"another selector":                              {asking("1", "", false), asking("2", "", false), false},
		"another failure domain":                        {asking("1", "row-1", false), asking("1", "row-2", false), false},
		"no failure domain any more":                    {asking("1", "row-1", false), asking("1", "", false), false},
		"a preference for another one":                  {asking("1", "row-1", false), asking("1", "row-2", true), true},
		"a failure domain that was a preference before": {asking("1", "row-1", true), asking("1", "row-1", false), false},
		"a preference that stays one":                   {asking("1", "row-1", true), asking("1", "row-1", true), true},
		"another class":                                 {ofClass("large", ""), ofClass("small", ""), false},
		"other arguments":                               {ofClass("large", "8"), ofClass("large", "4"), false},
		"a class where there was none":                  {asking("1", "", false), ofClass("large", ""), false},
		"the default class, which nobody asked for":     {ofClass("large", ""), asking("1", "", false), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, Answers(tc.reserved, tc.wanted)) })
	}
}

// TestCopiesOfAnAdoptedClaim shows that the copies of the former machine are ours to renew,
// and that a secret without an origin is not.
func TestCopiesOfAnAdoptedClaim(t *testing.T) {
	claim := working(&Remote{Namespace: "far", Origin: "origin-1"})
	claim.UID = types.UID("claim")
	before := Copy{Source: "boot", Suffix: UserDataSuffix, Key: "userData"}.DesiredCopy(claim, secretkeys.Content{Key: "userData", Value: []byte("x")})
	adopted := Adopt(Reserve(claim, first, keeper, until, true), second, keeper, &Remote{Namespace: "far", Origin: "origin-2"})
	expect.That(t, CopyOf(before, adopted), "the copy is foreign")
	expect.That(t, !CopyOf(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: before.OwnerReferences}}, adopted), "a secret without origin is a copy")
}

// TestWithCleaning shows what a machine that leaves or adopts a claim writes about cleaning.
func TestWithCleaning(t *testing.T) {
	const skips = "hostclaim.metal3.io/skip-cleaning"
	tests := map[string]struct {
		before map[string]string
		mode   infrav1.CleaningMode
		want   map[string]string
	}{
		"a machine that does without cleaning":                   {mode: infrav1.CleaningModeDisabled, want: map[string]string{skips: "true"}},
		"a machine that has cleaning":                            {before: map[string]string{skips: "true", "a": "b"}, mode: infrav1.CleaningModeMetadata, want: map[string]string{"a": "b"}},
		"a machine that says nothing":                            {},
		"a machine that says nothing, of a tenant that has said": {before: map[string]string{skips: "true"}, want: map[string]string{skips: "true"}},
		"a machine that does without, of a tenant that has not":  {before: map[string]string{skips: "false"}, mode: infrav1.CleaningModeDisabled, want: map[string]string{skips: "true"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claim := &bmov1alpha1.HostClaim{ObjectMeta: metav1.ObjectMeta{Annotations: test.before}}
			expect.Equal(t, test.want, WithCleaning(claim, test.mode).Annotations)
			expect.Equal(t, test.before, claim.Annotations)
		})
	}
}
