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

package remote_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
	"github.com/metal3-io/cluster-api-provider-metal3/baremetal/identity"
	"github.com/metal3-io/cluster-api-provider-metal3/controllers/provider/remote"
	"github.com/metal3-io/cluster-api-provider-metal3/internal/expect"
)

// TestProblemsOfSecrets shows the problem that is reported of a Secret, and that mending the
// Secret is enough.
func TestProblemsOfSecrets(t *testing.T) {
	tests := map[string]struct {
		secret  func(good []byte) map[string][]byte // nil means no Secret
		context string
		reason  string
		message string
	}{
		"no Secret": {
			reason:  infrav1.IdentitySecretNotFoundReason,
			message: `Secret "infra" does not exist in namespace "NS": create it, with a kubeconfig in the key "kubeconfig"`,
		},
		"another key": {
			secret:  func(good []byte) map[string][]byte { return map[string][]byte{"value": good} },
			reason:  infrav1.IdentityKeyMissingReason,
			message: `Secret "infra" has no key "kubeconfig": put the kubeconfig there`,
		},
		"no kubeconfig": {
			secret:  func([]byte) map[string][]byte { return map[string][]byte{"kubeconfig": []byte("token: [s3cret")} },
			reason:  infrav1.InvalidKubeconfigReason,
			message: `Secret "infra": kubeconfig: it cannot be parsed: write one as kubectl config view --raw shows it`,
		},
		"a kubeconfig that reads files": {
			secret: func(good []byte) map[string][]byte {
				text := strings.Replace(string(good), "token:", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token\n    token:", 1)
				return map[string][]byte{"kubeconfig": []byte(text)}
			},
			reason:  infrav1.ForbiddenKubeconfigFeatureReason,
			message: `Secret "infra": kubeconfig: users["tenant"].tokenFile is not permitted: embed its content as token`,
		},
		"no such context": {
			secret:  func(good []byte) map[string][]byte { return map[string][]byte{"kubeconfig": good} },
			context: "nowhere",
			reason:  infrav1.IdentityContextNotFoundReason,
			message: `Secret "infra": kubeconfig: there is no context "nowhere": name one that the file has`,
		},
	}
	h := newHosts(t, rules())
	token := h.token(t, "bound")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			good := h.kubeconfig(t, token)
			if tt.secret != nil {
				w.secretOf(t, "infra", tt.secret(good))
			}
			ref, user := w.ref("infra"), w.machine("m")
			ref.Context = tt.context
			message := w.problem(t, user, ref, tt.reason)
			expect.Equal(t, strings.ReplaceAll(tt.message, "NS", w.tenant), message)
			w.secret(t, "infra", h.kubeconfig(t, token, func(c *clientcmdapi.Config) {
				if tt.context != "" {
					c.Contexts[tt.context] = c.Contexts["hosts"]
				}
			}))
			w.site(t, user, ref)
		})
	}
}

