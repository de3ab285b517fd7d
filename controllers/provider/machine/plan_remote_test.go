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

package machine

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var place = claims.Remote{Namespace: "infra-a", Origin: "o-1"}

// elsewhere gives the machine its claim in another cluster.
func elsewhere(o *Observed) {
	o.Remote = &place
	if o.Claim.Name != "" {
		o.Claim.Name = claims.RemoteName("m-1", "o-1")
	}
}

// copied is the deployment by the names of the copies.
func copied(o *Observed) {
	o.Claim.Name = "c"
	o.Claim.Deployment = &claims.Deployment{
		Image:    &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"},
		UserData: "c-userdata", MetaData: "c-metadata", NetworkData: "c-networkdata",
	}
}

// TestNextRemote shows what differs for a claim in another cluster.
func TestNextRemote(t *testing.T) {
	name := claims.RemoteName("m-1", "o-1")
	expect.Equal(t, &claims.Wanted{Name: name, Owner: owner, Remote: &place, ClusterName: "a"}, Next(observe(elsewhere)).Claim)
	image := &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"}
	private := func(o *Observed) {
		o.Machine.Spec.Image = &infrav1.Image{URL: "oci://registry/image"}
		annotated(infrav1.PullSecretAnnotation, "registry")(o)
	}
	pulled := &bmov1alpha1.Image{URL: "oci://registry/image", OCIAuthSecretName: ptr.To(name + "-pullsecret")}
	madeAtHome := func(d claims.Deployment) change {
		return func(o *Observed) { o.Claim.Name, o.Claim.Deployment = "m-1", &d }
	}
	for what, tc := range map[string]struct {
		given                                       []change
		want                                        claims.Deployment
		userData, metaData, networkData, pullSecret string // of which copies are wanted
	}{
		"the claim names the copies, and the machine its own secrets": {
			[]change{elsewhere},
			claims.Deployment{Image: image, UserData: name + "-userdata", MetaData: name + "-metadata", NetworkData: name + "-networkdata"},
			"boot", "m-1-metadata", "m-1-networkdata", "",
		},
		"copies are kept while the server runs": {
			[]change{elsewhere, copied, runsImage, established},
			claims.Deployment{Image: image, UserData: "c-userdata", MetaData: "c-metadata", NetworkData: "c-networkdata"},
			"boot", "m-1-metadata", "m-1-networkdata", "",
		},
		"a claim that was made at home gets copies instead of secrets that move away": {
			[]change{elsewhere, runsImage, established, madeAtHome(claims.Deployment{UserData: "boot", NetworkData: "unknown"}), func(o *Observed) { o.Data.NetworkData = "" }},
			claims.Deployment{UserData: name + "-userdata", NetworkData: "unknown"},
			"boot", "", "", "",
		},
		"a secret that the claim was never given is not copied later": {
			[]change{elsewhere, copied, runsImage, func(o *Observed) {
				o.Claim.Deployment.NetworkData = ""
				o.Machine.Spec.MetaData = &corev1.SecretReference{Name: "own"}
			}}, claims.Deployment{Image: image, UserData: "c-userdata", MetaData: "c-metadata"}, "boot", "own", "", "",
		},
		"a pull secret is copied like the others": {
			[]change{elsewhere, private},
			claims.Deployment{Image: pulled, UserData: name + "-userdata", MetaData: name + "-metadata", NetworkData: name + "-networkdata"},
			"boot", "m-1-metadata", "m-1-networkdata", "registry",
		},
		"also one of a claim that was made at home": {
			[]change{elsewhere, private, runsImage, established, madeAtHome(claims.Deployment{
				Image: &bmov1alpha1.Image{URL: "oci://registry/image", OCIAuthSecretName: ptr.To("registry")},
			})}, claims.Deployment{Image: pulled}, "", "", "", "registry",
		},
	} {
		t.Run(what, func(t *testing.T) {
			p := Next(observe(append([]change{bound, facts, rendered}, tc.given...)...))
			expect.Equal(t, &tc.want, p.Claim.Deployment)
			copies := claims.Copies(tc.userData, tc.metaData, tc.networkData, tc.pullSecret)
			wanted := Secrets{UserData: tc.userData, MetaData: tc.metaData, NetworkData: tc.networkData, PullSecret: tc.pullSecret}
			expect.Equal(t, copies[:], p.Copies)
			expect.Equal(t, wanted, p.Secrets)
		})
	}
}
