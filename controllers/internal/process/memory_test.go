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

package process

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestBoundGarbage(t *testing.T) {
	t.Cleanup(func() { debug.SetGCPercent(100) })
	for _, tc := range []struct {
		gogc string
		want int
	}{{"", garbagePercent}, {"150", 150}} {
		t.Setenv("GOGC", tc.gogc) // which is put back in the end
		if tc.gogc == "" {
			if err := os.Unsetenv("GOGC"); err != nil {
				t.Fatal(err)
			}
		}
		debug.SetGCPercent(150)
		BoundGarbage()
		if got := debug.SetGCPercent(150); got != tc.want {
			t.Errorf("with GOGC=%q collection is at %d percent, want %d", tc.gogc, got, tc.want)
		}
	}
}
