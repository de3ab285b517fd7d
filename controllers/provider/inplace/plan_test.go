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
	"github.com/metal3-io/cluster-api-provider-metal3/internal/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestUpdate plays an update: after each event the steps that can be taken are taken, and
// written down.
func TestUpdate(t *testing.T) {
	o := Observed{Updating: true, Token: "t-2", Data: Data{Supported: true, Made: true, Named: true}}
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
			p := Next(o)
			fmt.Fprintf(&out, "    %s: %s\n", p.Step, p.Message)
			if take(&o, p.Step) {
				break
			}
		}
	}
	golden.Compare(t, "testdata/update.golden", out.String(), *update)
}

// take carries a step out; rests is true if there was none.
func take(o *Observed, step Step) (rests bool) {
	switch step {
	case Mark:
		o.Marked = true
	case Hold:
		o.Data.Held, o.Data.Token = true, o.Token
	case Forget:
		o.Data.Made = false
	case Unname:
		o.Data.Named = false
	case Ask:
		o.Rebuild, o.Asked = o.Token, true
	case Release:
		o.Data.Held = false
	case Wait, Done, Refuse:
		return true
	}
	return false
}

func TestRefused(t *testing.T) {
	able := Observed{Updating: true, Token: "t", Data: Data{Supported: true}}
	for name, change := range map[string]func(*Observed){
		"an update that Cluster API did not ask for": func(o *Observed) { o.Updating = false },
		"a control plane":      func(o *Observed) { o.ControlPlane = true },
		"other bootstrap data": func(o *Observed) { o.Data.Supported = false },
	} {
		t.Run(name, func(t *testing.T) {
			o := able
			change(&o)
			if p := Next(o); p.Step != Refuse || p.Message == "" {
				t.Errorf("plan %+v", p)
			}
		})
	}
}

func TestToken(t *testing.T) {
	machine := infrav1.Metal3MachineSpec{Image: &infrav1.Image{URL: "http://x/1"}}
	config := bootstrapv1.KubeadmConfigSpec{}
	token := Token("v1", machine, config)
	if len(token) > 63 || token == "" {
		t.Errorf("token %q", token)
	}
	joined := config
	joined.JoinConfiguration.Discovery.BootstrapToken.Token = "abc"
	unrelated := machine
	unrelated.ProviderID = "metal3://a/b/c"
	for name, other := range map[string]string{
		"what the bootstrap provider fills in": Token("v1", machine, joined),
		"what no rebuild changes":              Token("v1", unrelated, config),
	} {
		if other != token {
			t.Errorf("%s changes the token", name)
		}
	}
	changed := config
	changed.PreKubeadmCommands = []string{"true"}
	for name, other := range map[string]string{
		"the version":   Token("v2", machine, config),
		"the image":     Token("v1", infrav1.Metal3MachineSpec{}, config),
		"the bootstrap": Token("v1", machine, changed),
	} {
		if other == token {
			t.Errorf("%s does not change the token", name)
		}
	}
}
