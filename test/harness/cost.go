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

package harness

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Cost is what objects of the namespace have cost the managers of this process, by one of
// their metrics.
func (s Story) Cost(metric, namespace string) float64 {
	s.T.Helper()
	families, err := metrics.Registry.Gather()
	s.OK(err)
	for _, family := range families {
		for _, series := range family.GetMetric() {
			if family.GetName() == metric && series.GetLabel()[0].GetValue() == namespace {
				return series.GetCounter().GetValue()
			}
		}
	}
	return 0
}
