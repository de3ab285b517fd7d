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

package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var boundState = claims.State{Phase: claims.Bound, Name: "c"}

// ofWorkers is one of three machines, of which two others have their server.
func ofWorkers(change ...func(*Group)) Group {
	g := Group{Asked: true, Desired: 3, Holding: 2}
	for _, f := range change {
		f(&g)
	}
	return g
}

func TestKeeps(t *testing.T) {
	in := func(change func(*claims.State)) claims.State {
		s := boundState
		change(&s)
		return s
	}
	another := func(g *Group) { g.Reserved = []bmov1alpha1.HostClaim{reserved("r")} }
	tests := map[string]struct {
		group     Group
		claim     claims.State
		unhealthy bool
		want      bool
	}{
		"the server of a machine that is missed":              {group: ofWorkers(), claim: boundState, want: true},
		"one that runs its image":                             {group: ofWorkers(), claim: in(func(s *claims.State) { s.Phase = claims.Provisioned }), want: true},
		"none if the template does not ask for it":            {group: ofWorkers(func(g *Group) { g.Asked = false }), claim: boundState},
		"none if the owner or its Cluster goes":               {group: ofWorkers(func(g *Group) { g.Going = true }), claim: boundState},
		"none if the group shrinks":                           {group: ofWorkers(func(g *Group) { g.Desired = 2 }), claim: boundState},
		"none while the desired number is not known":          {group: ofWorkers(func(g *Group) { g.Desired, g.Holding = 0, 0 }), claim: boundState},
		"none if the next machine has a server already":       {group: ofWorkers(func(g *Group) { g.Holding = 3 }), claim: boundState},
		"none if another one is kept for the missing machine": {group: ofWorkers(another), claim: boundState},
		"one besides another one if two machines are missing": {group: ofWorkers(another, func(g *Group) { g.Holding = 1 }), claim: boundState, want: true},
		"one if the other reservation ends":                   {group: ofWorkers(another, func(g *Group) { ending(&g.Reserved[0]) }), claim: boundState, want: true},
		"none of a machine that was replaced for its health":  {group: ofWorkers(), claim: boundState, unhealthy: true},
		"none without a host":                                 {group: ofWorkers(), claim: in(func(s *claims.State) { s.Phase = claims.Unbound })},
		"none whose host is gone":                             {group: ofWorkers(), claim: in(func(s *claims.State) { s.Phase = claims.Lost })},
		"none that could not do what was asked":               {group: ofWorkers(), claim: in(func(s *claims.State) { s.Phase = claims.Failed })},
		"none in error":                                       {group: ofWorkers(), claim: in(func(s *claims.State) { s.HostInError = true })},
		"none in error that runs its image":                   {group: ofWorkers(), claim: in(func(s *claims.State) { s.Phase, s.HostInError = claims.Provisioned, true })},
		"one if the other reservation is of a broken host":    {group: ofWorkers(another, func(g *Group) { broken(&g.Reserved[0]) }), claim: boundState, want: true},
		"none that was deleted":                               {group: ofWorkers(), claim: in(func(s *claims.State) { s.Deleting = true })},
		"none without a claim":                                {group: ofWorkers(), claim: claims.State{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, keeps(tc.group, tc.claim, tc.unhealthy)) })
	}
}

// claimOf returns a claim that asks for hosts of a rack.
func claimOf(rack string) *bmov1alpha1.HostClaim {
	return &bmov1alpha1.HostClaim{Spec: bmov1alpha1.HostClaimSpec{HostSelector: ofRack(rack)}}
}

func ofRack(rack string) bmov1alpha1.HostSelector {
	return bmov1alpha1.HostSelector{MatchLabels: map[string]string{"rack": rack}}
}

