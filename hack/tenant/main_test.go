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

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// administrator writes a kubeconfig whose server does not answer.
func administrator(t *testing.T, change func(*clientcmdapi.Cluster)) string {
	t.Helper()
	cluster := &clientcmdapi.Cluster{Server: "https://127.0.0.1:1", CertificateAuthorityData: []byte("authorities")}
	if change != nil {
		change(cluster)
	}
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: "the-administrators-own"}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "c",
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	expect.NoError(t, clientcmd.WriteToFile(config, path))
	return path
}

func TestDryRunPrintsEverythingAndReachesNoCluster(t *testing.T) {
	var out, notes bytes.Buffer
	err := run(t.Context(), []string{
		"--kubeconfig", administrator(t, nil), "--namespace", "blue", "--management-namespace", "clusters", "--servers", "3", "--dry-run",
	}, &out, &notes)
	expect.NoError(t, err)
	var kinds []string
	for document := range strings.SplitSeq(out.String(), "---\n") {
		var object struct{ Kind, Metadata any }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if kind, ok := object.Kind.(string); ok {
			kinds = append(kinds, kind)
		}
	}
	want := []string{"Namespace", "Namespace", "ServiceAccount", "Role", "RoleBinding", "RoleBinding", "ResourceQuota", "Secret"}
	expect.That(t, slices.Equal(kinds, want), "printed %q, want %q", kinds, want)
	expect.That(t, !strings.Contains(out.String()+notes.String(), "the-administrators-own"), "the administrator's token is printed")
	expect.That(t, strings.Contains(notes.String(), "only this machine reaches"), "nothing is said about the loopback address: %q", notes.String())
}

func TestCommandLine(t *testing.T) {
	good, unchecked := administrator(t, nil), administrator(t, func(c *clientcmdapi.Cluster) {
		c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true
	})
	authorities := filepath.Join(t.TempDir(), "ca.crt")
	expect.NoError(t, os.WriteFile(authorities, []byte("authorities"), 0o600))
	tests := map[string]struct {
		args []string
		want []string // parts of the error; none for no error
	}{
		"the tenant must be named":                             {args: []string{}, want: []string{"--namespace is missing"}},
		"a word that belongs to no flag is named":              {args: []string{"blue"}, want: []string{`"blue"`, "--namespace"}},
		"a kubeconfig that is not there is named":              {args: []string{"--namespace=blue", "--kubeconfig=/nowhere"}, want: []string{"--kubeconfig", "/nowhere"}},
		"a context of nothing is refused":                      {args: []string{"--namespace=blue", "--management-context=c"}, want: []string{"--management-kubeconfig"}},
		"half an account is refused":                           {args: []string{"--namespace=blue", "--hostclaim-manager=manager"}, want: []string{"--hostclaim-manager", "<namespace>/<name>"}},
		"a server without TLS is refused":                      {args: []string{"--namespace=blue", "--kubeconfig=" + good, "--server=http://hosts"}, want: []string{"--server"}},
		"a server whose certificate is not checked is refused": {args: []string{"--namespace=blue", "--kubeconfig=" + unchecked}, want: []string{"--certificate-authority"}},
		"its authorities may be given":                         {args: []string{"--namespace=blue", "--kubeconfig=" + unchecked, "--certificate-authority=" + authorities, "--dry-run"}},
		"a server that does not answer is named with the flag": {args: []string{"--namespace=blue", "--kubeconfig=" + good}, want: []string{"https://127.0.0.1:1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, notes bytes.Buffer
			err := run(t.Context(), test.args, &out, &notes)
			expect.That(t, len(test.want) != 0 || err == nil, "%v", err)
			for _, part := range test.want {
				expect.Error(t, part, err)
			}
		})
	}
}
