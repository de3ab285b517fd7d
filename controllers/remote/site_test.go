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
	"testing"

	"github.com/google/go-cmp/cmp"
	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metal3-io/cluster-api-provider-metal3/controllers/remote"
)

func TestSite(t *testing.T) {
	w, h := newWorld(t), newHosts(t, rules())
	w.secret(t, "infra", h.kubeconfig(t, h.token(t, "bound")))
	user := w.machine("m-0")
	w.Bind(user, "origin-0")
	site := w.site(t, user, w.ref("infra"))

	server.Create(t, h.claim("m-0", "origin-0"), h.claim("other", ""))
	found := wait(t, w, func() ([]string, bool) {
		var claims bmov1alpha1.HostClaimList
		if err := site.Client.List(t.Context(), &claims, client.MatchingFields{remote.OriginIndex: "origin-0"}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range claims.Items {
			names = append(names, c.Name)
		}
		return names, len(names) > 0
	})
	if diff := cmp.Diff([]string{"m-0"}, found); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(h.namespace, site.Target.Namespace); diff != "" {
		t.Error(diff)
	}
}
