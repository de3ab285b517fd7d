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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/claims"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// Two servers of one name, from two namespaces, must not join as one Node.
func TestNextNamesTheServer(t *testing.T) {
	foreignHost := func(o *Observed) { o.Host.Namespace = "infra" }
	plain := func(o *Observed) { o.Machine.Spec.DataTemplate = nil }
	unnamed := func(o *Observed) { o.Machine.Spec.DataTemplate.Name = "" }
	networkOnly := func(o *Observed) { rendered(o); o.Data.MetaData = "" }
	name := func(n NameFacts) change { return func(o *Observed) { o.Name = n } }
	type naming struct {
		Needs, Writes bool // the secret that names the server
		Claim         *claims.Deployment
		Ready         metav1.Condition
	}
	writes := naming{Needs: true, Writes: true, Ready: waiting("Metal3DataReady", "WaitingForMetal3Data",
		`Waiting for secret "m-1-metadata" to be written, which gives the server the name of its machine`)}
	deploys := func(needs bool, metaData, networkData, reason string) naming {
		d := deployment()
		d.MetaData, d.NetworkData = metaData, networkData
		return naming{Needs: needs, Claim: d, Ready: holding("Metal3DataReady", reason)}
	}
	const mine, theirs = "Metal3DataSecretsReady", "SecretsSetExternally"
	tests := map[string]struct {
		given []change
		want  naming
	}{
		"a server of the machine's own namespace keeps its name":                  {[]change{plain}, deploys(false, "", "", theirs)},
		"a server of another namespace is named before anything is written to it": {[]change{plain, foreignHost, name(NameFacts{})}, writes},
		"so is that of a template without a name":                                 {[]change{unnamed, foreignHost, name(NameFacts{})}, writes},
		"so is that of a template that has no metadata":                           {[]change{networkOnly, foreignHost, name(NameFacts{})}, writes},
		"a secret that is there is used": {
			[]change{plain, foreignHost, name(NameFacts{Exists: true})}, deploys(true, "m-1-metadata", "", mine),
		},
		"a secret that is in the way holds the machine": {
			[]change{plain, foreignHost, name(NameFacts{Reason: "SecretNameTaken", Message: "delete it"})},
			naming{Needs: true, Ready: waiting("Metal3DataReady", "SecretNameTaken", "delete it")},
		},
		"a template with metadata names the server": {[]change{rendered, foreignHost}, deploys(false, "m-1-metadata", "m-1-networkdata", mine)},
		"a template that is not rendered yet may":   {[]change{foreignHost}, naming{Ready: waiting("Metal3DataReady", "WaitingForMetal3Data", `Waiting for the data of Metal3DataTemplate "template" to be rendered`)}},
		"nothing is named while the host is not known": {
			[]change{plain, foreignHost, func(o *Observed) { o.Facts = false }}, naming{},
		},
		"metadata that the machine brings is not touched": {
			[]change{plain, foreignHost, func(o *Observed) { o.Machine.Spec.MetaData = &corev1.SecretReference{Name: "own"} }},
			deploys(false, "own", "", theirs),
		},
		"a server that was told without a name keeps what it has": {
			[]change{plain, foreignHost, deployed, func(o *Observed) { o.Claim.Deployment.MetaData, o.Claim.Deployment.NetworkData = "", "" }},
			deploys(false, "", "", theirs),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := observe(append([]change{bound, facts}, tc.given...)...)
			p := Next(o)
			ready := meta.FindStatusCondition(p.Conditions, "Metal3DataReady")
			expect.Equal(t, tc.want, naming{needsName(o), p.WriteName, p.Claim.Deployment, ptr.Deref(ready, metav1.Condition{})})
		})
	}
}