func TestNextReserved(t *testing.T) {
	of := func(name, rack string, rests bool) bmov1alpha1.HostClaim {
		return reserved(name, func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector, c.Status.PoweredOn = ofRack(rack), !rests })
	}
	with := func(all ...bmov1alpha1.HostClaim) Group { return ofWorkers(func(g *Group) { g.Reserved = all }) }
	left := func(leavers ...types.UID) func(*Group) {
		return func(g *Group) {
			g.Left = leavers
			g.Reserved = []bmov1alpha1.HostClaim{of("r", "2", false)}
			g.Reserved[0].Annotations = map[string]string{infrav1.ReservedByAnnotation: "m-0/" + string(leavers[0])}
		}
	}
	gone := of("a", "1", true)
	ending(&gone)
	tests := map[string]struct {
		group Group
		want  ReusePlan
	}{
		"nothing is reserved":                     {ofWorkers(), ReusePlan{}},
		"a machine leaves":                        {ofWorkers(func(g *Group) { g.Leaving = 1 }), ReusePlan{Wait: true}},
		"what a machine has left is not seen":     {ofWorkers(func(g *Group) { g.Left = []types.UID{"m"} }), ReusePlan{Wait: true}},
		"what one of two has left is not seen":    {ofWorkers(left("m", "n")), ReusePlan{Wait: true, LetGo: []string{"r"}}},
		"what a machine has left does not fit":    {ofWorkers(left("m")), ReusePlan{LetGo: []string{"r"}}},
		"one is not at rest":                      {with(of("a", "1", false)), ReusePlan{Wait: true}},
		"one is at rest":                          {with(of("a", "1", true)), ReusePlan{Adopt: "a"}},
		"the slowest is not waited for":           {with(of("a", "1", false), of("b", "1", true), of("c", "1", false)), ReusePlan{Adopt: "b"}},
		"one that is of another rack goes":        {with(of("a", "2", true)), ReusePlan{LetGo: []string{"a"}}},
		"it goes although it is not at rest":      {with(of("a", "2", false), of("b", "1", true)), ReusePlan{Adopt: "b", LetGo: []string{"a"}}},
		"one that goes already is left alone":     {with(gone), ReusePlan{}},
		"the template asks for reuse no more":     {ofWorkers(func(g *Group) { g.Asked, g.Leaving = false, 1 }), ReusePlan{}},
		"the owner goes, and so do its claims":    {ofWorkers(func(g *Group) { g.Going, g.Leaving = true, 1 }), ReusePlan{}},
		"a machine leaves and one is at rest":     {ofWorkers(func(g *Group) { g.Leaving, g.Reserved = 1, []bmov1alpha1.HostClaim{of("a", "1", true)} }), ReusePlan{Adopt: "a"}},
		"one that does not fit is not waited for": {with(of("a", "2", false)), ReusePlan{LetGo: []string{"a"}}},
		"another one leaves while one is let go":  {ofWorkers(func(g *Group) { g.Leaving, g.Reserved = 1, []bmov1alpha1.HostClaim{of("a", "2", true)} }), ReusePlan{Wait: true, LetGo: []string{"a"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { expect.Equal(t, tc.want, nextReserved(tc.group, claimOf("1"))) })
	}
}

// TestNextSpreads lets machines choose at the same time: each reserved claim is the choice of some.
func TestNextSpreads(t *testing.T) {
	g, chosen := ofWorkers(), map[string]int{}
	for i := range 4 {
		g.Reserved = append(g.Reserved, reserved(fmt.Sprint("r-", i), resting, func(c *bmov1alpha1.HostClaim) { c.Spec.HostSelector = ofRack("1") }))
	}
	for i := range 40 {
		claim := claimOf("1")
		claim.Name = fmt.Sprint("m-", i)
		chosen[nextReserved(g, claim).Adopt]++
	}
	for _, r := range g.Reserved {
		if chosen[r.Name] == 0 {
			t.Errorf("no machine chooses %s: %v", r.Name, chosen)
		}
	}
}

// TestNextHolds tries random groups: only a claim that is reserved, stays, fits and is at rest
// is adopted, one that fits is never let go, and a machine waits only for something.
func TestNextHolds(t *testing.T) {
	choices := rand.New(rand.NewPCG(12, 2))
	for range 2000 {
		g := ofWorkers(func(g *Group) {
			g.Asked, g.Going, g.Leaving = choices.IntN(8) > 0, choices.IntN(8) == 0, choices.IntN(2)
		})
		for i := range choices.IntN(5) {
			g.Reserved = append(g.Reserved, reserved(fmt.Sprint(i), func(c *bmov1alpha1.HostClaim) {
				c.Spec.HostSelector, c.Status.PoweredOn = ofRack(fmt.Sprint(choices.IntN(2))), choices.IntN(2) == 0
				if choices.IntN(4) == 0 {
					ending(c)
				}
			}))
		}
		w := claimOf("1")
		p := nextReserved(g, w)
		soon := g.Leaving > 0
		for _, r := range g.Reserved {
			fits := claims.Answers(&r, w)
			soon = soon || (fits && !ends(&r))
			if p.Adopt == r.Name && (!claims.Rests(&r) || ends(&r) || !fits) {
				t.Fatalf("adopts %+v", r)
			}
			if slices.Contains(p.LetGo, r.Name) && (ends(&r) || fits) {
				t.Fatalf("lets %+v go", r)
			}
		}
		if p.Wait && (!soon || p.Adopt != "") {
			t.Fatalf("waits for nothing: %+v", g)
		}
		if (!g.Asked || g.Going) && !cmp.Equal(p, ReusePlan{}) {
			t.Fatalf("%+v although no server is reused", p)
		}
	}
}
