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

package kubeconfig

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// config returns a kubeconfig with these lines as its user and cluster.
func config(user, cluster string) string {
	indent := func(lines string) string { return strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n    ") }
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts:\n- name: c\n  context: {user: u, cluster: k}\n" +
		"users:\n- name: u\n  user:\n    " + indent(user) +
		"\nclusters:\n- name: k\n  cluster:\n    " + indent(cluster) + "\n"
}

const (
	token  = "token: s3cret"
	server = "server: https://203.0.113.7:6443"
)

// reason is that of a problem; empty for another error.
func reason(err error) string {
	var problem *identity.Problem
	if errors.As(err, &problem) {
		return problem.Reason
	}
	return ""
}

// forbids reports whether an error forbids a field and names a remedy.
func forbids(err error, field string) bool {
	remedy, found := strings.CutPrefix(fmt.Sprint(err), "kubeconfig: "+field+" is not permitted: ")
	return found && remedy != "" && reason(err) == infrav1.ForbiddenKubeconfigFeatureReason
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		given string
		field string // that is forbidden, empty for none
	}{
		"accepts a token and an https server": {given: config(token, server)},
		"accepts embedded certificates": {given: config(
			"client-certificate-data: Yw==\nclient-key-data: aw==", server+"\ncertificate-authority-data: Y2E=")},
		"refuses a token file, which could be the manager's own token": {
			given: config("tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", server), field: `users["u"].tokenFile`,
		},
		"refuses a token file beside a token":  {given: config(token+"\ntokenFile: /etc/passwd", server), field: `users["u"].tokenFile`},
		"refuses a client certificate file":    {given: config("client-certificate: /c", server), field: `users["u"].client-certificate`},
		"refuses a client key file":            {given: config("client-key: /k", server), field: `users["u"].client-key`},
		"refuses a certificate authority file": {given: config(token, server+"\ncertificate-authority: /ca"), field: `clusters["k"].certificate-authority`},
		"refuses to run a program": {
			given: config("exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", server), field: `users["u"].exec`,
		},
		"refuses an auth provider":           {given: config("auth-provider: {name: oidc}", server), field: `users["u"].auth-provider`},
		"refuses to act as another user":     {given: config(token+"\nas: admin", server), field: `users["u"].as`},
		"refuses to act in a group":          {given: config(token+"\nas-groups: [system:masters]", server), field: `users["u"].as`},
		"refuses http":                       {given: config(token, "server: http://203.0.113.7"), field: `clusters["k"].server`},
		"refuses a server without a scheme":  {given: config(token, "server: 203.0.113.7:6443"), field: `clusters["k"].server`},
		"refuses a cluster without a server": {given: config(token, "insecure-skip-tls-verify: true"), field: `clusters["k"].server`},
		"looks at users that no context names": {
			given: strings.Replace(config(token, server), "users:\n", "users:\n- name: other\n  user: {tokenFile: /t}\n", 1), field: `users["other"].tokenFile`,
		},
		"refuses what is too large": {given: strings.Repeat("#", maxSize+1), field: "its size"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.given))
			expect.That(t, (tt.field != "" || err == nil) && (tt.field == "" || forbids(err, tt.field)), "error %v, want %q to be forbidden, with a remedy", err, tt.field)
		})
	}
}

func TestParseQuotesNothing(t *testing.T) {
	_, err := Parse([]byte("token: [s3cret"))
	expect.That(t, err != nil && !strings.Contains(err.Error(), "s3cret"), "error %v, want one without any part of the text", err)
}

// aliases is a kubeconfig in which every alias stands for a long text.
func aliases(n, length int) string {
	return config(token, server) + "extra: &a " + strings.Repeat("x", length) + "\nlist:\n" + strings.Repeat("- *a\n", n)
}

