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

package inplace

import (
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

func TestEndsHold(t *testing.T) {
	const updating = clusterv1.UpdateInProgressAnnotation
	for name, tc := range map[string]struct {
		change  func(annotations map[string]string)
		awaited string
		want    bool
	}{
		"a server that is empty for the update":              {func(map[string]string) {}, "t-2", true},
		"a server that is empty for the change before":       {func(map[string]string) {}, "t-1", false},
		"an update that has not asked for the server yet":    {func(map[string]string) {}, "", false},
		"an update that was called off":                      {func(a map[string]string) { delete(a, updating) }, "", true},
		"a server that is empty by hand after the update":    {func(a map[string]string) { delete(a, updating) }, "by hand", true},
		"a pause of another":                                 {func(a map[string]string) { a[clusterv1.PausedAnnotation] = "" }, "t-2", false},
		"data that is not held":                              {func(a map[string]string) { delete(a, clusterv1.PausedAnnotation) }, "t-2", false},
		"data that is held for an unknown text, in updating": {func(a map[string]string) { delete(a, infrav1.RebuildAnnotation) }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			config := &bootstrapv1.KubeadmConfig{}
			config.Annotations = map[string]string{
				updating: "", clusterv1.PausedAnnotation: infrav1.UpdatePause, infrav1.RebuildAnnotation: "t-2",
			}
			tc.change(config.Annotations)
			if got := EndsHold(config, tc.awaited); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
