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
	"flag"
	"fmt"
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/nodes"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestLife plays the life of a machine: the other controllers do their parts one at a time, and
// after each step the machine's plan is written down. Compare the transcript when a rule
// changes; it shows the order of things at a glance.
func TestLife(t *testing.T) {
	for name, steps := range map[string][]step{"life": life(), "reuse": replacement(), "domains": placement()} {
		t.Run(name, func(t *testing.T) { transcribe(t, "testdata/"+name+".golden", steps) })
	}
}

func transcribe(t *testing.T, file string, steps []step) {
	t.Helper()
	var out strings.Builder
	o := observe(infrastructure(false), func(o *Observed) { o.Bootstrap = noUserData })
	for _, step := range steps {
		fmt.Fprintf(&out, "%s\n", step.what)
		step.change(&o)
		if step.deleted {
			writeRelease(&out, &o)
		} else {
			write(&out, &o)
		}
	}
	expect.Golden(t, file, out.String(), *update)
}

type step struct {
	what    string
	deleted bool
	change  change
}

func life() []step {
	says := func(message string) change { return func(o *Observed) { o.Claim.Message = message } }
	return []step{
		{what: "a Machine is created", change: func(*Observed) {}},
		{what: "the Cluster's infrastructure is provisioned", change: infrastructure(true)},
		{what: "the bootstrap provider names a secret", change: func(o *Observed) {
			o.Bootstrap = BootstrapFacts{
				Secret: "boot", Reason: "BootstrapSecretNotFound",
				Message: `Secret "boot" with the user data does not exist in namespace "tenant-a": create it, or name another one`,
			}
		}},
		{what: "the secret is written", change: func(o *Observed) { o.Bootstrap.Reason, o.Bootstrap.Message = "", "" }},
		{what: "all hosts are in use", change: func(o *Observed) { o.Claim.Phase = claims.Unbound; says("8 hosts seen: 8 in use")(o) }},
		{what: "host-1 is freed and chosen", change: func(o *Observed) { o.Claim.Binding = true; says("binding")(o) }},
		{what: "it is bound", change: func(o *Observed) {
			o.Claim.Binding = false
			o.Claim.Phase, o.Claim.HostNamespace, o.Claim.HostName = claims.Bound, "infra", "host-1"
			says("")(o)
		}},
		{what: "its facts are published", change: facts},
		{what: "the pool of the data is exhausted", change: func(o *Observed) {
			o.Data = DataFacts{ClaimExists: true, ClaimHeld: true, Reason: "AddressUnavailable", Message: `IPPool "pool" gives no address`}
		}},
		{what: "the data is rendered", change: rendered},
		{what: "the image is being written", change: says("Writing the image")},
		{what: "the host runs the image", change: func(o *Observed) { o.Claim.Phase = claims.Provisioned; says("")(o) }},
		{what: "the workload cluster can be reached", change: func(o *Observed) { o.Node.Kind = nodes.None }},
		{what: "the Node registers with the UID of its host", change: func(o *Observed) {
			o.Node = nodes.Result{Kind: nodes.ByHostUID, Node: nodes.Node{Name: "n", HostUID: "host-uid"}}
		}},
		{what: "the Node has its provider ID", change: func(o *Observed) {
			o.Node.Kind, o.Node.Node.ProviderID = nodes.ByProviderID, id
		}},
		{what: "the Machine is deleted", deleted: true, change: func(*Observed) {}},
		{what: "the host is being wiped", deleted: true, change: func(o *Observed) { o.Claim.Deleting = true; says("Cleaning")(o) }},
		{what: "the host is back in the pool", deleted: true, change: func(o *Observed) { o.Claim = claims.State{} }},
		{what: "the data is released", deleted: true, change: func(o *Observed) { o.Data.ClaimHeld = false }},
	}
}

// placement follows a machine whose server stands in another failure domain than it preferred, until
// its data is rendered.
func placement() []step {
	listed := func(templates ...string) change {
		return func(o *Observed) {
			o.Data.ByDomain = nil
			for i, domain := range []string{"rack-a", "rack-b"} {
				o.Data.ByDomain = append(o.Data.ByDomain, infrav1.FailureDomainDataTemplate{
					FailureDomain: domain, DataTemplate: infrav1.Metal3ObjectRef{Name: templates[i]},
				})
			}
		}
	}
	return []step{
		{what: "a Machine that prefers rack-a is created, with user data", change: func(o *Observed) {
			infrastructure(true)(o)
			o.Bootstrap = BootstrapFacts{Secret: "boot"}
			prefers("rack-a")(o)
		}},
		{what: "a host is chosen, and both racks have templates", change: func(o *Observed) {
			o.Claim.Phase, o.Claim.Binding = claims.Unbound, true
			listed("of-a", "of-b")(o)
		}},
		{what: "the list is not there", change: func(o *Observed) { o.Data = DataFacts{Unlisted: "gone"} }},
		{what: "host-1 of rack-b is bound", change: func(o *Observed) {
			bound(o)
			o.Data, o.Host.FailureDomain = DataFacts{}, "rack-b"
		}},
		{what: "its facts are published, and both racks have templates", change: func(o *Observed) { facts(o); listed("of-a", "of-b")(o) }},
		{what: "the claim for data is made, and then the list and the label of the host change", change: func(o *Observed) {
			o.Data = DataFacts{ClaimExists: true, ClaimHeld: true, Template: "of-b", ChosenFor: "rack-b"}
			listed("new-a", "new-b")(o)
			o.Host.FailureDomain = "rack-a"
		}},
		{what: "the data is rendered", change: func(o *Observed) {
			rendered(o)
			o.Data.Template, o.Data.ChosenFor = "of-b", "rack-b"
		}},
		{what: "the host runs the image", change: func(o *Observed) { o.Claim.Phase = claims.Provisioned }},
	}
}

