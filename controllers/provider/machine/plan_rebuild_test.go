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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

func asked(o *Observed) {
	annotated(infrav1.RebuildAnnotation, "2026-01-31")(o)
	o.Machine.Spec.Image.URL = "http://x/new"
	o.Bootstrap = BootstrapFacts{Secret: "boot-2"}
}

// told is the claim once a rebuild has begun.
func told(o *Observed) {
	o.Claim.Rebuild, o.Claim.PoweredOn, o.Claim.Phase = "2026-01-31", false, claims.Bound
	o.Claim.Deployment.Image = &bmov1alpha1.Image{URL: "http://x/new", Checksum: "abc"}
}

func empty(o *Observed) { o.Claim.Empty, o.Claim.Synchronized = true, true }

func unsynchronized(o *Observed) { o.Claim.Synchronized = false }

// rebuilding is a step of a rebuild as the transcript shows it.
type rebuilding struct {
	url, userData, token string
	poweredOn            bool
	waits, rebuilt       string
}

func stepOf(p Plan) rebuilding {
	s := rebuilding{rebuilt: p.Rebuilt}
	if c := p.Claim; c != nil {
		s.token, s.poweredOn = c.Rebuild, c.PoweredOn
		if d := c.Deployment; d != nil {
			s.url, s.userData = d.Image.URL, d.UserData
		}
	}
	var waits []string
	for _, w := range p.waits() {
		if w.Type != infrav1.KubernetesNodeReadyCondition {
			waits = append(waits, w.Type+" "+w.Reason)
		}
	}
	s.waits = strings.Join(waits, ", ")
	return s
}

func TestNextRebuild(t *testing.T) {
	live := []change{bound, facts, rendered, deployed, runsImage, established}
	const token, rebuilds = "2026-01-31", "HostClaimReady Rebuilding"
	tests := map[string]struct {
		changes []change
		want    rebuilding
	}{
		"is told to the claim with the new image, and with the power": {
			changes: []change{asked},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: rebuilds},
		},
		"takes off first what is noted of the last one": {
			changes: []change{asked, annotated(infrav1.RebuiltAnnotation, "2025-12-31")},
			want:    rebuilding{url: "http://x/i", userData: "boot", poweredOn: true, waits: rebuilds},
		},
		"does not begin with a Secret that may not be handed out": {
			changes: []change{asked, func(o *Observed) { o.Bootstrap.Reason = infrav1.InvalidConfigurationReason }},
			want:    rebuilding{url: "http://x/i", userData: "boot", poweredOn: true, waits: "HostClaimReady InvalidConfiguration"},
		},
		"waits until the claim has seen it and the server is empty": {
			changes: []change{asked, told},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: rebuilds},
		},
		"tells why the claim does not do it": {
			changes: []change{asked, told, func(o *Observed) { o.Claim.Phase, o.Claim.Reason = claims.Failed, "ImageRefused" }},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: "HostClaimReady ImageRefused"},
		},
		"gives an empty server the bootstrap data of then": {
			changes: []change{asked, told, empty},
			want:    rebuilding{url: "http://x/new", userData: "boot-2", token: token, poweredOn: true, waits: rebuilds},
		},
		"keeps an empty server off until there is bootstrap data": {
			changes: []change{asked, told, empty, func(o *Observed) { o.Bootstrap = noUserData }},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: "HostClaimReady WaitingForBootstrapData"},
		},
		"switches a server on that cannot be switched off and was written at once": {
			changes: []change{asked, told, runsImage},
			want:    rebuilding{url: "http://x/new", userData: "boot-2", token: token, poweredOn: true, waits: rebuilds},
		},
		"waits while the claim could not tell its server, which runs the same image still": {
			changes: []change{asked, told, runsImage, unsynchronized},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: rebuilds},
		},
		"is not noted while the claim could not tell its server": {
			changes: []change{asked, told, runsImage, unsynchronized, func(o *Observed) { o.Claim.PoweredOn, o.Claim.Deployment.UserData = true, "boot-2" }},
			want:    rebuilding{url: "http://x/new", userData: "boot-2", token: token, poweredOn: true},
		},
		"does not take an image that changes on the way without being asked again": {
			changes: []change{asked, told, empty, func(o *Observed) { o.Machine.Spec.Image.URL = "http://x/newer" }},
			want:    rebuilding{url: "http://x/new", userData: "boot-2", token: token, poweredOn: true, waits: rebuilds},
		},
		"begins anew when it is asked again on the way": {
			changes: []change{asked, told, empty, annotated(infrav1.RebuildAnnotation, "again"), func(o *Observed) {
				o.Machine.Spec.Image.URL = "http://x/newer"
			}},
			want: rebuilding{url: "http://x/newer", token: "again", waits: rebuilds},
		},
		"is being written": {
			changes: []change{asked, told, func(o *Observed) { o.Claim.PoweredOn, o.Claim.Deployment.UserData = true, "boot-2" }},
			want: rebuilding{
				url: "http://x/new", userData: "boot-2", token: token, poweredOn: true, waits: "HostClaimReady Provisioning",
			},
		},
		"has ended, and is noted": {
			changes: []change{asked, told, runsImage, func(o *Observed) { o.Claim.PoweredOn, o.Claim.Deployment.UserData = true, "boot-2" }},
			want:    rebuilding{url: "http://x/new", userData: "boot-2", token: token, poweredOn: true, rebuilt: token},
		},
		"is not begun again for a text that was noted, although the claim has lost it": {
			changes: []change{asked, annotated(infrav1.RebuiltAnnotation, token)},
			want:    rebuilding{url: "http://x/i", userData: "boot", poweredOn: true, rebuilt: token},
		},
		"is not begun for a server that its tenant switched off after the last one": {
			changes: []change{
				asked, told, runsImage, annotated(infrav1.RebuiltAnnotation, token),
				func(o *Observed) { o.Claim.Deployment.UserData = "boot-2" },
			},
			want: rebuilding{url: "http://x/new", userData: "boot-2", token: token, waits: "HostClaimReady PoweredOff", rebuilt: token},
		},
		"is not begun for a text that no claim takes": {
			changes: []change{asked, annotated(infrav1.RebuildAnnotation, strings.Repeat("x", 64))},
			want: rebuilding{
				url: "http://x/i", userData: "boot", poweredOn: true, waits: "SpecApplied InvalidRebuildAnnotation",
			},
		},
		"is refused for a member of a control plane": {
			changes: []change{asked, func(o *Observed) { o.Owner.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""} }},
			want: rebuilding{
				url: "http://x/i", userData: "boot", poweredOn: true, waits: "SpecApplied RebuildRefused",
			},
		},
		"is refused for a text that comes from a template, and that is used up": {
			changes: []change{asked, func(o *Observed) { o.Owner.Annotations = map[string]string{infrav1.RebuildAnnotation: token} }},
			want: rebuilding{
				url: "http://x/i", userData: "boot", poweredOn: true, waits: "SpecApplied RebuildRefused", rebuilt: token,
			},
		},
		"goes on when a template gets the text on the way, and loses it again": {
			changes: []change{asked, told, func(o *Observed) { o.Owner.Annotations = map[string]string{infrav1.RebuildAnnotation: token} }},
			want:    rebuilding{url: "http://x/new", userData: "boot", token: token, waits: "HostClaimReady Provisioning"},
		},
		"that the tenant asks for by the claim is left alone": {
			changes: []change{func(o *Observed) { o.Claim.Rebuild = "by hand" }},
			want:    rebuilding{url: "http://x/i", userData: "boot", poweredOn: true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := observe(append(live[:len(live):len(live)], tc.changes...)...)
			expect.Equal(t, tc.want, stepOf(Next(o)), cmp.AllowUnexported(rebuilding{}))
		})
	}
}

