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
	"flag"
	"fmt"
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestUpdate plays an update: after each event the steps that can be taken are taken, and
// written down.
func TestUpdate(t *testing.T) {
	o := updateFacts{Updating: true, Token: "t-2", Data: dataFacts{Supported: true, Made: true, Named: true}}
	var out strings.Builder
	for _, event := range []struct {
		what   string
		change func()
	}{
		{"Cluster API calls for the first time", func() {}},
		{"a cache that is behind writes the name of the data once more", func() { o.Data.Named = true }},
		{"the machine controller has the server wiped", func() {
			o.Message = "The server is wiped, to be written anew"
		}},
		{"the server is empty", func() { o.Message = "The server is empty" }},
		{"the machine controller ends the hold", func() { o.Data.Held = false }},
		{"the bootstrap provider has made new data", func() { o.Data.Made, o.Data.Named = true, true }},
		{"the image is written", func() { o.Message = "Writing the image" }},
		{"the server runs", func() { o.Message, o.Rebuilt = "", "t-2" }},
		{"the machine controller takes the mark off", func() { o.Marked = false }},
		{"the next change", func() { o.Token = "t-3" }},
		{"the image is refused", func() {
			o.Rebuilt, o.Message = "", "No policy permits http://x/3"
		}},
		{"the change is taken back to the one before", func() { o.Token = "t-2" }},
		{"the server is empty after all, and runs the former image", func() {
			o.Message, o.Rebuilt = "", "t-2"
		}},
		{"a change comes while the server is empty for the one before", func() {
			o.Token, o.Message = "t-4", "The server is empty"
		}},
		{"the server is empty for it, too", func() {}},
		{"a change meets a KubeadmConfig that another has paused", func() { o.Token, o.Data.Paused = "t-5", true }},
		{"its Machine is one of a control plane", func() { o.ControlPlane = true }},
	} {
		event.change()
		o.Asked = false
		fmt.Fprintln(&out, event.what)
		for range 8 {
			p := nextPlan(o)
			fmt.Fprintf(&out, "    %s: %s\n", p.Step, p.Message)
			if take(&o, p.Step) {
				break
			}
		}
	}
	expect.Golden(t, "testdata/update.golden", out.String(), *update)
}

// take carries a step out; rests is true if there was none.
func take(o *updateFacts, step updateStep) (rests bool) {
	switch step {
	case stepMark:
		o.Marked = true
	case stepHold:
		o.Data.Held, o.Data.Token = true, o.Token
	case stepForget:
		o.Data.Made = false
	case stepUnname:
		o.Data.Named = false
	case stepAsk:
		o.Rebuild, o.Asked = o.Token, true
	case stepRelease:
		o.Data.Held = false
	case stepWait, stepDone, stepRefuse:
		return true
	}
	return false
}

func TestRefused(t *testing.T) {
	able := updateFacts{Updating: true, Token: "t", Data: dataFacts{Supported: true}}
	for name, change := range map[string]func(*updateFacts){
		"an update that Cluster API did not ask for": func(o *updateFacts) { o.Updating = false },
		"a control plane":      func(o *updateFacts) { o.ControlPlane = true },
		"other bootstrap data": func(o *updateFacts) { o.Data.Supported = false },
	} {
		t.Run(name, func(t *testing.T) {
			o := able
			change(&o)
			if p := nextPlan(o); p.Step != stepRefuse || p.Message == "" {
				t.Errorf("plan %+v", p)
			}
		})
	}
}

func TestToken(t *testing.T) {
	machine := infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/1"}}
	config := bootstrapv1.KubeadmConfigSpec{}
	token := tokenOf("v1", machine, config)
	if len(token) > 63 || token == "" {
		t.Errorf("token %q", token)
	}
	joined := config
	joined.JoinConfiguration.Discovery.BootstrapToken.Token = "abc"
	unrelated := machine
	unrelated.ProviderID = "metal3://a/b/c"
	for name, other := range map[string]string{
		"what the bootstrap provider fills in": tokenOf("v1", machine, joined),
		"what no rebuild changes":              tokenOf("v1", unrelated, config),
	} {
		if other != token {
			t.Errorf("%s changes the token", name)
		}
	}
	changed := config
	changed.PreKubeadmCommands = []string{"true"}
	for name, other := range map[string]string{
		"the version":   tokenOf("v2", machine, config),
		"the image":     tokenOf("v1", infrav1.Metal3MachineSpec{}, config),
		"the bootstrap": tokenOf("v1", machine, changed),
	} {
		if other == token {
			t.Errorf("%s does not change the token", name)
		}
	}
}