// replacement follows one machine that takes the host of another over, and then leaves it to the
// next.
func replacement() []step {
	left := func(changes ...func(*bmov1alpha1.HostClaim)) change {
		return func(o *Observed) {
			o.Group.Reserved, o.Group.Leaving = []bmov1alpha1.HostClaim{reserved("claim-of-m-0", changes...)}, 0
		}
	}
	return []step{
		{what: "a Machine is created with user data, while another one of its group leaves", change: func(o *Observed) {
			infrastructure(true)(o)
			o.Bootstrap = BootstrapFacts{Secret: "boot"}
			o.Group = Group{Asked: true, Desired: 1, Leaving: 1}
		}},
		{what: "the other one has reserved its claim", change: left()},
		{what: "its host is at rest", change: left(resting)},
		{what: "the claim is adopted", change: func(o *Observed) {
			o.Group.Reserved = nil
			o.Claim = claims.State{Phase: claims.Bound, Name: "claim-of-m-0", HostNamespace: "infra", HostName: "host-1"}
		}},
		{what: "the facts are there still, and the data is rendered", change: func(o *Observed) { facts(o); rendered(o) }},
		{what: "the host runs the image", change: func(o *Observed) { o.Claim.Phase = claims.Provisioned }},
		{what: "the Machine is deleted, and the group misses it", deleted: true, change: func(*Observed) {}},
		{what: "the claim is reserved and its host deprovisioned", deleted: true, change: func(o *Observed) {
			o.Claim, o.Left = claims.State{}, ptr.To(reserved("claim-of-m-0"))
		}},
		{what: "the host is at rest", deleted: true, change: func(o *Observed) { resting(o.Left) }},
		{what: "another machine has adopted the claim", deleted: true, change: func(o *Observed) { o.Left, o.Data.ClaimHeld = nil, false }},
	}
}

// write notes the plan, and carries it out as far as the machine's own objects go.
func write(out *strings.Builder, o *Observed) {
	p := Next(*o)
	if p.Reuse.Adopt != "" {
		fmt.Fprintf(out, "    adopt claim %s\n", p.Reuse.Adopt)
	}
	if c := p.Claim; c != nil {
		if o.Claim.Name == "" || (o.Claim.Deployment == nil) != (c.Deployment == nil) {
			fmt.Fprintf(out, "    apply claim %s, image %v, powered on %v\n", c.Name, c.Deployment != nil, c.PoweredOn)
		}
		o.Claim.Name, o.Claim.Deployment, o.Claim.PoweredOn = c.Name, c.Deployment, c.PoweredOn
	}
	if p.DataTemplate != "" && !o.Data.ClaimExists {
		fmt.Fprintf(out, "    ask for data of %s\n", p.DataTemplate)
	}
	if p.ProviderID != o.Machine.Spec.ProviderID {
		fmt.Fprintf(out, "    set provider ID %s\n", p.ProviderID)
	}
	if p.Provisioned != provisioned(o.Machine) {
		fmt.Fprintf(out, "    report provisioned\n")
	}
	if n := p.NodePatch; n != nil {
		fmt.Fprintf(out, "    patch Node %s: provider ID %q, host UID %q\n", n.Node, n.ProviderID, n.HostUID)
	}
	o.Machine.Spec.ProviderID, o.Machine.Status.Initialization.Provisioned = p.ProviderID, &p.Provisioned
	writeWaits(out, p.waits())
}

func writeRelease(out *strings.Builder, o *Observed) {
	p := Release(*o)
	if p.DeleteClaim {
		fmt.Fprintln(out, "    delete the claim")
	}
	if p.ReserveClaim {
		fmt.Fprintln(out, "    reserve the claim")
	}
	if p.ReleaseData {
		fmt.Fprintln(out, "    release the data")
	}
	if p.Done {
		fmt.Fprintln(out, "    drop the finalizer")
	}
	writeWaits(out, p.Waits)
}

func writeWaits(out *strings.Builder, waits []metav1.Condition) {
	for _, w := range waits {
		fmt.Fprintf(out, "    waits: %s %s: %s\n", w.Type, w.Reason, w.Message)
	}
}
