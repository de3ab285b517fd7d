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
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/metal3-io/cluster-api-provider-metal3/api/v1beta2"
)

// TestRemoteDeletion deletes machines whose claims cannot be reached: they stay, report the reason,
// and go as soon as the cause is mended.
func TestRemoteDeletion(t *testing.T) {
	tests := map[string]struct {
		trouble func(tn *tenant, s *site)
		reason  string
		mend    func(tn *tenant, s *site)
	}{
		"while the cluster does not answer": {
			trouble: func(tn *tenant, s *site) {
				s.give(tn, func(c *clientcmdapi.Config) { c.Clusters["c"].Server = "https://127.0.0.1:1" })
			},
			reason: "Unreachable",
			mend:   func(tn *tenant, s *site) { s.give(tn) },
		},
		"while a right is missing": {
			trouble: func(_ *tenant, s *site) { s.allow(tenantRules()[1:]) },
			reason:  "Forbidden",
			mend:    func(_ *tenant, s *site) { s.allow(tenantRules()) },
		},
		"while the secret is gone": {
			trouble: func(tn *tenant, _ *site) {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tn.Namespace, Name: kubeconfigSecret}}
				tn.G.Expect(tn.Delete(tn.Ctx, secret)).To(gomega.Succeed())
			},
			reason: "SecretNotFound",
			mend:   func(tn *tenant, s *site) { s.give(tn) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tn, s, _ := remoteClaim(t)
			s.bind()
			tc.trouble(tn, s)
			m := &infrav1.Metal3Machine{}
			tn.deleted(machineName, m)
			tn.identity("False/" + tc.reason)
			tn.waits("HostClaimReady", "DeletionFailed", infrav1.AbandonClaimAnnotation)
			tn.waits("Ready", "Deleting", infrav1.AbandonClaimAnnotation)
			tc.mend(tn, s)
			s.release()
			tn.gone(machineName, m)
		})
	}
}

// allow replaces the rights of the account.
func (s *site) allow(rules []rbacv1.PolicyRule) {
	role := &rbacv1.Role{}
	s.Edit(s.Named("tenant", role), func() { role.Rules = rules })
}

// TestRemoteAbandoned shows that the owner of a machine can delete it without its claim, and that a
// condition reports that.
func TestRemoteAbandoned(t *testing.T) {
	tn, s, claim := remoteClaim(t, withTemplate)
	tn.template()
	m := tn.runs(s.tenant)
	server := tn.recorded(m).Server
	s.give(tn, func(c *clientcmdapi.Config) { c.AuthInfos["u"].Token = "wrong" })
	tn.identity("False/Unauthorized")
	abandon := func(value string) {
		tn.Edit(tn.Named(machineName, m), func() { metav1.SetMetaDataAnnotation(&m.ObjectMeta, infrav1.AbandonClaimAnnotation, value) })
	}
	abandon("yes")
	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.waits("HostClaimReady", "DeletionFailed", infrav1.AbandonClaimAnnotation)
	abandon("true")
	tn.gone(machineName, m)
	tn.G.Expect(s.only().DeletionTimestamp).To(gomega.BeNil())
	tn.G.Eventually(func(g gomega.Gomega) {
		var list eventsv1.EventList
		g.Expect(tn.List(tn.Ctx, &list, client.InNamespace(tn.Namespace))).To(gomega.Succeed())
		var notes []string
		for _, e := range list.Items {
			if e.Reason == "ClaimAbandoned" && e.Type == corev1.EventTypeWarning {
				notes = append(notes, e.Note)
			}
		}
		g.Expect(notes).To(gomega.ContainElement(gomega.And(gomega.ContainSubstring(claim.Name),
			gomega.ContainSubstring(s.Namespace), gomega.ContainSubstring(server))))
	}).Should(gomega.Succeed())
	tn.gone(machineName, &infrav1.Metal3DataClaim{})
}

// TestRemoteNeverClaimed shows that a machine which never wrote to another cluster goes at
// once, whatever its credentials are.
func TestRemoteNeverClaimed(t *testing.T) {
	tn := newTenant(t)
	tn.begins(withIdentityRef)
	m := tn.identity("False/SecretNotFound")
	tn.G.Expect(m.Annotations).NotTo(gomega.HaveKey(infrav1.OriginKey))
	tn.G.Expect(tn.Delete(tn.Ctx, m)).To(gomega.Succeed())
	tn.gone(machineName, m)
}
