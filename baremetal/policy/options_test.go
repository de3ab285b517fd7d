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

package policy

import (
	"slices"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func TestUnknownOptions(t *testing.T) {
	const none = "is no option of a HostDeployPolicy and has no effect; did you mean "
	all := map[string]string{"example.com/publish-label": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	for _, option := range slices.Concat(expressionOptions[:], flagOptions[:]) {
		all[option] = "true"
	}
	tests := map[string]struct {
		annotations, labels map[string]string
		want                []string
	}{
		"says nothing of options and of the keys of others": {annotations: all, labels: map[string]string{"team": "a"}},
		"names the option that was meant": {
			annotations: map[string]string{"hostclaim.metal3.io/publish-label": ".*"},
			want:        []string{"annotation hostclaim.metal3.io/publish-label " + none + "hostclaim.metal3.io/publish-labels?"},
		},
		"names all of them, sorted": {
			annotations: map[string]string{
				"hostclaim.metal3.io/allow-image-url":  ".*",
				"hostclaim.metal3.io/Publish-Labels":   ".*",
				"hostclaim.metal3.io/allow-customdepl": "true",
			},
			want: []string{
				"annotation hostclaim.metal3.io/Publish-Labels " + none + "hostclaim.metal3.io/publish-labels?",
				"annotation hostclaim.metal3.io/allow-customdepl " + none + "hostclaim.metal3.io/allow-custom-deploy?",
				"annotation hostclaim.metal3.io/allow-image-url " + none + "hostclaim.metal3.io/allowed-image-urls?",
			},
		},
		"knows an option that was written as a label": {
			labels: map[string]string{"hostclaim.metal3.io/allow-skip-cleaning": "true"},
			want: []string{"label hostclaim.metal3.io/allow-skip-cleaning has no effect, since options of a HostDeployPolicy are " +
				"annotations; did you mean annotation hostclaim.metal3.io/allow-skip-cleaning?"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &bmov1alpha1.HostDeployPolicy{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations, Labels: tt.labels}}
			expect.Equal(t, tt.want, UnknownOptions(p))
		})
	}
}
