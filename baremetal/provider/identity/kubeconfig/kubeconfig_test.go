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
	"strings"
	"testing"
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

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		given string
		field string // of the ForbiddenError, empty for none
	}{
		"accepts a token and an https server": {given: config(token, server)},
		"accepts embedded certificates": {given: config(
			"client-certificate-data: Yw==\nclient-key-data: aw==", server+"\ncertificate-authority-data: Y2E=")},
		"refuses a token file, which could be the manager's own token": {
			given: config("tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token", server), field: "users[u].tokenFile",
		},
		"refuses a token file beside a token":  {given: config(token+"\ntokenFile: /etc/passwd", server), field: "users[u].tokenFile"},
		"refuses a client certificate file":    {given: config("client-certificate: /c", server), field: "users[u].client-certificate"},
		"refuses a client key file":            {given: config("client-key: /k", server), field: "users[u].client-key"},
		"refuses a certificate authority file": {given: config(token, server+"\ncertificate-authority: /ca"), field: "clusters[k].certificate-authority"},
		"refuses to run a program": {
			given: config("exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}", server), field: "users[u].exec",
		},
		"refuses an auth provider":           {given: config("auth-provider: {name: oidc}", server), field: "users[u].auth-provider"},
		"refuses to act as another user":     {given: config(token+"\nas: admin", server), field: "users[u].as"},
		"refuses to act in a group":          {given: config(token+"\nas-groups: [system:masters]", server), field: "users[u].as"},
		"refuses http":                       {given: config(token, "server: http://203.0.113.7"), field: "clusters[k].server"},
		"refuses a server without a scheme":  {given: config(token, "server: 203.0.113.7:6443"), field: "clusters[k].server"},
		"refuses a cluster without a server": {given: config(token, "insecure-skip-tls-verify: true"), field: "clusters[k].server"},
		"looks at users that no context names": {
			given: strings.Replace(config(token, server), "users:\n", "users:\n- name: other\n  user: {tokenFile: /t}\n", 1), field: "users[other].tokenFile",
		},
		"refuses what is too large": {given: strings.Repeat("#", MaxSize+1), field: "its size"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := Check([]byte(tt.given))
			var forbidden *ForbiddenError
			switch {
			case tt.field == "" && err != nil:
				t.Errorf("unexpected error %v", err)
			case tt.field != "" && (!errors.As(err, &forbidden) || forbidden.Field != tt.field):
				t.Errorf("error %v, want a ForbiddenError of %s", err, tt.field)
			case tt.field != "" && forbidden.Remedy == "":
				t.Error("the error names no remedy")
			}
		})
	}
}

func TestCheckQuotesNothing(t *testing.T) {
	err := Check([]byte("token: [s3cret"))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v, want one without any part of the text", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(config(token, server)))
	f.Add([]byte(config("tokenFile: /t", "server: http://x")))
	f.Add([]byte("users: [{name: u, user: null}]"))
	f.Add([]byte("clusters: [{name: k}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Check(data) == nil && len(data) > MaxSize {
			t.Error("accepted more than is read")
		}
	})
}
