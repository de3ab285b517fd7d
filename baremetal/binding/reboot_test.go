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
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

const (
	oneShotKey = bmov1alpha1.RebootAnnotationPrefix
	requestKey = infrav1.RebootRequestAnnotation
)

func TestReadReboots(t *testing.T) {
	hard := Reboot{Mode: bmov1alpha1.RebootModeHard}
	tests := map[string]struct {
		annotations map[string]string
		want        Reboots
		invalid     []string
	}{
		"none": {map[string]string{"reboot.metal3.io.example.com/x": "", "example.com/reboot.metal3.io": "{"}, Reboots{}, nil},
		"a one-shot without options": {
			map[string]string{oneShotKey: ""}, Reboots{Asked: &Reboot{}}, nil,
		},
		"options": {
			map[string]string{oneShotKey: `{"mode":"hard","force":true}`},
			Reboots{Asked: &Reboot{Mode: bmov1alpha1.RebootModeHard, Force: true}},
			nil,
		},
		"one that is held, and a one-shot": {
			map[string]string{oneShotKey: `{"mode":"soft"}`, oneShotKey + "/fencing": `{"mode":"hard"}`},
			Reboots{
				Asked: &Reboot{Mode: bmov1alpha1.RebootModeSoft},
				Held:  map[string]Reboot{"reboot.metal3.io/hostclaim.fencing": hard},
			},
			nil,
		},
		"a request": {
			map[string]string{requestKey: `{"mode":"hard","hostclaim":"uid/7"}`},
			Reboots{Request: &Reboot{Mode: bmov1alpha1.RebootModeHard, ID: "uid/7"}},
			nil,
		},
		"an unknown mode":            {map[string]string{oneShotKey: `{"mode":"gentle"}`}, Reboots{}, []string{oneShotKey}},
		"an unknown option":          {map[string]string{oneShotKey: `{"forced":true}`}, Reboots{}, []string{oneShotKey}},
		"no JSON":                    {map[string]string{oneShotKey + "/x": `hard`}, Reboots{}, []string{oneShotKey + "/x"}},
		"more than JSON":             {map[string]string{oneShotKey: `{} {}`}, Reboots{}, []string{oneShotKey}},
		"an ID by the tenant":        {map[string]string{oneShotKey: `{"hostclaim":"uid/7"}`}, Reboots{}, []string{oneShotKey}},
		"a request without its ID":   {map[string]string{requestKey: `{}`}, Reboots{}, []string{requestKey}},
		"an empty request":           {map[string]string{requestKey: ""}, Reboots{}, []string{requestKey}},
		"a request with a huge ID":   {map[string]string{requestKey: `{"hostclaim":"` + strings.Repeat("x", 200) + `"}`}, Reboots{}, []string{requestKey}},
		"an invalid one and another": {map[string]string{oneShotKey: "x", oneShotKey + "/a": ""}, Reboots{Held: map[string]Reboot{"reboot.metal3.io/hostclaim.a": {}}}, []string{oneShotKey}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ReadReboots(newClaim(func(c *bmov1alpha1.HostClaim) { c.Annotations = tt.annotations }))
			faults := got.Invalid
			if got.Invalid = nil; len(got.Held) == 0 {
				got.Held = nil
			}
			expect.Equal(t, tt.want, got)
			expect.Must(t, len(faults) == len(tt.invalid), "faults %q, want %d", faults, len(tt.invalid))
			for i, key := range tt.invalid {
				expect.That(t, strings.HasPrefix(faults[i], "annotation "+key+" "), "fault %q does not name %s", faults[i], key)
			}
		})
	}
}

func TestHeldRebootsAreBounded(t *testing.T) {
	claim := newClaim()
	for i := range maxHeld + 2 {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, fmt.Sprintf("%s/id-%02d", oneShotKey, i), "")
	}
	got := ReadReboots(claim)
	expect.That(t, len(got.Held) == maxHeld && len(got.Invalid) == 2 && strings.Contains(got.Invalid[0], "/id-16 "), "%d held, faults %q", len(got.Held), got.Invalid)

	long, longer := strings.Repeat("x", 63), strings.Repeat("x", 62)+"y"
	for _, id := range []string{"a", long, longer} {
		_, name, _ := strings.Cut(heldKey(id), "/")
		expect.That(t, len(name) <= maxKeyName && strings.HasPrefix(heldKey(id), infrav1.HeldRebootPrefix), "key %s of ID %s", heldKey(id), id)
	}
	expect.That(t, heldKey(long) != heldKey(longer), "two IDs meet in one key")
}