// TestDataTemplateOfFailureDomain shows which template a machine asks for.
func TestDataTemplateOfFailureDomain(t *testing.T) {
	in := func(domain string) change { return func(o *Observed) { o.Host.FailureDomain = domain } }
	asks := func(domain string) change { return func(o *Observed) { o.Owner.Spec.FailureDomain = domain } }
	listed := func(o *Observed) {
		o.Data.ByDomain = []infrav1.FailureDomainDataTemplate{
			{FailureDomain: "rack-a", DataTemplate: infrav1.Metal3ObjectRef{Name: "of-a"}},
			{FailureDomain: "rack-b", DataTemplate: infrav1.Metal3ObjectRef{Name: "of-b", Namespace: "tenant-a"}},
			{FailureDomain: "rack-c", DataTemplate: infrav1.Metal3ObjectRef{Name: "of-c", Namespace: "tenant-b"}},
		}
	}
	tests := map[string]struct {
		given []change
		want  string
		wait  string
	}{
		"none is listed": {given: []change{in("rack-a"), asks("rack-a")}, want: "template"},
		"the host is where the machine was placed":                  {given: []change{listed, in("rack-a"), asks("rack-a")}, want: "of-a"},
		"the machine was placed nowhere, but its host is somewhere": {given: []change{listed, in("rack-b")}, want: "of-b"},
		"the host is not where the machine preferred":               {given: []change{listed, in("rack-b"), prefers("rack-a")}, want: "of-b"},
		"the host is in a domain that is not listed":                {given: []change{listed, in("rack-d"), prefers("rack-a")}, want: "template"},
		"nothing is published, but the domain was required":         {given: []change{listed, asks("rack-a")}, want: "of-a"},
		"nothing is published, and the spec of the Metal3Machine requires a domain": {
			given: []change{listed, func(o *Observed) { o.Machine.Spec.FailureDomain = "rack-b" }}, want: "of-b",
		},
		"nothing is published, and a domain was preferred": {given: []change{listed, prefers("rack-a")}, want: "template"},
		"nothing is known of domains":                      {given: []change{listed}, want: "template"},
		"a claim keeps its template when the list or the label of the host changes": {
			given: []change{listed, in("rack-a"), func(o *Observed) { o.Data = DataFacts{ClaimExists: true, Template: "of-old", ChosenFor: "rack-b"} }},
			want:  "of-old",
		},
		"a claim keeps its template when the host does not publish its domain any more": {
			given: []change{listed, func(o *Observed) { o.Data.ClaimExists, o.Data.Template = true, "of-a" }}, want: "of-a",
		},
		"a template of another namespace is refused": {
			given: []change{listed, in("rack-c")},
			wait: `dataTemplate.namespace for failure domain "rack-c" in failureDomainDataTemplates of the Metal3MachineTemplate is "tenant-b": ` +
				`only templates of namespace "tenant-a" can be used`,
		},
		"no template is guessed while the list cannot be read": {
			given: []change{in("rack-a"), func(o *Observed) { o.Data.Unlisted = "gone" }},
			wait: `Metal3MachineTemplate "gone" of the machine does not exist, which may list a data template for failure domain "rack-a": ` +
				`make it again, or have the Machine replaced`,
		},
		"a host without domain needs no list": {
			given: []change{func(o *Observed) { o.Data.Unlisted = "gone" }}, want: "template",
		},
		"a machine that uses no template gets none": {
			given: []change{listed, in("rack-a"), func(o *Observed) { o.Machine.Spec.DataTemplate = nil }},
			wait:  "Waiting for the host to be provisioned",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Next(observe(append([]change{bound, facts}, test.given...)...))
			expect.Equal(t, test.want, p.DataTemplate)
			if test.wait == "" {
				test.wait = "Waiting for the data of Metal3DataTemplate \"" + test.want + "\" to be rendered"
			}
			if waits := p.waits(); len(waits) == 0 || waits[0].Message != test.wait {
				t.Errorf("waits are %v, want %q", waits, test.wait)
			}
		})
	}
}

func TestNodeName(t *testing.T) {
	for given, want := range map[string]string{"node-1.example.com": "node-1.example.com", strings.Repeat("n", 300): "", "Not a\nname": ""} {
		expect.Equal(t, want, nodeName(given))
	}
}
