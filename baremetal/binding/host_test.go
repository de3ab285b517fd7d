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
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// The label may have been taken off a host whose claim has lost its status.
func TestRecordFindsTheHostOfAClaimWhoseStatusWasLost(t *testing.T) {
	for name, tt := range map[string]struct {
		record string
		want   bool
	}{
		"its record":                   {"claim-uid/infra/host-0/host-uid/41", true},
		"that of another host":         {"claim-uid/infra/host-1/other-uid/41", false},
		"that of another claim":        {"old-uid/infra/host-0/host-uid/41", false},
		"that of a host with its name": {"claim-uid/infra/host-0/other-uid/41", false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(recorded(tt.record), func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{infrav1.HostClaimFinalizer} })
			host := Bind(newHost(), claim)
			delete(host.Labels, infrav1.ClaimUIDLabel)
			expect.Equal(t, tt.want, Has(claim, host))
		})
	}
}

func TestBoundAs(t *testing.T) {
	claim := newClaim()
	seen := newHost(func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"rack": "a1"} })
	tried := Bind(seen, claim)
	for name, tt := range map[string]struct {
		edit hostEdit
		want bool
	}{
		"as it was tried":                     {func(*bmov1alpha1.BareMetalHost) {}, true},
		"with a note of another client":       {annotated("example.com/note", "x"), true},
		"with another value of a label":       {func(h *bmov1alpha1.BareMetalHost) { h.Labels["rack"] = "b1" }, true},
		"for another claim":                   {func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef.UID = "other" }, false},
		"for nobody":                          {func(h *bmov1alpha1.BareMetalHost) { h.Spec.ConsumerRef = nil }, false},
		"without the label":                   {func(h *bmov1alpha1.BareMetalHost) { h.Labels = nil }, false},
		"with an annotation of another value": {annotated(infrav1.BoundHostUIDAnnotation, "other"), false},
	} {
		t.Run(name, func(t *testing.T) {
			now := tried.DeepCopy()
			tt.edit(now)
			expect.Equal(t, tt.want, BoundAs(now, seen, tried))
		})
	}
}

// An administrator of hosts can write everything that a bind writes on a host. It counts
// only if the claim's status names the host, or was lost, which only a claim with our
// finalizer or record can have.
func TestForgedTracesAreBelievedForNoNewClaim(t *testing.T) {
	finalizer := func(c *bmov1alpha1.HostClaim) {
		c.Finalizers = []string{"tenant.example.com/own", infrav1.HostClaimFinalizer}
	}
	foreign := func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{"tenant.example.com/own"} }
	goes := func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	waits := func(c *bmov1alpha1.HostClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: bmov1alpha1.AssociatedCondition, Status: metav1.ConditionFalse}}
	}
	names := func(name string) claimEdit {
		return func(c *bmov1alpha1.HostClaim) {
			c.Status.BareMetalHost = &bmov1alpha1.ObjectReference{Namespace: "infra", Name: name}
		}
	}
	for name, tt := range map[string]struct {
		claim    []claimEdit
		has, new bool
	}{
		"of a new claim": {nil, false, true},
		"of a new claim with another's finalizer":   {[]claimEdit{foreign}, false, true},
		"of a new claim that goes":                  {[]claimEdit{foreign, goes}, false, true},
		"of a claim that waits":                     {[]claimEdit{finalizer, waits}, false, false},
		"of a claim that waits, without finalizer":  {[]claimEdit{waits}, false, false},
		"of a claim that was given another host":    {[]claimEdit{finalizer, names("host-1")}, false, false},
		"of a claim that chose the host":            {[]claimEdit{names("host-0")}, true, false},
		"of a claim whose status was lost":          {[]claimEdit{finalizer}, true, false},
		"of a claim whose status was lost and goes": {[]claimEdit{finalizer, goes}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(tt.claim...)
			if has, isNew := Has(claim, Bind(newHost(), claim)), New(claim); has != tt.has || isNew != tt.new {
				t.Errorf("has the host: %t, is new: %t; want %t, %t", has, isNew, tt.has, tt.new)
			}
		})
	}
}

func TestOnHold(t *testing.T) {
	ours := func(c *bmov1alpha1.HostClaim) { c.Finalizers = []string{infrav1.HostClaimFinalizer} }
	goes := func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	paused := claimAnnotated("cluster.x-k8s.io/paused", "")
	tests := map[string]struct {
		claim *bmov1alpha1.HostClaim
		want  bool
	}{
		"a living claim":                       {newClaim(), false},
		"a claim that goes with our finalizer": {newClaim(ours, goes), false},
		"a paused claim":                       {newClaim(ours, paused), true},
		"a paused claim that goes":             {newClaim(ours, goes, paused), true},
		"a claim that was moved":               {newClaim(ours, goes, claimAnnotated("clusterctl.cluster.x-k8s.io/delete-for-move", "")), true},
		"a claim whose finalizer was stripped": {newClaim(goes), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, OnHold(tt.claim)) })
	}
}

func TestSameInputs(t *testing.T) {
	named := func(name string) *corev1.SecretReference { return &corev1.SecretReference{Name: name} }
	tests := map[string]struct {
		edit claimEdit
		want bool
	}{
		"in another version":           {func(c *bmov1alpha1.HostClaim) { c.ResourceVersion = "8" }, true},
		"with another status":          {func(c *bmov1alpha1.HostClaim) { c.Status.PoweredOn = true }, true},
		"with what kubectl applied":    {claimAnnotated(corev1.LastAppliedConfigAnnotation, "{}"), true},
		"not with an image":            {asksImage, false},
		"not with a deploy method":     {func(c *bmov1alpha1.HostClaim) { c.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "x"} }, false},
		"not with another power state": {func(c *bmov1alpha1.HostClaim) { c.Spec.PoweredOn = !c.Spec.PoweredOn }, false},
		"not with user data":           {func(c *bmov1alpha1.HostClaim) { c.Spec.UserData = named("x") }, false},
		"not with metadata":            {func(c *bmov1alpha1.HostClaim) { c.Spec.MetaData = named("x") }, false},
		"not with network data":        {func(c *bmov1alpha1.HostClaim) { c.Spec.NetworkData = named("x") }, false},
		"not with a token":             {rebuilds("1"), false},
		"not with a reboot":            {claimAnnotated(bmov1alpha1.RebootAnnotationPrefix, ""), false},
		"not with a reboot under way":  {claimAnnotated(infrav1.RebootRequestAnnotation, `{"hostclaim":"1"}`), false},
		"not with a reboot that lasts": {claimAnnotated(bmov1alpha1.RebootAnnotationPrefix+"/x", ""), false},
		"not without cleaning":         {claimAnnotated(infrav1.SkipCleaningAnnotation, "true"), false},
		"not with a label":             {reserved, false},
		"not while it is paused":       {claimAnnotated("cluster.x-k8s.io/paused", ""), false},
		"not while it is moved":        {claimAnnotated("clusterctl.cluster.x-k8s.io/delete-for-move", ""), false},
		"not of another claim":         {func(c *bmov1alpha1.HostClaim) { c.UID = "other" }, false},
		"not while it goes":            {func(c *bmov1alpha1.HostClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tt.want, SameInputs(newClaim(), newClaim(tt.edit))) })
	}
}