// The parser of client-go takes 0.38 MiB for each alias of a text of 131,000 characters.
func TestParseTakesLittleMemory(t *testing.T) {
	for name, tt := range map[string]struct{ given, field string }{
		"aliases of a long text": {aliases(4000, 131_000), "an anchor, alias, tag or merge key of YAML"},
		"as many aliases as fit": {aliases(43_000, 40_000), "its number of values"},
		"a merge of many maps": {
			config(token, server) + "a: &a {" + strings.Repeat("k: v, ", 1000) + "}\nb: [" + strings.Repeat("{<<: *a},", 1000) + "]", "an anchor, alias, tag or merge key of YAML",
		},
		"a tag":                           {"users: !!binary Yw==", "an anchor, alias, tag or merge key of YAML"},
		"an anchor at a key":              {"&a users: []", "an anchor, alias, tag or merge key of YAML"},
		"lists in lists":                  {strings.Repeat("[", 10_000), ""},
		"lists in lists, closed":          {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "its nesting"},
		"maps in maps":                    {strings.Repeat("{a: ", 4000) + strings.Repeat("}", 4000), "its nesting"},
		"lists in lists of blocks":        {strings.Repeat("- ", 9000) + "x", "its nesting"},
		"many empty values":               {"a: [" + strings.Repeat("{},", 80_000) + "]", "its number of values"},
		"many lines":                      {strings.Repeat("#\n", 100_000), "its number of values"},
		"the values that are read":        {"a: [" + strings.Repeat("x,", maxValues-10) + "]", "nothing"},
		"a quoted text that ends nowhere": {"a: \"" + strings.Repeat("\\x41", 60_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse([]byte(tt.given))
			runtime.ReadMemStats(&after)
			if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 48 {
				t.Errorf("it takes %d MiB", taken)
			} else {
				t.Logf("%d MiB, %v", taken, err)
			}
			switch {
			case tt.field == "nothing":
				expect.NoError(t, err)
			case tt.field == "":
				expect.That(t, reason(err) == infrav1.InvalidKubeconfigReason, "error %v, want one of an invalid kubeconfig", err)
			case !forbids(err, tt.field):
				t.Errorf("error %v, want %s to be forbidden", err, tt.field)
			}
		})
	}
}

// What is taken from the kubeconfig of a workload cluster.
func TestCurrent(t *testing.T) {
	other := strings.Replace(config(token, server), "users:\n", "users:\n- name: other\n  user: {token: t}\n", 1)
	for name, tt := range map[string]struct{ given, want string }{
		"follows the current context without a namespace": {other, ""},
		"keeps a text that looks like an alias":           {config("token: '*a&b'", server), ""},
		"refuses a proxy":                                 {config(token, server+"\nproxy-url: http://192.0.2.1"), `clusters["k"].proxy-url is not permitted`},
		"refuses TLS that is not verified":                {config(token, server+"\ninsecure-skip-tls-verify: true"), `clusters["k"].insecure-skip-tls-verify is not permitted`},
		"refuses credentials in the address":              {config(token, "server: https://a:b@203.0.113.7"), `clusters["k"].server is no address`},
		"refuses a file without a current context":        {strings.Replace(config(token, server), "current-context: c", "", 1), "no context is current"},
		"refuses a context without a cluster":             {strings.Replace(config(token, server), "cluster: k", "cluster: none", 1), "names a cluster or a user that is not in the file"},
		"refuses a client certificate without a key":      {config("client-certificate-data: Yw==", server), "do not belong together"},
		"refuses aliases":                                 {aliases(1, 1), "an anchor, alias, tag or merge key of YAML is not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Parse([]byte(tt.given))
			if err == nil {
				_, err = file.Current()
			}
			expect.That(t, (tt.want != "" || err == nil) && (tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want)), "error %v, want %q", err, tt.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(config(token, server)))
	f.Add([]byte(config("tokenFile: /t", "server: http://x")))
	f.Add([]byte("users: [{name: u, user: null}]"))
	f.Add([]byte("clusters: [{name: k}]"))
	f.Add([]byte(aliases(400, 131_000)))
	f.Add([]byte("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := plain(data)
		expect.That(t, err != nil || len(text) <= 8*len(data)+2, "%d bytes became %d", len(data), len(text))
		if _, err := Parse(data); err == nil && len(data) > maxSize {
			t.Error("accepted more than is read")
		}
	})
}