func TestNextReboot(t *testing.T) {
	wish, request := &Reboot{}, &Reboot{ID: "uid/7"}
	busy := annotated(oneShotKey, "")
	last := func(id string) hostEdit { return annotated(infrav1.LastRebootAnnotation, id) }
	available := state(bmov1alpha1.StateAvailable)
	forced := &Reboot{Force: true, ID: "uid/7"}
	tests := map[string]struct {
		given Reboots
		host  []hostEdit
		want  RebootStep
	}{
		"nothing is asked for":                         {Reboots{}, []hostEdit{running}, NoReboot},
		"the tenant asks":                              {Reboots{Asked: wish}, []hostEdit{running}, AcceptReboot},
		"the tenant asks early":                        {Reboots{Asked: wish}, nil, AcceptReboot},
		"a request goes to the host":                   {Reboots{Request: request}, []hostEdit{running}, PassReboot},
		"after an earlier one":                         {Reboots{Request: request}, []hostEdit{running, last("uid/3")}, PassReboot},
		"a second one-shot waits":                      {Reboots{Asked: wish, Request: request}, []hostEdit{running}, PassReboot},
		"it was passed":                                {Reboots{Request: request}, []hostEdit{running, busy, last("uid/7")}, CloseReboot},
		"it was passed and done":                       {Reboots{Request: request}, []hostEdit{running, last("uid/7")}, CloseReboot},
		"it was passed to a host that goes down since": {Reboots{Request: request}, []hostEdit{last("uid/7")}, CloseReboot},
		"another client reboots the host":              {Reboots{Request: request}, []hostEdit{running, busy}, AwaitTurn},
		"the host is not provisioned":                  {Reboots{Request: request}, []hostEdit{available}, AwaitHost},
		"not even when forced if it is told to be":     {Reboots{Request: forced}, []hostEdit{available, toldImage}, AwaitHost},
		"an empty host is forced":                      {Reboots{Request: forced}, []hostEdit{available}, PassReboot},
		"the host is being provisioned":                {Reboots{Request: forced}, []hostEdit{toldImage, state(bmov1alpha1.StateProvisioning)}, AwaitHost},
		"the host is about to be wiped":                {Reboots{Request: request}, []hostEdit{state(bmov1alpha1.StateProvisioned), runsImage}, AwaitHost},
		"the host is paused":                           {Reboots{Request: request}, []hostEdit{running, annotated(bmov1alpha1.PausedAnnotation, "")}, AwaitHost},
		"the host is detached":                         {Reboots{Request: request}, []hostEdit{running, annotated(bmov1alpha1.DetachedAnnotation, "")}, AwaitHost},
		"the host is parked":                           {Reboots{Request: request}, []hostEdit{running, isParked}, AwaitHost},
		"the host goes":                                {Reboots{Request: request}, []hostEdit{running, func(h *bmov1alpha1.BareMetalHost) { h.DeletionTimestamp = &metav1.Time{} }}, PassReboot},
		"the host was provisioned by others":           {Reboots{Request: request}, []hostEdit{state(bmov1alpha1.StateExternallyProvisioned)}, PassReboot},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, NextReboot(tt.given, newHost(tt.host...))) })
	}
}

func TestWayOfAOneShot(t *testing.T) {
	claim := newClaim(claimAnnotated(oneShotKey, `{"mode":"hard"}`))
	accepted := AcceptedReboot(claim, *ReadReboots(claim).Asked)
	expect.Equal(t, map[string]string{requestKey: `{"mode":"hard","hostclaim":"claim-uid/7"}`}, accepted.Annotations)
	passed := PassedReboot(newHost(), *ReadReboots(accepted).Request)
	if diff := cmp.Diff(map[string]string{
		oneShotKey: `{"mode":"hard","hostclaim":"claim-uid/7"}`, infrav1.LastRebootAnnotation: "claim-uid/7",
	}, passed.Annotations); diff != "" {
		t.Errorf("passed (-want +got):\n%s", diff)
	}
	closed := ClosedReboot(accepted)
	expect.That(t, len(closed.Annotations) == 0, "closed: %v", closed.Annotations)
}

func TestWithHeld(t *testing.T) {
	ours, foreign, old := infrav1.HeldRebootPrefix+"a", oneShotKey+"/remediation", infrav1.HeldRebootPrefix+"old"
	hard := map[string]Reboot{ours: {Mode: bmov1alpha1.RebootModeHard}}
	tests := map[string]struct {
		held     map[string]Reboot
		host     []hostEdit
		want     map[string]string
		complete bool
	}{
		"adds":                     {hard, []hostEdit{running}, map[string]string{ours: `{"mode":"hard"}`}, true},
		"changes":                  {hard, []hostEdit{running, annotated(ours, "")}, map[string]string{ours: `{"mode":"hard"}`}, true},
		"waits":                    {hard, nil, nil, false},
		"forces":                   {map[string]Reboot{ours: {Force: true}}, nil, map[string]string{ours: `{"force":true}`}, true},
		"keeps what is there":      {hard, []hostEdit{annotated(ours, `{"mode":"hard"}`)}, map[string]string{ours: `{"mode":"hard"}`}, true},
		"takes back only ours":     {nil, []hostEdit{running, annotated(old, ""), annotated(foreign, ""), annotated(oneShotKey, "")}, map[string]string{foreign: "", oneShotKey: ""}, true},
		"takes back in any state":  {nil, []hostEdit{annotated(old, "")}, map[string]string{}, true},
		"does nothing for nothing": {nil, []hostEdit{running}, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, complete := WithHeld(tt.held, newHost(tt.host...))
			if diff := cmp.Diff(tt.want, got.Annotations); diff != "" || complete != tt.complete {
				t.Errorf("complete %t, want %t (-want +got):\n%s", complete, tt.complete, diff)
			}
		})
	}
}

func TestReleaseTakesBackOurRebootsOnly(t *testing.T) {
	foreign := map[string]string{oneShotKey + "/remediation": "", oneShotKey: `{"mode":"hard"}`}
	host := newHost(running, annotated(oneShotKey+"/remediation", ""), annotated(infrav1.HeldRebootPrefix+"a", ""))
	host = PassedReboot(host, Reboot{ID: "claim-uid/7"})
	WithoutWork(host)
	expect.Equal(t, map[string]string{oneShotKey + "/remediation": ""}, host.Annotations)
	metav1.SetMetaDataAnnotation(&host.ObjectMeta, oneShotKey, foreign[oneShotKey])
	WithoutWork(host)
	expect.Equal(t, foreign, host.Annotations)
}
