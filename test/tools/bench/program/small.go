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

package program

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Small tests a benchmark by its smallest size, whose times mean nothing. Figures are
// named that must be more than zero, that must exist, and that must have a value.
func (b Benchmark) Small(t *testing.T, positive, present []string, exact map[string]float64) {
	t.Helper()
	ctrl.SetLogger(klog.Background())
	figures, err := b.Do(t.Context(), Options{Size: "small"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, figure := range figures.Figures {
		got[strings.TrimSpace(figure.Name)] = figure.Value
	}
	for _, name := range positive {
		if got[name] <= 0 {
			t.Errorf("no figure for %q", name)
		}
	}
	for _, name := range present {
		if _, found := got[name]; !found {
			t.Errorf("no figure for %q", name)
		}
	}
	for name, want := range exact {
		if value, found := got[name]; !found || value != want {
			t.Errorf("%s: %v, want %v", name, value, want)
		}
	}
}
