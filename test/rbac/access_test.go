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

package rbac_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// Verbs of the tables.
var (
	read    = []string{"get", "list", "watch"}
	write   = []string{"create", "update", "patch", "delete", "deletecollection"}
	all     = append(append([]string{}, read...), write...)
	patched = []string{"get", "list", "watch", "patch"}
	owned   = []string{"get", "list", "watch", "create", "patch", "delete"}
	edited  = []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	status  = []string{"patch"}
)

// rights is one line of a table: each of the verbs, on each of the resources, in
// each of the namespaces.
type rights struct {
	verbs      []string
	resources  []string
	namespaces []string
}

// on names resources of a group; "machines/status" is a subresource.
func on(group string, resources ...string) []string {
	names := make([]string, 0, len(resources))
	for _, resource := range resources {
		names = append(names, resource+"."+group)
	}
	return names
}

func in(namespaces ...string) []string { return namespaces }

// each calls f for every single question of the line.
func (r rights) each(f func(question authorizationv1.ResourceAttributes)) {
	for _, resource := range r.resources {
		name, group, _ := strings.Cut(resource, ".")
		name, subresource, _ := strings.Cut(name, "/")
		for _, verb := range r.verbs {
			for _, namespace := range r.namespaces {
				f(authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: subresource,
				})
			}
		}
	}
}

// asks puts a question about a subject to the API server.
func asks(t *testing.T, who subject, question authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.user, Groups: who.groups, ResourceAttributes: &question,
	}}
	if err := server.Client.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status
}

// checkRights compares the answers with the lines of a table.
func checkRights(t *testing.T, who subject, allowed, denied []rights) {
	t.Helper()
	check := func(want bool) func(authorizationv1.ResourceAttributes) {
		return func(question authorizationv1.ResourceAttributes) {
			if got := asks(t, who, question); got.Allowed != want {
				t.Errorf("%s: %s: allowed %t, want %t; %s", who.user, sentence(question), got.Allowed, want, got.Reason)
			}
		}
	}
	for _, line := range allowed {
		line.each(check(true))
	}
	for _, line := range denied {
		line.each(check(false))
	}
}

func sentence(q authorizationv1.ResourceAttributes) string {
	resource := q.Resource
	if q.Subresource != "" {
		resource += "/" + q.Subresource
	}
	where := "the whole cluster"
	if q.Namespace != everywhere {
		where = "namespace " + q.Namespace
	}
	return fmt.Sprintf("%s %s of group %q in %s", q.Verb, resource, q.Group, where)
}

// waitForRight waits until the API server has heard of a binding, or of its end.
func waitForRight(t *testing.T, who subject, question authorizationv1.ResourceAttributes, allowed bool) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() bool {
		return asks(t, who, question).Allowed
	}, 10*time.Second, 20*time.Millisecond).Should(gomega.Equal(allowed), "%s: %s", who.user, sentence(question))
}
