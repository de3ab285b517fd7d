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
	"slices"
	"testing"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestNext(t *testing.T) {
	tests := map[string]struct {
		given Binding
		want  Step
	}{
		"keeps its host":                                                   {Binding{Own: true, Record: Bound}, Keep},
		"keeps a host that the status lost":                                {Binding{Own: true}, Keep},
		"keeps a host that was only intended":                              {Binding{Own: true, Record: Intended}, Keep},
		"keeps a host that came back":                                      {Binding{Own: true, Record: Lost}, Keep},
		"releases its host when it goes":                                   {Binding{Own: true, Record: Bound, Deleting: true}, Release},
		"releases a host that was only intended":                           {Binding{Own: true, Record: Intended, Deleting: true}, Release},
		"chooses without a look at the API server":                         {Binding{}, Choose},
		"looks for its host there before it takes another":                 {Binding{Candidate: true}, ListOwn},
		"looks there before it goes, too":                                  {Binding{Deleting: true}, ListOwn},
		"looks for its host when its status was lost":                      {Binding{Record: Blank}, ListOwn},
		"fences the host of an intent annotation when its status was lost": {Binding{Record: Blank, Unresolved: true, NoHostNamesIt: true}, FenceUnresolved},
		"fences it when its status is older than that":                     {Binding{Unresolved: true}, FenceUnresolved},
		"fences it before it minds another intent":                         {Binding{Record: Intended, Unresolved: true}, FenceUnresolved},
		"fences it though another host names the claim":                    {Binding{Record: Blank, Unresolved: true, Own: true}, FenceUnresolved},
		"fences it before it releases that one":                            {Binding{Record: Blank, Unresolved: true, Own: true, Deleting: true}, FenceUnresolved},
		"chooses when its status was lost and no host names it":            {Binding{Record: Blank, NoHostNamesIt: true}, Choose},
		"takes a host when no host names it":                               {Binding{NoHostNamesIt: true, Candidate: true}, Take},
		"looks for no host while it is reserved":                           {Binding{Reserved: true}, Rest},
		"keeps its host while it is reserved":                              {Binding{Reserved: true, Own: true, Record: Bound}, Keep},
		"kills an intent before it rests":                                  {Binding{Reserved: true, Record: Intended}, ReadRecorded},
		"gets the host back that was moved with it all the same":           {Binding{Reserved: true, Moved: true}, Choose},
		"looks for its host before a reservation goes":                     {Binding{Reserved: true, Deleting: true}, ListOwn},
		"keeps its host whatever else it could have":                       {Binding{Own: true, Candidate: true}, Keep},
		"never takes a host over an intent":                                {Binding{Record: Intended, NoHostNamesIt: true, Candidate: true}, ReadRecorded},
		"goes when no host names it":                                       {Binding{NoHostNamesIt: true, Deleting: true}, Finish},
		"reads an intended host":                                           {Binding{Record: Intended}, ReadRecorded},
		"reads an intended host before it goes":                            {Binding{Record: Intended, Deleting: true}, ReadRecorded},
		"fences an intended host that names no claim":                      {Binding{Record: Intended, Recorded: Idle}, Fence},
		"fences it before it goes, too":                                    {Binding{Record: Intended, Recorded: Idle, Deleting: true}, Fence},
		"never chooses over an intent, whatever a list says":               {Binding{Record: Intended, NoHostNamesIt: true}, ReadRecorded},
		"drops a fenced intent":                                            {Binding{Record: Intended, Recorded: Fenced}, DropIntent},
		"drops an intent whose host is gone":                               {Binding{Record: Intended, Recorded: Gone}, DropIntent},
		"drops an intent whose host has another consumer":                  {Binding{Record: Intended, Recorded: Taken}, DropIntent},
		"reads a bound host that the cache does not show":                  {Binding{Record: Bound}, ReadRecorded},
		"reports a bound host that is gone":                                {Binding{Record: Bound, Recorded: Gone}, ReportLost},
		"reports a bound host that names no claim":                         {Binding{Record: Bound, Recorded: Idle}, ReportLost},
		"reports a bound host that names another claim":                    {Binding{Record: Bound, Recorded: Taken}, ReportLost},
		"never replaces a lost host":                                       {Binding{Record: Lost, NoHostNamesIt: true}, ReportLost},
		"makes sure of a lost host before it goes":                         {Binding{Record: Lost, Deleting: true}, ReadRecorded},
		"makes sure that no other host names it before it goes":            {Binding{Record: Lost, Recorded: Gone, Deleting: true}, ListOwn},
		"goes when its host is gone and no other names it":                 {Binding{Record: Bound, Recorded: Gone, NoHostNamesIt: true, Deleting: true}, Finish},
		"chooses when a host was moved with it":                            {Binding{Record: Lost, Moved: true}, Choose},
		"reads its host before it believes in a move":                      {Binding{Record: Bound, Moved: true}, ReadRecorded},
		"chooses when the host of its status is not the moved one":         {Binding{Record: Bound, Recorded: Gone, Moved: true}, Choose},
		"looks for its host there before it takes a moved one":             {Binding{Record: Lost, Moved: true, Candidate: true}, ListOwn},
		"kills an intent before it takes a moved host":                     {Binding{Record: Intended, Recorded: Idle, Moved: true}, Fence},
		"goes without the host that was moved with it":                     {Binding{Moved: true, NoHostNamesIt: true, Deleting: true}, Finish},
		"goes when its host names no claim and no other names it":          {Binding{Record: Bound, Recorded: Idle, NoHostNamesIt: true, Deleting: true}, Finish},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Next(tt.given)
			expect.That(t, got == tt.want, "Next(%+v) = %s, want %s", tt.given, got, tt.want)
		})
	}
}

