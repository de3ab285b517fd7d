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

package guest

import "testing"

func TestNext(t *testing.T) {
	on, powerless, empty := observed{deployment: "d", poweredOn: true}, observed{deployment: "d"}, observed{poweredOn: true}
	hanging := observed{deployment: "d", poweredOn: true, hangs: true}
	tests := map[string]struct {
		given      observed
		deployment string
		phase      phase
		want       step
	}{
		"does nothing on a host without operating system":         {empty, "", absent, nothing},
		"reads the drive of a new deployment":                     {on, "", absent, install},
		"reads the drive even before the host has power":          {powerless, "", absent, install},
		"boots what is installed":                                 {on, "d", installed, boot},
		"waits for power before it boots":                         {powerless, "d", installed, nothing},
		"leaves a running machine alone":                          {on, "d", running, nothing},
		"stops a machine without power":                           {powerless, "d", running, powerOff},
		"starts a machine that has power again":                   {on, "d", off, powerOn},
		"leaves a machine without power off":                      {powerless, "d", off, nothing},
		"never boots a dead machine again":                        {on, "d", dead, nothing},
		"hangs a running machine":                                 {hanging, "d", running, hang},
		"leaves a machine hanging although it need not any more":  {on, "d", hung, nothing},
		"stops a hanging machine without power":                   {powerless, "d", hung, powerOff},
		"lets a machine hang at its next boot too":                {hanging, "d", off, nothing},
		"wipes a hanging machine whose host is deprovisioned":     {empty, "d", hung, wipe},
		"wipes a machine whose host is deprovisioned":             {empty, "d", running, wipe},
		"wipes a dead machine whose host is deprovisioned":        {empty, "d", dead, wipe},
		"wipes what was there before a new deployment, dead even": {on, "before", dead, wipe},
		"wipes a machine that was off when it was redeployed":     {powerless, "before", off, wipe},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := next(tc.given, tc.deployment, tc.phase); got != tc.want {
				t.Errorf("next() = %v, want %v", got, tc.want)
			}
		})
	}
}
