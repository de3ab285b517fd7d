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
	"fmt"
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

// stepOf writes down what a plan asks of the server, what the machine waits for, and what is noted as rebuilt.
func stepOf(p Plan) string {
	c := p.Claim
	steps := []string{fmt.Sprintf("%s %s %q on %t", c.Deployment.Image.URL, c.Deployment.UserData, c.Rebuild, c.PoweredOn)}
	for _, w := range p.waits() {
		if w.Type != infrav1.KubernetesNodeReadyCondition {
			steps = append(steps, strings.TrimPrefix(w.Type+" "+w.Reason, infrav1.HostClaimReadyCondition+" "))
		}
	}
	if p.Rebuilt != "" {
		steps = append(steps, "rebuilt "+p.Rebuilt)
	}
	return strings.Join(steps, ", ")
}

func TestNextRebuild(t *testing.T) {
	const text = "2026-01-31"
	given := func(o *Observed) { o.Claim.PoweredOn, o.Claim.Deployment.UserData = true, "boot-2" }
	noData := func(o *Observed) { o.Bootstrap = noUserData }
	newer := func(o *Observed) { o.Machine.Spec.Image.URL = "http://x/newer" }
	inTemplate := func(o *Observed) { o.Owner.Annotations = map[string]string{infrav1.RebuildAnnotation: text} }
	rebuilt := annotated(infrav1.RebuiltAnnotation, text)
	tests := map[string]struct {
		want    string
		changes []change
	}{
		"is told to the claim with the new image, and with the power": {`http://x/new boot "2026-01-31" on false, Rebuilding`, []change{asked}},
		"takes off first what is noted of the last one": {
			`http://x/i boot "" on true, Rebuilding`, []change{asked, annotated(infrav1.RebuiltAnnotation, "2025-12-31")},
		},
		"does not begin with a Secret that may not be handed out": {
			`http://x/i boot "" on true, InvalidConfiguration`,
			[]change{asked, func(o *Observed) { o.Bootstrap.Reason = infrav1.InvalidConfigurationReason }},
		},
		"waits until the claim has seen it and the server is empty": {`http://x/new boot "2026-01-31" on false, Rebuilding`, []change{asked, told}},
		"tells why the claim does not do it": {
			`http://x/new boot "2026-01-31" on false, ImageRefused`,
			[]change{asked, told, func(o *Observed) { o.Claim.Phase, o.Claim.Reason = claims.Failed, "ImageRefused" }},
		},
		"gives an empty server the bootstrap data of then": {`http://x/new boot-2 "2026-01-31" on true, Rebuilding`, []change{asked, told, empty}},
		"keeps an empty server off until there is bootstrap data": {
			`http://x/new boot "2026-01-31" on false, WaitingForBootstrapData`, []change{asked, told, empty, noData},
		},
		"switches a server on that cannot be switched off and was written at once": {
			`http://x/new boot-2 "2026-01-31" on true, Rebuilding`, []change{asked, told, runsImage},
		},
		"waits while the claim could not tell its server, which runs the same image still": {
			`http://x/new boot "2026-01-31" on false, Rebuilding`, []change{asked, told, runsImage, unsynchronized},
		},
		"is not noted while the claim could not tell its server": {
			`http://x/new boot-2 "2026-01-31" on true`, []change{asked, told, runsImage, unsynchronized, given},
		},
		"does not take an image that changes on the way without being asked again": {
			`http://x/new boot-2 "2026-01-31" on true, Rebuilding`, []change{asked, told, empty, newer},
		},
		"begins anew when it is asked again on the way": {
			`http://x/newer  "again" on false, Rebuilding`, []change{asked, told, empty, annotated(infrav1.RebuildAnnotation, "again"), newer},
		},
		"is being written": {`http://x/new boot-2 "2026-01-31" on true, Provisioning`, []change{asked, told, given}},
		"has ended, and is noted": {
			`http://x/new boot-2 "2026-01-31" on true, rebuilt 2026-01-31`, []change{asked, told, runsImage, given},
		},
		"is not begun again for a text that was noted, although the claim has lost it": {
			`http://x/i boot "" on true, rebuilt 2026-01-31`, []change{asked, rebuilt},
		},
		"is not begun for a server that its tenant switched off after the last one": {
			`http://x/new boot-2 "2026-01-31" on false, PoweredOff, rebuilt 2026-01-31`,
			[]change{asked, told, runsImage, rebuilt, given, func(o *Observed) { o.Claim.PoweredOn = false }},
		},
		"is not begun for a text that no claim takes": {
			`http://x/i boot "" on true, SpecApplied InvalidRebuildAnnotation`, []change{asked, annotated(infrav1.RebuildAnnotation, strings.Repeat("x", 64))},
		},
		"is refused for a member of a control plane": {
			`http://x/i boot "" on true, SpecApplied RebuildRefused`,
			[]change{asked, func(o *Observed) { o.Owner.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""} }},
		},
		"is refused for a text that comes from a template, and that is used up": {
			`http://x/i boot "" on true, SpecApplied RebuildRefused, rebuilt 2026-01-31`, []change{asked, inTemplate},
		},
		"goes on when a template gets the text on the way, and loses it again": {
			`http://x/new boot "2026-01-31" on false, Provisioning`, []change{asked, told, inTemplate},
		},
		"that the tenant asks for by the claim is left alone": {
			`http://x/i boot "" on true`, []change{func(o *Observed) { o.Claim.Rebuild = "by hand" }},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := observe(append([]change{bound, facts, rendered, deployed, runsImage, established}, tc.changes...)...)
			expect.Equal(t, tc.want, stepOf(Next(o)))
		})
	}
	t.Run("is none that the machine has the text of from the beginning", func(t *testing.T) {
		o := observe(bound, facts, rendered, annotated(infrav1.RebuildAnnotation, text))
		expect.Equal(t, `http://x/i boot "2026-01-31" on true, Provisioning`, stepOf(Next(o)))
	})
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

// TestRebuildOfCopies shows that a claim in another cluster keeps the names of its copies,
// which are made of the secrets of then.
func TestRebuildOfCopies(t *testing.T) {
	o := observe(bound, facts, rendered, elsewhere, copied, runsImage, established, asked, told, empty)
	p := Next(o)
	if p.Claim.Deployment.UserData != "c-userdata" || !p.Claim.PoweredOn {
		t.Errorf("claim asks for %+v, powered on %v", p.Claim.Deployment, p.Claim.PoweredOn)
	}
	want := claims.Copies("boot-2", "m-1-metadata", "m-1-networkdata", "")
	expect.Equal(t, want[:], p.Copies)
}
