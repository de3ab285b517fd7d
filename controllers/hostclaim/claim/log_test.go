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

package claim

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestLogOfAWrittenHost(t *testing.T) {
	told := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Image = &bmov1alpha1.Image{URL: imageURL} }
	on := func(h *bmov1alpha1.BareMetalHost) { h.Spec.Online = true }
	marked := func(h *bmov1alpha1.BareMetalHost) { h.Labels = map[string]string{"a": "b"} }
	tests := map[string]struct {
		before, after *bmov1alpha1.BareMetalHost
		want          []string
	}{
		"an image":         {newHost("infra", on), newHost("infra", on, told), []string{"Wrote image and data to the host"}},
		"image and power":  {newHost("infra"), newHost("infra", on, told), []string{"Wrote image and data to the host", "Changed the power of the host"}},
		"power":            {newHost("infra", told, on), newHost("infra", told), []string{"Changed the power of the host"}},
		"a rebuild":        {newHost("infra", told), newHost("infra"), []string{"Took image and data back to have the host wiped in place"}},
		"marks of our own": {newHost("infra", told), newHost("infra", told, marked), nil},
	}
	line := regexp.MustCompile(`"([^"]*)" BareMetalHost="infra/host-0"`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log := &bytes.Buffer{}
			ctx := ctrl.LoggerInto(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
			logWritten(ctx, tt.before, tt.after)
			var got []string
			for _, found := range line.FindAllStringSubmatch(log.String(), -1) {
				got = append(got, found[1])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, log)
			}
		})
	}
}