// TestProblemsOfClusters shows the problem that is reported of the other cluster.
func TestProblemsOfClusters(t *testing.T) {
	without := func(resource, verb string) []rbacv1.PolicyRule {
		all := rules()
		for i := range all {
			if all[i].Resources[0] == resource {
				kept := []string{}
				for _, v := range all[i].Verbs {
					if v != verb {
						kept = append(kept, v)
					}
				}
				all[i].Verbs = kept
			}
		}
		return all
	}
	tests := map[string]struct {
		rules   []rbacv1.PolicyRule
		act     func(http.ResponseWriter, *http.Request) bool
		config  func(*clientcmdapi.Config)
		options func(*remote.Options)
		reason  string
		message string
	}{
		"a right is missing": {
			rules:   without("secrets", "patch"),
			reason:  infrav1.IdentityForbiddenReason,
			message: `The credentials may not patch secrets in namespace "HOSTS" of URL: have a Role there that permits it bound to their user`,
		},
		"a right on some objects only is none": {
			rules: append(without("secrets", "patch"), rbacv1.PolicyRule{
				APIGroups: []string{""}, Resources: []string{"*"}, Verbs: []string{"*"}, ResourceNames: []string{"one"},
			}),
			reason:  infrav1.IdentityForbiddenReason,
			message: `The credentials may not patch secrets in namespace "HOSTS" of URL: have a Role there that permits it bound to their user`,
		},
		"a right is missing, and the review is incomplete": {
			rules: without("hostclaims", "delete"),
			act: func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/selfsubjectrulesreviews") {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "status": {"incomplete": true}}`))
				return true
			},
			reason:  infrav1.IdentityForbiddenReason,
			message: `The credentials may not delete hostclaims.metal3.io in namespace "HOSTS" of URL: have a Role there that permits it bound to their user`,
		},
		"all rights are missing": {
			rules:  []rbacv1.PolicyRule{},
			reason: infrav1.IdentityForbiddenReason,
			message: `The credentials may not get, list, watch, create, patch, delete hostclaims.metal3.io; get, list, watch hardwaredata.metal3.io; ` +
				`get, list, watch, create, patch, delete secrets in namespace "HOSTS" of URL: have a Role there that permits it bound to their user`,
		},
		"the token is of nobody": {
			config:  func(c *clientcmdapi.Config) { c.AuthInfos["tenant"].Token = "s3cret" },
			reason:  infrav1.IdentityUnauthorizedReason,
			message: identity.Unauthorized.Problem("URL").Message,
		},
		"HostClaims are not served": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/metal3.io/v1alpha1") {
					http.NotFound(w, r)
					return true
				}
				return false
			},
			reason:  infrav1.HostClaimAPIMissingReason,
			message: identity.HostClaimAPIMissing.Problem("URL").Message,
		},
		"HardwareData are not served": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/metal3.io/v1alpha1") {
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(`{"kind": "APIResourceList", "apiVersion": "v1", "resources": [{"name": "hostclaims"}]}`))
					return true
				}
				return false
			},
			reason:  infrav1.HostClaimAPIMissingReason,
			message: identity.HardwareDataAPIMissing.Problem("URL").Message,
		},
		"a right is missing, and nobody may ask which": {
			rules: []rbacv1.PolicyRule{},
			act: func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/selfsubjectrulesreviews") {
					http.Error(w, "s3cret", http.StatusForbidden)
					return true
				}
				return false
			},
			reason: infrav1.IdentityForbiddenReason,
			message: "The credentials may not list or watch hostclaims.metal3.io, hardwaredata.metal3.io or secrets in namespace \"HOSTS\" of URL, " +
				"and may not ask for their rights: have a Role there that permits it bound to their user",
		},
		"it is no API server": {
			act: func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte("<html>s3cret\nReady</html>"))
				return true
			},
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.NoAPIServer.Problem("URL").Message,
		},
		"it is out of order": {
			act: func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "s3cret", http.StatusServiceUnavailable)
				return true
			},
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.BadStatus.Problem("URL", 503).Message,
		},
		"it leads elsewhere": {
			act: func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "https://203.0.113.7/", http.StatusFound)
				return true
			},
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.BadStatus.Problem("URL", 302).Message,
		},
		"it never answers": {
			act:     hang,
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.Silent.Problem("URL").Message,
		},
		"its certificate is signed by somebody else": {
			config:  func(c *clientcmdapi.Config) { c.Clusters["infra"].CertificateAuthorityData = server.Config.CAData },
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.UnknownAuthority.Problem("URL").Message,
		},
		"its certificate is for another name": {
			config:  func(c *clientcmdapi.Config) { c.Clusters["infra"].TLSServerName = "api.example.org" },
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.OtherName.Problem("URL").Message,
		},
		"its address is denied": {
			options: func(o *remote.Options) {
				o.Denied = func(context.Context) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
			},
			reason:  infrav1.IdentityUnreachableReason,
			message: identity.Denied.Problem("URL").Message,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.rules == nil {
				tt.rules = rules()
			}
			changes := []func(*remote.Options){}
			if tt.options != nil {
				changes = append(changes, tt.options)
			}
			w, h, f := newWorld(t, changes...), newHosts(t, tt.rules), newFront(t)
			f.on(tt.act)
			kubeconfigChanges := []func(*clientcmdapi.Config){f.leads}
			if tt.config != nil {
				kubeconfigChanges = append(kubeconfigChanges, tt.config)
			}
			w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound"), kubeconfigChanges...))
			got := w.problem(t, w.machine("m"), w.ref("infra"), tt.reason)
			want := strings.NewReplacer("HOSTS", h.namespace, "URL", f.URL).Replace(tt.message)
			expect.Equal(t, want, got)
		})
	}
}

func TestClosedPort(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, "t", func(c *clientcmdapi.Config) { c.Clusters["infra"].Server = "https://" + refusing(t) }))
	got := w.problem(t, w.machine("m"), w.ref("infra"), infrav1.IdentityUnreachableReason)
	expect.That(t, strings.HasSuffix(got, "it refuses connections; check that it runs, and the port in the kubeconfig"), "%v", got)
}

// refusing is an address without a listener.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// The manager may lack rights in its own cluster; once it has them, it goes on.
func TestRightsOnSecretsOfTheTenant(t *testing.T) {
	account := "manager-of-" + server.Namespace(t)
	w := newWorld(t, asUser(t, account))
	h := newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	user := w.machine("m")
	got := w.problem(t, user, w.ref("infra"), infrav1.IdentityForbiddenReason)
	want := `The provider may not get secrets in namespace "` + w.tenant + `": create a RoleBinding in that namespace ` +
		"from its service account to the ClusterRole capm3-tenant-secrets"
	expect.Equal(t, want, got)
	w.permitSecrets(t, account)
	w.site(t, user, w.ref("infra"))
}