// TestBeginningARebuildChangesTheSpec shows that the status of the claim from before is not taken for
// that of the rebuild, since it is about another generation: the annotation changes none.
func TestBeginningARebuildChangesTheSpec(t *testing.T) {
	sameImage := func(o *Observed) { o.Machine.Spec.Image.URL = "http://x/i" }
	for name, server := range map[string]change{
		"a server that is on":                       func(*Observed) {},
		"a server that its tenant has switched off": func(o *Observed) { o.Claim.PoweredOn = false },
	} {
		t.Run(name, func(t *testing.T) {
			o := observe(bound, facts, rendered, deployed, runsImage, established, asked, sameImage, server)
			p := Next(o)
			if p.Claim.Rebuild == "" || p.Claim.PoweredOn {
				t.Errorf("the claim asks by %q for a server that is on %t", p.Claim.Rebuild, p.Claim.PoweredOn)
			}
			if p.Claim.PoweredOn == o.Claim.PoweredOn && cmp.Equal(p.Claim.Deployment, o.Claim.Deployment) {
				t.Error("the claim asks its server for the same as before")
			}
		})
	}
}

// TestRebuildSaysWhatIsMissing shows the words for a server that has no bootstrap data.
func TestRebuildSaysWhatIsMissing(t *testing.T) {
	const missing = "Waiting for the bootstrap provider to name the bootstrap data of the Machine"
	for want, server := range map[string]change{
		"The server is empty. " + missing:    empty,
		"The server is on still. " + missing: runsImage,
	} {
		o := observe(bound, facts, rendered, deployed, runsImage, established, asked, told, server,
			func(o *Observed) { o.Bootstrap = noUserData })
		expect.Equal(t, want, Next(o).waits()[0].Message)
	}
}

// TestFirstImageIsNoRebuild shows a machine that has the text from the beginning.
func TestFirstImageIsNoRebuild(t *testing.T) {
	o := observe(bound, facts, rendered, annotated(infrav1.RebuildAnnotation, "1"))
	want := rebuilding{url: "http://x/i", userData: "boot", token: "1", poweredOn: true, waits: "HostClaimReady Provisioning"}
	expect.Equal(t, want, stepOf(Next(o)), cmp.AllowUnexported(rebuilding{}))
}

// TestRebuildOfCopies shows that a claim in another cluster keeps the names of its copies,
// which are made of the secrets of then.
func TestRebuildOfCopies(t *testing.T) {
	o := observe(bound, facts, rendered, elsewhere, copied, runsImage, established, asked, told, empty)
	p := Next(o)
	if p.Claim.Deployment.UserData != "c-userdata" || !p.Claim.PoweredOn {
		t.Errorf("claim asks for %+v, powered on %v", p.Claim.Deployment, p.Claim.PoweredOn)
	}
	want := claims.Copies("boot-2", "m-1-metadata", "m-1-networkdata")
	expect.Equal(t, want[:], p.Copies)
}
