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

package machines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/provider/claims"
)

// ignored is the wait that tells of fields that nothing acts on.
func ignored(fields string) Wait {
	return Wait{"SpecApplied", "ChangeIgnored", fields + " differs from what the server was given, and nothing acts on that: " +
		"have the Machine replaced, as a changed Metal3MachineTemplate does, or put back what the server was given"}
}

// TestNextTellsOfChangesThatNothingActsOn edits the spec of a machine whose server has its work.
func TestNextTellsOfChangesThatNothingActsOn(t *testing.T) {
	templated := func(o *Observed) { o.Data.Template = "template" }
	chosen := func(o *Observed) {
		o.Claim.Selector = bmov1alpha1.HostSelector{MatchLabels: map[string]string{"rack": "1"}}
		o.Claim.FailureDomain = "row-1"
		o.Machine.Spec.HostSelector = &infrav1.HostSelector{MatchLabels: map[string]string{"rack": "1"}}
		o.Machine.FailureDomain = "row-1"
	}
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"nothing":     {change: func(*Observed) {}},
		"the image":   {change: func(o *Observed) { o.Machine.Spec.Image.URL = "http://x/new" }, want: "spec.image"},
		"no image":    {change: func(o *Observed) { o.Machine.Spec.Image = nil }, want: "spec.image"},
		"pull secret": {change: func(o *Observed) { o.Claim.Deployment.Image.OCIAuthSecretName = ptr.To("pull") }},
		"the method": {
			change: func(o *Observed) { o.Machine.Spec.CustomDeploy = &infrav1.CustomDeploy{Method: "own"} },
			want:   "spec.customDeploy",
		},
		"several": {
			change: func(o *Observed) {
				o.Machine.Spec.Image.URL, o.Machine.Spec.DataTemplate.Name = "http://x/new", "other"
			},
			want: "spec.image, spec.dataTemplate",
		},
		"the template": {change: func(o *Observed) { o.Machine.Spec.DataTemplate = nil }, want: "spec.dataTemplate"},
		"a template that was taken away in time": {
			change: func(o *Observed) { o.Claim.Deployment, o.Machine.Spec.DataTemplate = nil, nil },
		},
		"a template that was changed once there was data": {
			change: func(o *Observed) { o.Claim.Deployment, o.Machine.Spec.DataTemplate.Name = nil, "other" },
			want:   "spec.dataTemplate",
		},
		"a template for the failure domain of the host": {
			change: func(o *Observed) { o.Data.Template, o.Data.ChosenFor = "of-row-1", "row-1" },
		},
		"the selector": {
			change: func(o *Observed) { o.Machine.Spec.HostSelector.MatchLabels = map[string]string{"rack": "2"} },
			want:   "spec.hostSelector",
		},
		"a selector in other words": {
			change: func(o *Observed) {
				o.Machine.Spec.HostSelector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: "gpu", Operator: "Exists"}}
				o.Claim.Selector.MatchExpressions = []bmov1alpha1.HostSelectorRequirement{{Key: "gpu", Operator: selection.Exists, Values: []string{}}}
			},
		},
		"the failure domain": {change: func(o *Observed) { o.Machine.FailureDomain = "row-2" }, want: "spec.failureDomain"},
		"a failure domain that is a preference": {
			change: func(o *Observed) { o.Machine.FailureDomain, o.Machine.SoftFailureDomain = "row-2", true },
		},
		"user data": {
			change: func(o *Observed) { o.Machine.Bootstrap = BootstrapFacts{Secret: "other"} },
			want:   "the user data",
		},
		"user data that is not named any more": {change: func(o *Observed) { o.Machine.Bootstrap = BootstrapFacts{} }},
		"metadata and network data": {
			change: func(o *Observed) {
				o.Machine.Spec.MetaData = &corev1.SecretReference{Name: "meta"}
				o.Machine.Spec.NetworkData = &corev1.SecretReference{Name: "net"}
			},
			want: "spec.metaData, spec.networkData",
		},
		"copies next to a claim in another cluster": {
			change: func(o *Observed) {
				o.Remote = &claims.Remote{Namespace: "b", Origin: "origin"}
				o.Claim.Deployment.UserData, o.Claim.Deployment.MetaData = "copy-userdata", "copy-metadata"
			},
		},
		"a server that is not told yet what to run": {
			change: func(o *Observed) {
				o.Claim.Deployment, o.Data.Ready, o.Machine.Spec.Image.URL = nil, false, "http://x/new"
			},
		},
		"a machine without a server": {
			change: func(o *Observed) { o.Claim.Phase, o.Machine.Spec.Image.URL = claims.Lost, "http://x/new" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(bound, facts, rendered, templated, deployed, running, chosen)
			tc.change(&o)
			var got, want []Wait
			for _, w := range Next(o).Waits {
				if w.Condition == "SpecApplied" {
					got = append(got, w)
				}
			}
			if tc.want != "" {
				want = []Wait{ignored(tc.want)}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}