// TestNextSettles walks from every start, with every answer that a look at the
// API server may give, and wants an end within MaxSteps, and no end that the facts
// do not bear out.
func TestNextSettles(t *testing.T) {
	starts := 0
	for _, deleting := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			for _, candidate := range []bool{false, true} {
				for _, moved := range []bool{false, true} {
					for _, record := range []Record{Unrecorded, Blank, Intended, Bound, Lost} {
						starts += 4
						b := Binding{Deleting: deleting, Own: own, Candidate: candidate, Moved: moved, Record: record}
						settle(t, nil, b)
						b.Reserved = true
						settle(t, nil, b)
						b.Unresolved = true
						settle(t, nil, b)
						b.Reserved = false
						settle(t, nil, b)
					}
				}
			}
		}
	}
	expect.Equal(t, 320, starts)
}

// settle walks on from b with every answer, until a step ends the pass.
func settle(t *testing.T, way []Step, b Binding) {
	t.Helper()
	step := Next(b)
	way = append(slices.Clip(way), step)
	if len(way) > MaxSteps {
		t.Errorf("%v does not end", way)
		return
	}
	next := answers(b, step)
	expect.That(t, len(next) != 0 || borneOut(b, step), "%v ends although %+v", way, b)
	for _, b := range next {
		settle(t, way, b)
	}
}

// borneOut reports whether a pass may end with the step.
func borneOut(b Binding, step Step) bool {
	known := b.Record != Blank || b.NoHostNamesIt
	sure := !b.Own && b.NoHostNamesIt && b.Record != Intended
	if b.Unresolved {
		return false // a writer may bind another host
	}
	switch step {
	case Keep:
		return b.Own && !b.Deleting
	case Release:
		return b.Own && b.Deleting
	case ReportLost:
		return !b.Own && !b.Deleting && (b.Record == Bound || b.Record == Lost)
	case Choose:
		return known && !b.Own && !b.Deleting && !b.Candidate && b.Record != Intended && (!b.Reserved || b.Moved)
	case Rest:
		return known && !b.Own && !b.Deleting && (b.Record == Unrecorded || b.Record == Blank) && b.Reserved && !b.Moved
	case Take:
		return sure && !b.Deleting && b.Candidate && (!b.Reserved || b.Moved)
	case Finish:
		return sure && b.Deleting
	default:
		return false
	}
}

// answers are all that a step may find out; none for a step that ends a pass.
func answers(b Binding, step Step) []Binding {
	var out []Binding
	add := func(edit func(*Binding)) {
		next := b
		edit(&next)
		out = append(out, next)
	}
	switch step {
	case ReadRecorded:
		add(func(n *Binding) { n.Own = true })
		for _, recorded := range []RecordedHost{Gone, Taken, Idle, Fenced} {
			add(func(n *Binding) { n.Recorded = recorded })
		}
	case ListOwn:
		for _, own := range []bool{false, true} {
			add(func(n *Binding) { n.Own, n.NoHostNamesIt = own, !own })
		}
	case FenceUnresolved:
		for _, own := range []bool{b.Own, true} {
			add(func(n *Binding) { n.Own, n.Unresolved = own, false })
		}
	case Fence:
		add(func(n *Binding) { n.Recorded = Fenced })
	case DropIntent:
		for _, record := range []Record{Unrecorded, Bound, Lost} {
			add(func(n *Binding) { n.Record = record })
		}
	default:
	}
	return out
}
