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

package model

// Feature is something that may happen in a schedule. Every schedule has about
// half of them, so that each is also seen without the noise of the others.
type Feature string

// The features.
const (
	Lag            Feature = "caches lag"
	Stall          Feature = "requests stall"
	Conflicts      Feature = "conflicts injected"
	Refusals       Feature = "requests fail"
	LostAnswers    Feature = "answers lost"
	Crashes        Feature = "managers crash"
	TwoLeaders     Feature = "two leaders"
	StatusWiped    Feature = "statuses wiped"
	Stripped       Feature = "finalizers stripped"
	Moved          Feature = "hosts moved with claims"
	Restored       Feature = "hosts restored with claims"
	PolicyEdits    Feature = "policies edited"
	LabelEdits     Feature = "labels edited"
	SelectorEdits  Feature = "selectors edited"
	ClaimsPaused   Feature = "claims paused"
	ClaimsDeleted  Feature = "claims deleted"
	ClaimsRaced    Feature = "finalizers lost to deletions"
	SecretEdits    Feature = "secrets edited"
	HostErrors     Feature = "hosts in error"
	HostsHeld      Feature = "hosts paused, detached or inspected"
	HostsReplaced  Feature = "hosts deleted and added"
	CleaningEdited Feature = "cleaning switched off"
	Reboots        Feature = "reboots asked for"
	Rebuilds       Feature = "rebuilds asked for"
	Reservations   Feature = "claims reserved"
	Forged         Feature = "consumers and traces forged"
	Classed        Feature = "classes come and go"
)

// Features lists all features.
func Features() []Feature {
	return []Feature{
		Lag, Stall, Conflicts, Refusals, LostAnswers, Crashes, TwoLeaders,
		StatusWiped, Stripped, Moved, Restored, PolicyEdits, LabelEdits, SelectorEdits,
		ClaimsPaused, ClaimsDeleted, SecretEdits, HostErrors, HostsHeld, HostsReplaced, CleaningEdited,
		Reboots, Rebuilds, Reservations, Forged, ClaimsRaced, Classed,
	}
}

// drawFeatures chooses what may happen in a schedule. In every second one, passes
// stall while a second manager leads, since that is what protocols break on.
func drawFeatures(c Choices, without []Feature) map[Feature]bool {
	out := map[Feature]bool{}
	for _, f := range Features() {
		out[f] = c.Intn(2) == 0
	}
	if chance(c, 2) {
		out[Stall], out[TwoLeaders] = true, true
	}
	for _, f := range without {
		out[f] = false
	}
	return out
}

// calm leaves out half of the features beside moves, so that more of those come to an end.
func calm(c Choices, features map[Feature]bool) {
	for _, f := range Features() {
		features[f] = features[f] && (f == Moved || chance(c, 2))
	}
}
