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

package lease

import (
	"testing"
)

func TestNext(t *testing.T) {
	tests := map[string]struct {
		given Binding
		want  Step
	}{
		"keeps its host":                                           {Binding{Own: true, Record: Bound}, Keep},
		"keeps a host that the status lost":                        {Binding{Own: true}, Keep},
		"keeps a host that was only intended":                      {Binding{Own: true, Record: Intended}, Keep},
		"keeps a host that came back":                              {Binding{Own: true, Record: Lost}, Keep},
		"releases its host when it goes":                           {Binding{Own: true, Record: Bound, Deleting: true}, Release},
		"releases a host that was only intended":                   {Binding{Own: true, Record: Intended, Deleting: true}, Release},
		"chooses without a look at the API server":                 {Binding{}, Choose},
		"looks for its host there before it takes another":         {Binding{Candidate: true}, ListOwn},
		"looks there before it goes, too":                          {Binding{Deleting: true}, ListOwn},
		"takes a host when nobody names it":                        {Binding{NobodyNamesUs: true, Candidate: true}, Take},
		"keeps its host whatever else it could have":               {Binding{Own: true, Candidate: true}, Keep},
		"never takes a host over an intent":                        {Binding{Record: Intended, NobodyNamesUs: true, Candidate: true}, ReadRecorded},
		"goes when nobody names it":                                {Binding{NobodyNamesUs: true, Deleting: true}, Finish},
		"reads an intended host":                                   {Binding{Record: Intended}, ReadRecorded},
		"reads an intended host before it goes":                    {Binding{Record: Intended, Deleting: true}, ReadRecorded},
		"fences an intended host that names nobody":                {Binding{Record: Intended, Recorded: Idle}, Fence},
		"fences it before it goes, too":                            {Binding{Record: Intended, Recorded: Idle, Deleting: true}, Fence},
		"never chooses over an intent, whatever a list says":       {Binding{Record: Intended, NobodyNamesUs: true}, ReadRecorded},
		"drops a fenced intent":                                    {Binding{Record: Intended, Recorded: Fenced}, DropIntent},
		"drops an intent whose host is gone":                       {Binding{Record: Intended, Recorded: Gone}, DropIntent},
		"drops an intent whose host has another consumer":          {Binding{Record: Intended, Recorded: Taken}, DropIntent},
		"reads a bound host that the cache does not show":          {Binding{Record: Bound}, ReadRecorded},
		"reports a bound host that is gone":                        {Binding{Record: Bound, Recorded: Gone}, ReportLost},
		"reports a bound host that names nobody":                   {Binding{Record: Bound, Recorded: Idle}, ReportLost},
		"reports a bound host that names somebody else":            {Binding{Record: Bound, Recorded: Taken}, ReportLost},
		"never replaces a lost host":                               {Binding{Record: Lost, NobodyNamesUs: true}, ReportLost},
		"makes sure of a lost host before it goes":                 {Binding{Record: Lost, Deleting: true}, ReadRecorded},
		"makes sure that no other host names it before it goes":    {Binding{Record: Lost, Recorded: Gone, Deleting: true}, ListOwn},
		"goes when its host is gone and nobody else names it":      {Binding{Record: Bound, Recorded: Gone, NobodyNamesUs: true, Deleting: true}, Finish},
		"goes when its host names nobody and nobody else names it": {Binding{Record: Bound, Recorded: Idle, NobodyNamesUs: true, Deleting: true}, Finish},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Next(tt.given); got != tt.want {
				t.Errorf("Next(%+v) = %s, want %s", tt.given, got, tt.want)
			}
		})
	}
}

// TestNextSettles walks from every start, with every answer that a read may
// give, and wants an end within few steps, and never Choose, Take or Finish while
// an intent is alive or a host names the claim.
func TestNextSettles(t *testing.T) {
	const enough = 6
	for _, deleting := range []bool{false, true} {
		for _, own := range []bool{false, true} {
			for _, candidate := range []bool{false, true} {
				for _, record := range []Record{Unrecorded, Intended, Bound, Lost} {
					for _, sight := range []Sight{Gone, Taken, Idle} {
						b := Binding{Deleting: deleting, Own: own, Candidate: candidate, Record: record}
						if !settles(t, b, sight, enough) {
							t.Errorf("%+v, sight %d does not settle", b, sight)
						}
					}
				}
			}
		}
	}
}

// settles walks from b until a step ends the pass.
func settles(t *testing.T, b Binding, sight Sight, enough int) bool {
	t.Helper()
	for range enough {
		step := Next(b)
		if ended(t, b, step) {
			return true
		}
		b = after(b, step, sight)
	}
	return false
}

// ended says whether a step ends a pass, and checks that it may.
func ended(t *testing.T, b Binding, step Step) bool {
	t.Helper()
	switch step {
	case Choose, Take, Finish:
		if b.Own || b.Record == Intended || (step != Choose && !b.NobodyNamesUs) {
			t.Errorf("%s although %+v", step, b)
		}
		return true
	case Keep, Release, ReportLost:
		return true
	default:
		return false
	}
}

// after adds the fact that a step brings.
func after(b Binding, step Step, sight Sight) Binding {
	switch step {
	case ReadRecorded:
		b.Recorded = sight
	case Fence:
		b.Recorded = Fenced
	case DropIntent:
		b.Record, b.Recorded = Unrecorded, Unread
	case ListOwn:
		b.NobodyNamesUs = true
	default:
	}
	return b
}
