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

// Package report holds the figures of a benchmark with their targets, and prints

package program

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Small plays the smallest size and returns its figures by their names. It is how a
// benchmark is tested: the times of so small a run mean nothing.
func (b Benchmark) Small(t *testing.T) map[string]float64 {
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
	return got
}
