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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	t.Run("the claim is named after the origin", func(t *testing.T) {
		want := &claims.Wanted{Name: name, Owner: owner, Remote: &place, ClusterName: "a"}
		expect.Equal(t, want, Next(observe(elsewhere)).Claim)
	})
	t.Run("the claim names the copies, and the machine its own secrets", func(t *testing.T) {
		p := Next(observe(bound, facts, rendered, elsewhere))
		want := &claims.Deployment{
			Image:    &bmov1alpha1.Image{URL: "http://x/i", Checksum: "abc"},
			UserData: name + "-userdata", MetaData: name + "-metadata", NetworkData: name + "-networkdata",
		}
		expect.Equal(t, want, p.Claim.Deployment)
		all := claims.Copies("boot", "m-1-metadata", "m-1-networkdata")
		expect.Equal(t, all[:], p.Copies)
		expect.Equal(t, secrets, p.Secrets)
	})
	t.Run("copies are kept while the server runs", func(t *testing.T) {
		p := Next(observe(bound, facts, rendered, elsewhere, copied, runsImage, established))
		all := claims.Copies("boot", "m-1-metadata", "m-1-networkdata")
		expect.Equal(t, all[:], p.Copies)
		expect.Equal(t, "c-userdata", p.Claim.Deployment.UserData)
	})
	t.Run("a claim that was made at home gets copies instead of secrets that move away", func(t *testing.T) {
		p := Next(observe(bound, facts, rendered, elsewhere, runsImage, established, func(o *Observed) {
			o.Claim.Name = "m-1"
			o.Claim.Deployment = &claims.Deployment{UserData: "boot", NetworkData: "unknown"}
			o.Data.NetworkData = ""
		}))
		expect.Equal(t, &claims.Deployment{UserData: name + "-userdata", NetworkData: "unknown"}, p.Claim.Deployment)
	})
	t.Run("a secret that the claim was never given is not copied later", func(t *testing.T) {
		p := Next(observe(bound, facts, rendered, elsewhere, copied, runsImage, func(o *Observed) {
			o.Claim.Deployment.NetworkData = ""
			o.Machine.Spec.MetaData = &corev1.SecretReference{Name: "own"}
		}))
		all := claims.Copies("boot", "own", "")
		expect.Equal(t, all[:], p.Copies)
	})
	t.Run("a pull secret is copied like the others", func(t *testing.T) {
		private := func(o *Observed) {
			o.Machine.Spec.Image = &infrav1.Image{URL: "oci://registry/image"}
			annotated(infrav1.PullSecretAnnotation, "registry")(o)
		}
		p := Next(observe(bound, facts, rendered, elsewhere, private))
		if got := claims.PullSecretOf(p.Claim.Deployment.Image); got != name+"-pullsecret" {
			t.Errorf("the image names pull secret %q", got)
		}
		if got := p.Copies[len(p.Copies)-1]; got != claims.PullSecretCopy("registry") {
			t.Errorf("the last copy is %v", got)
		}
		// Made in the management cluster, and moved: the Secret of the machine is gone from
		// there.
		p = Next(observe(bound, facts, rendered, elsewhere, private, runsImage, established, func(o *Observed) {
			o.Claim.Name = "m-1"
			o.Claim.Deployment = &claims.Deployment{Image: &bmov1alpha1.Image{URL: "oci://registry/image", OCIAuthSecretName: ptr.To("registry")}}
		}))
		if got := claims.PullSecretOf(p.Claim.Deployment.Image); got != name+"-pullsecret" {
			t.Errorf("after the move the image names pull secret %q", got)
		}
	})
	t.Run("at home nothing is copied", func(t *testing.T) {
		if p := Next(observe(bound, facts, rendered)); p.Copies != nil {
			t.Errorf("copies are %v", p.Copies)
		}
	})
	t.Run("a claim that a copy of the machine has is not made again", func(t *testing.T) {
		p := Next(observe(elsewhere, established, func(o *Observed) { o.TakenOver = true }))
		if waits := p.waits(); p.Claim != nil || len(waits) != 1 || waits[0].Reason != "HostClaimTakenOver" {
			t.Errorf("plan is %+v", p)
		}
	})
	t.Run("a name that is taken is the one that was wanted", func(t *testing.T) {
		p := Next(observe(elsewhere, func(o *Observed) { o.NameTaken = true }))
		want := []metav1.Condition{waiting(
			"AssociateBareMetalHost", "HostClaimNameTaken",
			"HostClaim \""+name+"\" belongs to something else: delete it, or give the Machine another name",
		)}
		expect.Equal(t, want, p.waits())
	})
}
